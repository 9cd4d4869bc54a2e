"""Rate limits that operations staff edit in the admin; see `ratelimit_app.limiter` to start."""

__version__ = "0.1.0"

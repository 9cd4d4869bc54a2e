"""The app; its start queries nothing and connects to nothing."""

from django.apps import AppConfig


class RateLimitAppConfig(AppConfig):
    name = "ratelimit_app"
    verbose_name = "Rate limits"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from ratelimit_app import refresh
        from ratelimit_app.cache_checks import register_cache_checks
        from ratelimit_app.checks import register_checks
        from ratelimit_app.proxy_checks import register_proxy_checks
        from ratelimit_app.signals import policies_changed
        from ratelimit_app.table_checks import register_table_checks

        register_checks()
        register_cache_checks()
        register_proxy_checks()
        register_table_checks()
        policies_changed.connect(refresh.changed, dispatch_uid="ratelimit_app")

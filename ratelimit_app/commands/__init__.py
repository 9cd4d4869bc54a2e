"""The sub-commands of `manage.py ratelimit`, one module each; see `base.SubCommand`."""

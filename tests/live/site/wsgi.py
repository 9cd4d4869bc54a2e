"""For gunicorn; `take_at_import` takes a unit as soon as it is imported, so before a fork."""

import json
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.live.site.settings")
application = get_wsgi_application()

if slug := json.loads(os.environ["LIVE"]).get("take_at_import"):
    from ratelimit_app import limiter

    limiter.take(slug, key="at import")

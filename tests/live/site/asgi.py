"""For uvicorn; its event loop is watched."""

import os
from typing import Any

from django.core.asgi import get_asgi_application

from . import lag

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.live.site.settings")
_application = get_asgi_application()


async def application(scope: Any, receive: Any, send: Any) -> None:
    lag.start()
    await _application(scope, receive, send)

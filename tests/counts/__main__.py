import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from tests.counts import figures  # noqa: E402 - needs the settings
from tests.counts.counting import counts  # noqa: E402
from tests.servers import RedisServer  # noqa: E402

server = RedisServer()
try:
    figures.write(counts(server))
finally:
    server.stop()

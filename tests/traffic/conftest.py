"""The live sites of tests/live/, for tests with traffic on them."""

from tests.live.conftest import make_site, migrated, redis_url

__all__ = ["make_site", "migrated", "redis_url"]

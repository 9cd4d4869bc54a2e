"""What the site of the soak limits, and who asks it."""

import random
from typing import Any, NamedTuple

from tests.chaos.load import Asked

#: How many clients there are; a few of them ask for more than they may.
IDENTITIES, GREEDY = 50_000, 60


class Rule(NamedTuple):
    """A policy: at most `limit` units a `period` (seconds), and for buckets as many at once."""

    slug: str
    algorithm: str
    limit: int
    period: int
    on_error: str

    @property
    def fields(self) -> dict[str, Any]:
        """Of its row."""
        where = {"key": "header", "key_name": "X-Client", "path": f"/soak/{self.slug}/"}
        return {**self._asdict(), **where}


#: The limit of `edited`, which is edited to and fro.
EDITED = (12, 18)

RULES = {
    rule.slug: rule
    for rule in (
        Rule("open", "fixed_window", 10, 15, "open"),
        Rule("closed", "gcra", 10, 20, "closed"),
        Rule("local", "token_bucket", 12, 24, "local"),
        Rule("log", "sliding_window_log", 8, 12, "open"),
        Rule("counter", "sliding_window_counter", 10, 10, "closed"),
        Rule("edited", "leaky_bucket", EDITED[1], 30, "local"),
    )
}
_SLUGS = list(RULES)


class Crowd:
    """Who asks what: by chance, and by the seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def __call__(self, number: int) -> Asked:
        """Every third request is of somebody greedy."""
        most = GREEDY if number % 3 == 0 else IDENTITIES
        who = f"client-{self._chance.randrange(most)}"
        return Asked(f"/soak/{_SLUGS[number % len(_SLUGS)]}/", who)

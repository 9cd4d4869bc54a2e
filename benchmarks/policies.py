"""The policies that are measured, and the numbers that all contenders share."""

from typing import Any, Literal, NamedTuple

from ratelimit_app.algorithms import Limit


class Rate(NamedTuple):
    """`limit` units per `period` seconds (1, 60, 3,600 or 86,400), all of them at once at most."""

    limit: int
    period: int

    @property
    def text(self) -> str:
        """As most libraries write it: `100/m`."""
        return f"{self.limit}/{ {1: 's', 60: 'm', 3600: 'h', 86_400: 'd'}[self.period] }"

    @property
    def numbers(self) -> Limit:
        """As our stores are told."""
        return Limit(self.limit, self.period * 1000, self.limit)


#: Admits all of a run; and refuses all of it but one.
PLENTY, ONE = Rate(100_000_000, 60), Rate(1, 86_400)

#: Who asks, as text, as an address, and as a digest of the length that ours have.
WHO = "192.0.2.7"
DIGEST = b"fifteen bytes.."

Outcome = Literal["admit", "refuse"]
COUNTS = (1, 3, 10)


def policies(outcome: Outcome, count: int) -> list[dict[str, Any]]:
    """So many policies on one path; of those that refuse, the last one does."""
    found = []
    for number in range(count):
        rate = ONE if outcome == "refuse" and number == count - 1 else PLENTY
        found.append(
            {
                "slug": f"{outcome}{count}-{number}",
                "limit": rate.limit,
                "period": rate.period,
                "path": f"/{outcome}{count}/",
            }
        )
    return found


POLICIES = [each for count in COUNTS for each in policies("admit", count)]
POLICIES += [each for count in COUNTS for each in policies("refuse", count)]

#: For correctness and footprint; see there.
POLICIES += [
    {"slug": "crowd", "limit": 100, "period": 86_400},
    {"slug": "patience", "limit": 1, "period": 1},
    {"slug": "footprint", "limit": 100, "period": 60},
    {"slug": "once", "limit": 1, "period": 86_400, "path": "/once/"},
]

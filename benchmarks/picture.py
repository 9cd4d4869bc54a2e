"""The picture of docs/algorithms.md: the same requests, and which of them each algorithm admits."""

from collections.abc import Iterator

from ratelimit_app.algorithms import ALGORITHMS, Limit

LIMIT, PERIOD = 5, 10_000
WIDTH, LEFT, ROW, TOP, LONG = 900, 190, 34, 64, 40_000


def load() -> list[int]:
    """A burst before a boundary and one after it, a steady stream, silence, and a burst."""
    before = [6_850 + 450 * step for step in range(7)]
    after = [10_300 + 450 * step for step in range(7)]
    steady = [14_000 + 1_000 * step for step in range(14)]
    return [*before, *after, *steady, *[35_000 + 450 * step for step in range(8)]]


def admissions(name: str) -> Iterator[tuple[int, bool]]:
    """Each moment of the load, and whether its request is admitted."""
    state = None
    for now in load():
        new, allowed, *_ = ALGORITHMS[name].take(state, Limit(LIMIT, PERIOD, LIMIT), 1, now)
        if new is not None:
            into = getattr(new, "into", None)
            state = into(state) or state if into else new
        yield now, allowed


def draw() -> str:
    """The picture, as SVG."""
    height = TOP + ROW * len(ALGORITHMS) + 34
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="13" role="img" '
            'aria-label="Requests that each algorithm admits from the same load">',
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            f'<text x="10" y="24" font-size="15">Limit {LIMIT} per {PERIOD // 1000} s: '
            "filled is admitted, hollow refused</text>",
            *_grid(height),
            *(line for row, name in enumerate(ALGORITHMS) for line in _row(row, name)),
            "</svg>\n",
        ]
    )


def _x(now: int) -> float:
    return round(LEFT + now / LONG * (WIDTH - LEFT - 70), 1)


def _grid(height: int) -> Iterator[str]:
    for now in range(0, LONG + 1, PERIOD):
        yield (
            f'<line x1="{_x(now)}" x2="{_x(now)}" y1="{TOP - 18}" y2="{height - 26}" '
            'stroke="#bbb" stroke-dasharray="3 3"/>'
        )
        yield f'<text x="{_x(now)}" y="{height - 8}" text-anchor="middle">{now // 1000} s</text>'


def _row(row: int, name: str) -> Iterator[str]:
    y = TOP + ROW * row
    yield f'<text x="10" y="{y + 5}">{name}</text>'
    admitted = 0
    for now, allowed in admissions(name):
        admitted += allowed
        fill = "#1a6e4a" if allowed else "#fff"
        yield f'<circle cx="{_x(now)}" cy="{y}" r="3.6" fill="{fill}" stroke="#333"/>'
    yield f'<text x="{WIDTH - 10}" y="{y + 5}" text-anchor="end">{admitted} of {len(load())}</text>'

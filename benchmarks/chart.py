"""A row as a picture: a bar for each contender, with the middle half of its rounds."""

from collections.abc import Iterator

from benchmarks.rows import Result

WIDTH, LEFT, BAR, TOP = 900, 250, 24, 58


def draw(result: Result) -> str:
    """The row, as SVG."""
    times = result.times
    height = TOP + BAR * len(times) + 14
    # One slow peer must not press all others against the axis: it runs off, with its number.
    middle = sorted(each.median for each in times.values())
    end = 1.1 * middle[-1] if middle[-1] < 6 * middle[0] else 2.2 * middle[len(middle) // 2]
    title = f"{result.row.title}, {result.placed}: microseconds a call"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="sans-serif" font-size="13" role="img" aria-label="{title}">',
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            f'<text x="10" y="24" font-size="15">{title}</text>',
            '<text x="10" y="42" fill="#555">median; the line is the middle half of the rounds, '
            "the number a ratio to the first</text>",
            *(line for at, name in enumerate(times) for line in _bar(result, at, name, end)),
            "</svg>\n",
        ]
    )


def _bar(result: Result, at: int, name: str, end: float) -> Iterator[str]:
    low, median, high = result.times[name]
    y, fill = TOP + BAR * at, _fill(name, at)
    x = [
        round(LEFT + min(each, end) / end * (WIDTH - LEFT - 130), 1) for each in (low, median, high)
    ]
    yield f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{name}</text>'
    size = f'width="{x[1] - LEFT:.1f}" height="{BAR - 8}"'
    yield f'<rect x="{LEFT}" y="{y + 3}" {size} fill="{fill}"/>'
    yield f'<line x1="{x[0]}" x2="{x[2]}" y1="{y + 11}" y2="{y + 11}" stroke="#222"/>'
    ratio = median / next(iter(result.times.values())).median
    more = "→ " if median > end else ""
    yield f'<text x="{max(x) + 6}" y="{y + 15}">{more}{median:,.2f} ({ratio:.2f} ×)</text>'


def _fill(name: str, at: int) -> str:
    if name.startswith("ours"):
        return "#1a6e4a"
    return "#888" if at == 0 or name.startswith(("floor", "bare", "no-op")) else "#b9c7d6"

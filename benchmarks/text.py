"""A row as Markdown."""

from benchmarks.rows import Result


def table(result: Result) -> str:
    """The contenders of a row, the reference first."""
    row = result.row
    adds = any(each.over for each in row.contenders.values())
    head = ["", "µs", "middle half", *(["adds"] if adds else []), "ratio", "by"]
    lines = [head, [":--"] + ["--:"] * (len(head) - 2) + [":--"]]
    for name, times in result.times.items():
        contender = row.contenders[name]
        ratio = f"{result.ratio(name):.2f} ×" if contender.over or not adds else ""
        cells = [name, f"{times.median:,.2f}", f"{times.low:,.2f} to {times.high:,.2f}"]
        if adds:
            cells.append(f"{result.added(name):+,.1f}" if contender.over else "")
        lines.append([*cells, ratio, contender.note])
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"### {row.title}: {result.placed}\n\nWhat varies: {row.varies}.\n\n{body}"

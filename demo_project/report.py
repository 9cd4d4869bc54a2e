"""What the tour prints, and which of its promises did not hold."""


class Report:
    """Prints at once, so that a pipe shows it as it happens."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        self._sections = 0

    def say(self, text: str = "") -> None:
        print(f"   {text}" if text else "", flush=True)

    def section(self, title: str) -> None:
        self._sections += 1
        print(f"\n{self._sections}. {title}\n", flush=True)

    def heads(self, first: str, *columns: str) -> None:
        self.say(first.ljust(24) + "".join(column.rjust(10) for column in columns))

    def row(self, name: str, *numbers: int, promised: tuple[int, ...]) -> None:
        """A line of a table; remembers it if the numbers are not the promised ones."""
        kept = numbers == promised
        line = name.ljust(24) + "".join(f"{number:>10,}" for number in numbers)
        right = " and ".join(f"{number:,}" for number in promised)
        self.say(line + ("   as promised" if kept else f"   PROMISED WAS {right}"))
        if not kept:
            got = " and ".join(f"{number:,}" for number in numbers)
            self.broken.append(f"{name}: {got}, promised was {right}")

    def promise(self, text: str, kept: bool) -> None:
        """A sentence that should be true."""
        self.say(text + ("   as promised" if kept else "   NOT AS PROMISED"))
        if not kept:
            self.broken.append(text)

    def conclude(self) -> bool:
        """Say whether all promises held."""
        print(flush=True)
        for each in self.broken:
            self.say(f"Not as promised: {each}")
        if not self.broken:
            self.say("Everything was as promised.")
        return not self.broken

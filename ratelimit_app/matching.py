"""An index of paths and view names: a look-up costs what matches, not what exists."""

from typing import Generic, TypeVar

T = TypeVar("T")


class _Node(Generic[T]):
    """One segment of a path: what follows it by name, by `*`, and what ends here."""

    __slots__ = ("any", "ends", "named", "rest")

    def __init__(self) -> None:
        self.named: dict[str, _Node[T]] = {}
        self.any: _Node[T] | None = None
        self.rest: list[T] = []
        self.ends: list[T] = []


class Index(Generic[T]):
    """Finds the items whose pattern fits a path or a view's name; built once, then only read.

    A pattern that begins with `/` is matched with the whole path, segment by segment: `*` is one
    segment that is not empty, `**` at the end is the rest, however long. Any other pattern is a
    view's name, or `namespace:*`.
    """

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()
        self._views: dict[str, list[T]] = {}

    def add(self, pattern: str, item: T) -> None:
        """Enter an item; the pattern has been validated."""
        if not pattern.startswith("/"):
            self._views.setdefault(pattern, []).append(item)
            return
        node = self._root
        for segment in pattern[1:].split("/"):
            if segment == "**":
                node.rest.append(item)
                return
            if segment == "*":
                node.any = node = node.any or _Node()
            else:
                node = node.named.setdefault(segment, _Node())
        node.ends.append(item)

    def by_path(self, path: str) -> list[T]:
        """The items whose path pattern fits; a list of the caller's own."""
        if path[:1] != "/":
            # Some servers hand on what is no path (`GET http://host/a/`); it reaches no view.
            return [*self._root.rest]
        found: list[T] = []
        nodes = [self._root]
        for segment in path[1:].split("/"):
            after: list[_Node[T]] = []
            for node in nodes:
                if node.rest:
                    found += node.rest
                if (named := node.named.get(segment)) is not None:
                    after.append(named)
                if node.any is not None and segment:
                    after.append(node.any)
            if not after:
                return found
            nodes = after
        for node in nodes:
            found += node.ends
        return found

    def by_view(self, name: str) -> list[T]:
        """The items whose view name or namespace fits; `a:b:view` is in `a` and in `a:b`."""
        found = [*self._views.get(name, ())]
        end = name.find(":")
        while end != -1:
            found += self._views.get(f"{name[:end]}:*", ())
            end = name.find(":", end + 1)
        return found

"""Lua in tokens, and as much of its grammar as the mutants need."""

import re
from dataclasses import dataclass

_PATTERN = re.compile(
    r"""(?P<blank>\s+|--[^\n]*)
      | (?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
      | (?P<number>\d+)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign>\.\.|==|~=|<=|>=|[-+*/%^\#<>=(){}\[\],.:;])""",
    re.VERBOSE,
)
_OPENS, _CLOSES = {"(", "[", "{"}, {")", "]", "}"}
_BINARY = {"..", "==", "~=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "^", "and", "or"}
_KEYWORDS = {
    *("and", "break", "do", "else", "elseif", "end", "for", "function", "if", "in", "local"),
    *("not", "or", "repeat", "return", "then", "until", "while"),
}


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign with its place in `source`."""

    kind: str
    text: str
    start: int
    end: int
    source: str
    starts_line: bool
    before: str

    @property
    def is_operand(self) -> bool:
        """A name, number, string or constant."""
        return self.kind != "sign" and self.text not in _KEYWORDS

    @property
    def starts_statement(self) -> bool:
        """After a word that a statement follows, or first in its line and no part of the last."""
        if self.before in ("then", "do", "else"):
            return True
        goes_on = self.before in _BINARY | _OPENS | {",", "=", "return", "not"}
        return self.starts_line and not goes_on


def tokens(source: str) -> list[Token]:
    """All tokens; text that is no Lua of ours is an error."""
    found: list[Token] = []
    at, starts_line = 0, True
    while at < len(source):
        match = _PATTERN.match(source, at)
        if match is None:
            raise ValueError(f"no token of Lua: {source[at : at + 20]!r}")
        at, kind, text = match.end(), str(match.lastgroup), match.group()
        if kind == "blank":
            starts_line = starts_line or "\n" in text
            continue
        before = found[-1].text if found else ""
        found.append(Token(kind, text, match.start(), at, source, starts_line, before))
        starts_line = False
    return found


def expressions(found: list[Token], at: int) -> list[tuple[int, int]]:
    """The list of expressions that begins at token `at`: from and to of each."""
    listed, start, depth = [], at, 0
    while at < len(found):
        text = found[at].text
        if text in _CLOSES and depth == 0:
            break
        if text == "," and depth == 0:
            listed.append((start, at))
            start = at + 1
        elif text in _OPENS:
            depth += 1
        elif text in _CLOSES:
            depth -= 1
        elif text == "function":
            at = _block_end(found, at)
        if depth == 0 and _complete(found, at):
            at += 1
            break
        at += 1
    return [*listed, (start, at)] if at > start else listed


def call_end(found: list[Token], at: int) -> int | None:
    """The closing parenthesis of the call whose name begins at `at`, if it is one by itself."""
    while found[at + 1].text == ".":
        at += 2
    if found[at + 1].text != "(":
        return None
    depth = 0
    for index in range(at + 1, len(found)):
        depth += (found[index].text == "(") - (found[index].text == ")")
        if depth == 0:
            return index
    return None


def _complete(found: list[Token], at: int) -> bool:
    """Whether an expression ends with token `at`: an operand, and nothing that goes on with it."""
    token = found[at]
    if not (token.is_operand or token.text in _CLOSES or token.text == "end"):
        return False
    if at + 1 == len(found):
        return True
    after = found[at + 1]
    return after.text not in _BINARY | {".", ":", ",", "(", "["} | _CLOSES


def _block_end(found: list[Token], at: int) -> int:
    """The `end` of the function at `at`. A loop counts by its `do`."""
    depth = 0
    while True:
        depth += found[at].text in ("function", "if", "do")
        depth -= found[at].text == "end"
        if depth == 0:
            return at
        at += 1

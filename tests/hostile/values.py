"""What nobody should send: values that have broken somebody's software."""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

#: Texts: empty, blank, NUL, line breaks, marks of other languages, forms of one letter, surrogates.
TEXTS = (
    *("", " ", "\0", "a\0b", "\r\n", "\r\nX-Injected: 1", "\u202e", "\ufeff", "\ud800", "\udfff"),
    *("é", "e\u0301", "İ", "ﬁ", "٣", "{}", "{a}", "%s%n", "${7*7}", "{{7*7}}", "<script>", "'--"),
    *("../../etc/passwd", "a" * 65_536, "é" * 65_536, "9" * 5_000, "1e400", "NaN", "-0", "None"),
    *("*", "**", "[", "(a+)+$", "\\", '"', ";", ":", "a:b", "__class__", "true", "null", "[]"),
)
NUMBERS = (
    *(0, -1, 1, 2**31, 2**53 - 1, 2**53, 2**63 - 1, 2**63, 2**64, 10**18, 10**30, -(2**63) - 1),
    *(10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf")),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e-30"), Decimal("1e30")),
)
OTHERS: tuple[Any, ...] = (
    *(None, True, False, b"", b"\xff", (), [], [[]], {}, {"a": 1}, set(), object(), int, len),
)
#: Hypothesis tries these, and its own.
texts = st.sampled_from(TEXTS) | st.text(max_size=50)
numbers = st.sampled_from(NUMBERS) | st.integers() | st.floats() | st.decimals()
anything = texts | numbers | st.sampled_from(range(len(OTHERS))).map(OTHERS.__getitem__)

"""The figures and the picture in docs/algorithms.md are what the code gives."""

from benchmarks import side_by_side
from benchmarks.picture import draw


def test_the_table_is_what_the_code_gives():
    page = side_by_side.PAGE.read_text()
    shown = page.split(side_by_side.BEGIN)[1].split(side_by_side.END)[0].strip()
    assert shown == side_by_side.table()


def test_the_picture_is_what_the_code_gives():
    assert side_by_side.PICTURE.read_text() == draw()

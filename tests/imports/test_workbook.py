"""Reading of XLSX workbooks."""

from __future__ import annotations

import io
import struct
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.imports.workbooks import DATE, DATE_TIME, MAIN, Value, sheet, workbook

from touchbase.imports.file_tasks import read_table
from touchbase.imports.table import Row, TableLimits, UnreadableFile, column_letters
from touchbase.imports.workbook import _ANY, _Extent

TEXT = st.text(st.characters(codec="utf-8", min_codepoint=32, exclude_characters="\ufffe\uffff\x7f"), max_size=12).map(
    lambda text: text.replace("_x", "x")  # `_x000D_` is an escape there
)


@given(st.lists(st.lists(TEXT, min_size=3, max_size=3), max_size=6))
def test_read_workbook__reads_any_text(rows: list[list[str]]) -> None:
    read = read_table(workbook({"People": sheet([["a", "b", "c"], *rows])}))

    assert read.header == ["a", "b", "c"]
    assert [Row(row.number, [*row.cells, "", "", ""][:3]) for row in read.rows] == [
        Row(number, row) for number, row in enumerate(rows, 2) if any(row)
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12, "12"),
        (12.0, "12"),
        (-0.5, "-0.5"),
        (1e20, "1e+20"),
        (True, "true"),
        (False, "false"),
        ((46351.0, DATE), "2026-11-25"),
        ((46351.5854166667, DATE_TIME), "2026-11-25 14:03:00"),
        ((46351.25, DATE), "2026-11-25 06:00:00"),
        ("=1+1", "=1+1"),
        ("'=1", "'=1"),
        ("  x ", "  x "),
    ],
)
def test_read_workbook__shows_values_as_text(value: Value, text: str) -> None:
    (row,) = read_table(workbook({"S": sheet([["a", "b"], ["x", value]])})).rows

    assert row.cells[1].removesuffix(" 00:00:00") == text


def test_read_workbook__numbers_rows_as_the_sheet_does_and_skips_blank_ones() -> None:
    read = read_table(workbook({"S": sheet([[], [], ["a", "b"], ["1", "2"], [], ["", ""], ["3", None]])}))

    assert (read.header, list(read.rows)) == (["a", "b"], [Row(4, ["1", "2"]), Row(7, ["3", ""])])


def test_read_workbook__takes_the_first_visible_sheet_with_values_or_the_named_one() -> None:
    sheets = {"Hidden": sheet([["h"]]), "Empty": sheet([]), "People": sheet([["p"]]), "More": sheet([["m"]])}

    first = read_table(workbook(sheets, hidden=["Hidden"]))
    named = read_table(workbook(sheets), sheet="More")

    assert (first.sheet, first.header, first.sheets) == ("People", ["p"], ["Empty", "People", "More"])
    assert named.header == ["m"]
    with pytest.raises(UnreadableFile, match="no sheet 'Mor'; its sheets are Hidden, Empty, People, More"):
        read_table(workbook(sheets), sheet="Mor")


def cells(*placed: str, root: str = "worksheet") -> str:
    return f'<{root} xmlns="{MAIN}"><sheetData>{"".join(placed)}</sheetData></{root}>'


FAR = {
    "corner": cells('<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
    "spaces": cells("<row r='1'><c r = 'A1'><v>1</v></c></row><row><c t=\"n\" r = 'XFD1048576'><v>1</v></c></row>"),
    "wide and long": cells('<row r="1"><c r="ZZ1"><v>1</v></c></row>', '<row r="90000"><c r="A90000"><v>1</v></c></row>'),
    "without places": cells("<row>" + "<c><v>1</v></c>" * 9_000 + "</row>", '<row r="70000"><c><v>1</v></c></row>'),
    "with a prefix": cells("<x:row>" + "<x:c><x:v>1</x:v></x:c>" * 9_000 + "</x:row>", '<x:row r="70000"><x:c><x:v>1</x:v></x:c></x:row>'),
    "late": cells(*['<row r="2"><c r="A2"><v>1</v></c></row>'] * 60_000, '<row r="9999999"><c r="A9999999"><v>1</v></c></row>'),
}


@pytest.mark.parametrize("shape", FAR)
def test_read_workbook__refuses_a_sheet_that_would_fill_the_memory(shape: str) -> None:
    with pytest.raises(UnreadableFile, match=r"a sheet has values down to row \d+ and to column [A-Z]+; a workbook may have 5000000 cells"):
        read_table(workbook({"S": FAR[shape]}))


@pytest.mark.parametrize("shape", ["corner", "spaces"])
def test_extent__sees_a_place_that_two_chunks_share(shape: str) -> None:
    text = FAR[shape].encode()

    for cut in range(len(text)):
        extent = _Extent(_ANY, 1, 1)
        for chunk in (text[:cut], text[cut:]):
            extent.add(chunk)
        assert (extent.rows, extent.columns) == (1_048_576, 16_384), text[:cut]


def test_read_workbook__reads_a_wide_sheet_and_one_with_formats_far_outside() -> None:
    wide = sheet([[column_letters(index) for index in range(700)], ["x"] * 700])
    formats = cells('<row r="1"><c r="A1" t="str"><v>a</v></c><c r="XFD1" s="1"/></row><row r="1048576"><c r="A1048576" s="1"/></row>')

    assert len(read_table(workbook({"S": wide})).header) == 700
    assert read_table(workbook({"S": formats})).header == ["a"]


def test_read_workbook__refuses_more_bytes_than_the_limit_whatever_the_directory_says() -> None:
    small = TableLimits(workbook_bytes=100_000)
    data = bytearray(workbook({"S": sheet([["a"], *[["b" * 1_000]] * 1_000])}).getvalue())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = archive.getinfo("xl/worksheets/sheet1.xml").file_size
    assert data.count(struct.pack("<I", size)) >= 1

    for new_bytearray in (data, data.replace(struct.pack("<I", size), struct.pack("<I", 10))):
        with pytest.raises(UnreadableFile, match="larger than 100000 bytes when decompressed"):
            read_table(io.BytesIO(new_bytearray), small)


def test_read_workbook__refuses_archives_that_are_no_workbooks() -> None:
    created = io.BytesIO()
    with zipfile.ZipFile(created, "w") as archive:
        archive.writestr("content.xml", "<office/>")
    damaged = bytearray(workbook({"S": sheet([["a"]] * 1_000)}).getvalue())
    damaged[600:700] = bytes(100)

    with pytest.raises(UnreadableFile, match="not an XLSX workbook"):
        read_table(created)
    with pytest.raises(UnreadableFile, match=r"damaged|not an XLSX"):
        list(read_table(io.BytesIO(damaged)).rows)
    with pytest.raises(UnreadableFile, match="damaged"):
        list(read_table(workbook({"S": "<worksheet><sheetData><row"})).rows)


WHOLE = workbook({"A": sheet([["a", "b"], ["x", (46351.5, DATE_TIME)], ["é", True]]), "B": sheet([["z"]])}).getvalue()


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_read_workbook__returns_rows_or_one_error_for_any_damage(damage: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, byte in damage:
        data[place] = byte

    with suppress(UnreadableFile):
        list(read_table(io.BytesIO(data)).rows)


def test_read_workbook__refuses_too_many_columns() -> None:
    with pytest.raises(UnreadableFile, match="row 1: has 3 columns; a table may have at most 2"):
        read_table(workbook({"S": sheet([["a", "b", "c"]])}), TableLimits(columns=2))

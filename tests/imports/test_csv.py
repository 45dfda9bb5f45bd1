"""Reading of CSV files."""

from __future__ import annotations

import codecs
import csv
import io
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.imports.csv_rows import ENCODINGS, check_encoding
from touchbase.imports.file_tasks import read_table
from touchbase.imports.table import Row, TableLimits, UnreadableFile

WORDS = st.text("abcdefghijklmnopqrstuvwxyzäöüß ", min_size=1, max_size=12).filter(lambda name: name == " ".join(name.split()) != "")
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\x1f"), max_size=12)


def written(rows: list[list[str]], delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL, end: str = "\r\n") -> str:
    created = io.StringIO()
    csv.writer(created, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(rows)  # type: ignore[arg-type]
    return created.getvalue()


def file(text: str, encoding: str = "utf-8") -> io.BytesIO:
    return io.BytesIO(text.encode(encoding))


def has_formula_mark(rows: list[list[str]]) -> bool:
    """Whether a cell begins as Touchbase's own exports write a formula, which reading restores."""
    return any(cell.lstrip("'")[:1] in set("=+-@\t\r") and cell.startswith("'") for row in rows for cell in row)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    header = draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
    row = st.lists(CELLS, min_size=len(header), max_size=len(header))
    return header, draw(st.lists(row, max_size=8).filter(lambda rows: not has_formula_mark(rows)))


@given(
    tables(),
    st.sampled_from(",;\t|"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["\r\n", "\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_read_csv__reads_what_csv_writes(
    table: tuple[list[str], list[list[str]]], delimiter: str, quoting: int, end: str, encoding: str
) -> None:
    header, rows = table
    if quoting == csv.QUOTE_MINIMAL and len(header) == 1:
        rows = [row for row in rows if row != [""]]  # csv writes "" for it
    if end == "\n":  # then Python 3.11 writes a bare "\r" without quotes
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]

    read = read_table(file(written([header, *rows], delimiter, quoting, end), encoding))

    assert read.header == header
    assert list(read.rows) == [Row(number, row) for number, row in enumerate(rows, 2)]


@given(tables(), st.characters(codec="utf-8", exclude_characters='\r\n"\0\ufeff ', exclude_categories=["Cs"]))
def test_read_csv__reads_any_stated_delimiter(table: tuple[list[str], list[list[str]]], delimiter: str) -> None:
    header, rows = table

    read = read_table(file(written([header, *rows], delimiter, csv.QUOTE_ALL)), delimiter=delimiter)

    assert read.header == header
    assert [row.cells for row in read.rows] == rows


ENCODED = {
    "cp1252": "Jürgen Groß;Café Zoë;10 €",
    "cp1250": "Łukasz Wiśniewski;Dvořák;Kraków, Gdańsk, Łódź",
    "cp1251": "Иван Петров;Общество;Москва",
    "cp1253": "Αλέξανδρος Παπαδόπουλος;Ελληνική Εταιρεία;Αθήνα",
    "cp932": "山田太郎;株式会社サンプル;東京都千代田区",
    "utf-16": "Jürgen;東京;Łódź",
    "utf-16-le": "Jürgen;Firma;Ort",
    "utf-16-be": "Jürgen;Firma;Ort",
    "utf-32": "Jürgen;東京;Łódź",
    "utf-8": "Jürgen;東京;Łódź",
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_read_csv__recognises_the_encoding(encoding: str) -> None:
    lines = ["name;company;place", *[ENCODED[encoding]] * 10]

    read = read_table(file("\r\n".join(lines), encoding))

    assert [row.cells for row in read.rows] == [ENCODED[encoding].split(";")] * 10


@pytest.mark.parametrize("encoding", ["cp1252", "iso8859-15", "mac_roman", "cp1254", "gb18030", "koi8-r", "latin1"])
def test_read_csv__reads_a_stated_encoding(encoding: str) -> None:
    text = {"koi8-r": "Иван", "gb18030": "张伟", "cp1254": "Şahin"}.get(encoding, "Zoë")

    assert next(read_table(file(f"name,place\n{text},x\n", encoding), encoding=encoding).rows).cells == [text, "x"]


def test_read_csv__finds_an_umlaut_in_the_last_row() -> None:
    data = b"name,city\n" + b"Jane,London\n" * 100_000 + "Jörg,Köln\n".encode("cp1252")

    *_, last = read_table(io.BytesIO(data)).rows

    assert last == Row(100_002, ["Jörg", "Köln"])


def test_read_csv__marks_damaged_bytes_and_reads_the_other_rows() -> None:
    read = read_table(io.BytesIO("nâme,x\n".encode() + "é,y\n".encode() * 50_000 + b"\xe9,bad\n" + "é,z\n".encode()))

    assert list(read.rows)[-2:] == [Row(50_002, ["\udce9", "bad"]), Row(50_003, ["é", "z"])]


def test_read_csv__numbers_rows_as_a_spreadsheet_does() -> None:
    read = read_table(file('\n\nname,text\nJane,"two\nlines"\n\nJoe,x\n'))

    assert list(read.rows) == [Row(4, ["Jane", "two\nlines"]), Row(6, ["Joe", "x"])]


def test_read_csv__takes_the_delimiter_from_excels_first_line() -> None:
    read = read_table(file("sep=;\r\na, b;c\r\n1;2\r\n"))

    assert (read.delimiter, read.header, list(read.rows)) == (";", ["a, b", "c"], [Row(2, ["1", "2"])])


def test_read_csv__leaves_commas_in_a_single_column() -> None:
    read = read_table(file("company\nAcme, Inc.\n"))

    assert [row.cells for row in read.rows] == [["Acme, Inc."]]


def test_read_csv__of_two_delimiters_takes_the_one_that_divides_evenly() -> None:
    read = read_table(file("name, full;city;zip\nDoe, Jane;Bath;1\nJoe;York, North, UK;2\n"))

    assert read.header == ["name, full", "city", "zip"]


def test_read_csv__names_columns_without_a_name_and_repeated_ones() -> None:
    assert read_table(file("Email,,Email,Email (2),,\n")).header == ["Email", "Column B", "Email (2)", "Email (2) (2)"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \r\n", "empty"),
        (b",,,\n , \n", "empty"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "row 3: a cell begins with a quotation mark that is never closed"),
        (b"a,b\n" + b"1" * 200_000 + b",2\n", "row 2: is too long"),
        (b'a,b\n1,2\n"' + b"3,4\n" * 50_000, "row 3: is too long.*quotation mark"),
        (b"a,b\n" + b"x,y," * 300_000 + b"\n", "row 2: is too long"),
        (b"a," * 1_001 + b"b\n", "row 1: has 1002 columns; a table may have at most 1000"),
        (b"a,b\n1,2\n" + b"x," * 1_001 + b"\n", "row 3: has 1002 columns"),
        (b"jane@example.com,Jane\njoe@example.com,Joe\n", "first row must have the names"),
        (b"a\0b\0\0\0\0c" * 50, "NUL"),
        (bytes(range(256)) * 10, "NUL"),
        ("n\xe2me,x\n".encode("cp1252") + "é,y\n".encode() * 50, "row 1: the header is not utf-8"),
        ("a,b\n".encode("utf-16") + b"x", "row 2: this row, or one soon after it, is not utf-16"),
        (b"%PDF-1.7", "PDF"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", r"\.xls"),
        (b"<html><table><tr><td>x", "web page"),
        (b'[{"email": 1}]', "NDJSON"),
        (b"PK\x03\x04 no workbook", "not an XLSX"),
    ],
)
def test_read_table__says_why_a_file_cannot_be_read(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableFile, match=message):
        list(read_table(io.BytesIO(data)).rows)


@given(st.binary(max_size=300), st.sampled_from(["", "utf-8", "cp1252", "utf-16", "utf-32", "cp932", "utf-7", "gb18030", "euc_kr"]))
def test_read_table__returns_rows_or_one_error_for_any_bytes(data: bytes, encoding: str) -> None:
    with suppress(UnreadableFile):
        list(read_table(io.BytesIO(data), encoding=encoding).rows)


@pytest.mark.parametrize(
    ("stated", "message"),
    [({"encoding": "klingon"}, "state one of ascii, utf-8,"), ({"delimiter": "||"}, "delimiter")],
)
def test_read_csv__refuses_what_is_stated_wrong(stated: dict[str, str], message: str) -> None:
    with pytest.raises(UnreadableFile, match=message):
        read_table(file("a,b\n"), **stated)  # type: ignore[arg-type]


class Endless(io.RawIOBase):
    """A file whose rows exist only while they are read."""

    def __init__(self, row: bytes, rows: int) -> None:
        self._row, self._size, self._place = row, len(row) * rows, 0

    def seek(self, place: int, whence: int = 0) -> int:
        self._place = place
        return place

    def read(self, size: int = -1) -> bytes:
        size = min(size, self._size - self._place)
        skip = self._place % len(self._row)
        self._place += size
        return (self._row * (size // len(self._row) + 2))[skip : skip + size]


def test_read_csv__needs_no_more_memory_for_more_rows() -> None:
    def peak(rows: int) -> int:
        tracemalloc.start()
        read: Iterator[Row] = read_table(cast(BinaryIO, Endless("Jané,München,x\n".encode(), rows))).rows
        assert sum(1 for _ in read) == rows - 1
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    few, many = peak(40_000), peak(120_000)

    assert many < few + 100_000


def test_read_csv__respects_other_limits() -> None:
    limits = TableLimits(columns=2, row_characters=20)

    with pytest.raises(UnreadableFile, match="at most 2"):
        read_table(file("a,b,c\n"), limits)
    with pytest.raises(UnreadableFile, match="row 2: is too long: a row may have 20 characters"):
        list(read_table(file('a,b\n"1234567890\n1234567890",x\n'), limits).rows)


@pytest.mark.parametrize("encoding", ["unicode_escape", "utf-7", "hex", "rot13", "idna", "punycode", "undefined", "hz"])
def test_read_csv__refuses_an_encoding_that_hides_text_or_is_none(encoding: str) -> None:
    with pytest.raises(UnreadableFile, match="is not an encoding that tables are read in; state one of ascii"):
        read_table(file("email\nann@example.com\n"), encoding=encoding)


def test_encodings__have_the_names_of_python_and_those_that_are_detected() -> None:
    assert [codecs.lookup(name).name for name in ENCODINGS] == [*ENCODINGS]
    assert {check_encoding(name) for name in ENCODED} <= {*ENCODINGS}

"""Encoding of exports."""

from __future__ import annotations

import csv
import io
import tracemalloc
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec import UNSET, UnsetType

from touchbase.common.formulas import INVISIBLE, harmless, restored
from touchbase.exports.encoders import BATCH, CsvFormat, csv_chunks, ndjson
from touchbase.imports.reading import read_table
from touchbase.records.api.schemas import CompanyResponse, ContactResponse

TEXT = some.text(some.characters(codec="utf-8", exclude_characters="\0"))


class Person(msgspec.Struct):
    id: int
    name: str
    custom: dict[str, str | int | float | bool | None] = {}
    email: str | UnsetType = UNSET
    replied: str | None = None


FORM = CsvFormat(["id", "email", "name", "replied"], "custom", ["City", "Seats"])


def rows_of(chunks: Iterator[bytes]) -> list[list[str]]:
    return list(csv.reader(io.StringIO(b"".join(chunks).decode("utf-8-sig"), newline="")))


def test_csv__has_stable_columns_and_blank_cells_for_what_is_unset() -> None:
    people = [Person(1, "Jane", {"City": "Bath", "Other": "x"}, "j@x.co"), Person(2, "Joe", {"Seats": 12}, replied="2026-11-20T09:30:00Z")]

    assert rows_of(csv_chunks(people, FORM)) == [
        ["id", "email", "name", "replied", "cf.City", "cf.Seats"],
        ["1", "j@x.co", "Jane", "", "Bath", ""],
        ["2", "", "Joe", "2026-11-20T09:30:00Z", "", "12"],
    ]


def test_csv__without_records_is_the_header() -> None:
    assert rows_of(csv_chunks([], FORM)) == [FORM.header]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(A1)", "'=HYPERLINK(A1)"),
        ("+1-555", "'+1-555"),
        ("@SUM(1)", "'@SUM(1)"),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        ("\t=1", "'\t=1"),
        ("'=1", "''=1"),
        ("-5", "-5"),
        ("+49.5", "+49.5"),
        ("O'Brien", "O'Brien"),
        ("'quoted'", "'quoted'"),
        ("a=b", "a=b"),
    ],
)
def test_csv__makes_formulas_harmless_unless_asked_otherwise(text: str, cell: str) -> None:
    person = Person(1, text, {text: text})
    form = CsvFormat(["name"], "custom", [text])
    as_they_are = CsvFormat(["name"], "custom", [text], formulas=True)

    assert rows_of(csv_chunks([person], form))[1] == [cell, cell]
    assert rows_of(csv_chunks([person], as_they_are)) == [["name", f"cf.{text}"], [text, text]]


@given(TEXT)
def test_harmless__is_undone_by_restored(text: str) -> None:
    assert restored(harmless(text)) == text
    assert harmless(text).lstrip(INVISIBLE)[:1] not in set("=@\t\r\uff1d\uff0b\uff0d\uff20")
    assert harmless(text)[:1] not in set("=@\t\r")


@given(some.lists(some.tuples(TEXT, some.one_of(some.none(), TEXT))))
def test_csv__is_read_back_by_imports(values: list[tuple[str, str | None]]) -> None:
    people = [Person(number, name, {"City": city}) for number, (name, city) in enumerate(values, 1)]

    read = read_table(io.BytesIO(b"".join(csv_chunks(people, CsvFormat(["id", "name"], "custom", ["City"], byte_order_mark=True)))))

    assert read.header == ["id", "name", "cf.City"]
    assert [row.cells for row in read.rows] == [[str(number), name, city or ""] for number, (name, city) in enumerate(values, 1)]


@given(some.lists(some.builds(Person, some.integers(0, 2**53), TEXT, some.dictionaries(TEXT, some.one_of(TEXT, some.booleans())))))
def test_ndjson__is_the_list_of_responses(people: list[Person]) -> None:
    lines = b"".join(ndjson(people)).split(b"\n")

    assert lines.pop() == b""
    assert [msgspec.json.decode(line, type=Person) for line in lines] == people


@pytest.mark.parametrize("count", [0, 1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH])
def test_encoders__write_every_record_once(count: int) -> None:
    people = [Person(number, "x") for number in range(count)]

    assert [row[0] for row in rows_of(csv_chunks(people, FORM))[1:]] == [str(number) for number in range(count)]
    assert b"".join(ndjson(people)).count(b"\n") == count


def test_encoders__need_no_more_memory_for_more_records() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        for chunks in (ndjson(Person(1, "Jane") for _ in range(count)), csv_chunks((Person(1, "Jane") for _ in range(count)), FORM)):
            for _ in chunks:
                pass
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(10_000) < peak(2_000) + 20_000


def test_csv__writes_the_responses_of_the_api() -> None:
    contact = ContactResponse(
        7, "2026-11-20T09:30:00Z", "Jane", "Doe", "", None, None, "2026-11-21T09:30:00Z", None, None, {"City": "Bath"}, email="j@x.co"
    )
    company = CompanyResponse(8, "2026-11-20T09:30:00Z", "x.co", None, None, {})
    of_contact = CsvFormat(["id", "email", "last_reply_received", "contact_status"], "contact_custom_fields", ["City"])
    of_company = CsvFormat(["domain", "name"], "company_custom_fields", ["City"])

    assert rows_of(csv_chunks([contact], of_contact))[1] == ["7", "j@x.co", "2026-11-21T09:30:00Z", "", "Bath"]
    assert rows_of(csv_chunks([company], of_company))[1] == ["x.co", "", ""]

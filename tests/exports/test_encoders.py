"""Encoding of exports."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from touchbase.common.formulas import INVISIBLE, harmless, restored
from touchbase.exports.encoders import CsvFormat, csv_page
from touchbase.imports.file_tasks import read_table
from touchbase.records.api.schemas import CompanyResponse, ContactResponse

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


class Person(msgspec.Struct):
    id: int
    name: str
    custom: dict[str, str | int | float | bool | None] = {}
    email: str | UnsetType = UNSET
    replied: str | None = None
    emails: list[str] = []


FORM = CsvFormat(["id", "email", "name", "replied"], "custom", ["City", "Seats"])


def rows_of(page: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(page.decode("utf-8-sig"), newline="")))


def test_csv__has_stable_columns_and_blank_cells_for_what_is_unset() -> None:
    people = [Person(1, "Jane", {"City": "Bath", "Other": "x"}, "j@x.co"), Person(2, "Joe", {"Seats": 12}, replied="2026-11-20T09:30:00Z")]

    assert rows_of(csv_page(people, FORM, with_header=True)) == [
        ["id", "email", "name", "replied", "cf.City", "cf.Seats"],
        ["1", "j@x.co", "Jane", "", "Bath", ""],
        ["2", "", "Joe", "2026-11-20T09:30:00Z", "", "12"],
    ]


def test_csv__writes_numbers_as_they_are() -> None:
    assert rows_of(csv_page([Person(1, "Jane", {"Seats": -1e-7})], FORM, with_header=False)) == [["1", "", "Jane", "", "", "-1e-7"]]


def test_csv__without_records_is_the_header() -> None:
    assert rows_of(csv_page([], FORM, with_header=True)) == [FORM.header]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(A1)", "'=HYPERLINK(A1)"),
        ("+1-555", "'+1-555"),
        ("@SUM(1)", "'@SUM(1)"),
        ("-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"),
        ("\t=1", "'\t=1"),
        ("'=1", "''=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\ufe661+1", "'\ufe661+1"),
        ("\ufeff=1", "'\ufeff=1"),
        ("\u200b\uff0b1", "'\u200b\uff0b1"),
        ("-5", "-5"),
        ("+49.5", "+49.5"),
        ("O'Brien", "O'Brien"),
        ("'quoted'", "'quoted'"),
        ("a=b", "a=b"),
    ],
)
def test_csv__makes_formulas_harmless_unless_asked_otherwise(text: str, cell: str) -> None:
    person = Person(1, text, {text: text}, emails=[text])
    form = CsvFormat(["name", "emails"], "custom", [text])
    as_they_are = CsvFormat(["name", "emails"], "custom", [text], formulas=True)

    assert rows_of(csv_page([person], form, with_header=True))[1] == [cell] * 3
    assert rows_of(csv_page([person], as_they_are, with_header=True)) == [["name", "emails", f"cf.{text}"], [text] * 3]


@given(TEXT)
def test_harmless__is_undone_by_restored(text: str) -> None:
    assert restored(harmless(text)) == text
    assert harmless(text).lstrip(INVISIBLE)[:1] not in set("=@\t\r\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b")
    assert harmless(text)[:1] not in set("=@\t\r")


@given(st.lists(st.tuples(TEXT, st.one_of(st.none(), TEXT))))
def test_csv__is_read_back_by_imports(values: list[tuple[str, str | None]]) -> None:
    people = [Person(number, name, {"City": city}) for number, (name, city) in enumerate(values, 1)]

    read = read_table(io.BytesIO(csv_page(people, CsvFormat(["id", "name"], "custom", ["City"], byte_order_mark=True), with_header=True)))

    assert read.header == ["id", "name", "cf.City"]
    assert [row.cells for row in read.rows] == [[str(number), name, city or ""] for number, (name, city) in enumerate(values, 1)]


def test_csv__writes_the_responses_of_the_api() -> None:
    contact = ContactResponse(
        7, "2026-11-20T09:30:00Z", "Jane", "Doe", "", None, None, "2026-11-21T09:30:00Z", None, None, {"City": "Bath"}, email="j@x.co"
    )
    company = CompanyResponse(8, "2026-11-20T09:30:00Z", "x.co", None, None, {})
    of_contact = CsvFormat(["id", "email", "last_reply_received", "contact_status"], "contact_custom_fields", ["City"])
    of_company = CsvFormat(["domain", "name"], "company_custom_fields", ["City"])

    assert rows_of(csv_page([contact], of_contact, with_header=True))[1] == ["7", "j@x.co", "2026-11-21T09:30:00Z", "", "Bath"]
    assert rows_of(csv_page([company], of_company, with_header=True))[1] == ["x.co", "", ""]

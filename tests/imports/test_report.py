"""Duplicates in a file, counts and the file of bad rows."""

from __future__ import annotations

import csv
import io
import sys

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from touchbase.clients.models import Client, ClientSettings
from touchbase.imports.columns import Mapping
from touchbase.imports.duplicates import SeenKeys, keys_of
from touchbase.imports.file_tasks import read_table
from touchbase.imports.guessing import guess
from touchbase.imports.report import BadRows, Report
from touchbase.imports.rows import RowChecker, ValidRow
from touchbase.imports.table import Row


def command(**fields: str):  # type: ignore[no-untyped-def]
    record = "company" if "domain" in fields else "contact"
    checker = RowChecker(Mapping(record, {name: name for name in fields}), list(fields), Client(1, "c", 0, ClientSettings()))  # type: ignore[arg-type]
    checked = checker.check(Row(2, list(fields.values())), 0)
    assert isinstance(checked, ValidRow)
    return checked.creation


def test_seen_keys__finds_a_record_by_either_address_in_its_normal_form() -> None:
    observed = SeenKeys()

    assert observed.first_row(keys_of(command(email="Jane@X.co", linkedin_url="https://www.linkedin.com/in/jane/")), 2) is None
    assert observed.first_row(keys_of(command(email="jane@x.co")), 3) == 2
    assert observed.first_row(keys_of(command(email="joe@x.co", linkedin_url="linkedin.com/in/Jane")), 4) == 2
    assert observed.first_row(keys_of(command(email="joe@x.co")), 5) is None


def test_seen_keys__finds_a_company_by_its_domain() -> None:
    observed = SeenKeys()

    assert [
        observed.first_row(keys_of(command(domain=domain)), row) for row, domain in enumerate(["x.co", "https://www.X.co", "y.co"], 2)
    ] == [
        None,
        2,
        None,
    ]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=3)))
def test_seen_keys__is_a_map_of_first_rows(rows: list[list[str]]) -> None:
    observed, model = SeenKeys(), dict[str, int]()

    for number, keys in enumerate(rows, 2):
        expected = next((model[key] for key in keys if key in model), None)
        if expected is None:
            model |= dict.fromkeys(keys, number)
        assert observed.first_row(keys, number) == expected


def test_seen_keys__remembers_all_rows_of_a_large_file_in_little_memory() -> None:
    observed = SeenKeys()

    assert [observed.first_row([f"email:{number}@x.co"], number) for number in range(2, 100_002)].count(None) == 100_000
    assert [observed.first_row([f"email:{number}@x.co"], 7) for number in range(2, 100_002)] == list(range(2, 100_002))
    assert sys.getsizeof(observed._hashes) + sys.getsizeof(observed._rows) < 50 * 100_000


def test_report__counts_each_row_once_and_can_be_stored() -> None:
    report = Report(created=3, updated=2, unchanged=1, duplicate_in_file=4, invalid=5, erased=6, not_a_row=7, suppressed=3)
    report.notice("linkedin_of_nobody")
    report.notice("linkedin_of_nobody")

    assert report.rows == 28
    assert report.notices == {"linkedin_of_nobody": 2}
    assert Report().notices == {}
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(st.lists(st.lists(TEXT, min_size=2, max_size=2)))
def test_bad_rows__have_the_original_cells_and_can_be_imported_again(rows: list[list[str]]) -> None:
    file = io.StringIO(newline="")
    bad = BadRows(file, ["Mail", "Town"])
    for number, cells in enumerate(rows, 2):
        bad.add(Row(number, cells), "=is wrong")

    read = read_table(io.BytesIO(file.getvalue().encode()))

    assert read.header == ["Mail", "Town", "row", "reason"]
    assert [row.cells for row in read.rows] == [[*cells, str(number), "=is wrong"] for number, cells in enumerate(rows, 2)]
    assert guess(read.header, "contact").mapping.columns == {"Mail": "email", "Town": "cf.Town", "row": "", "reason": ""}
    assert bad.rows == len(rows)


def test_bad_rows__keep_cells_beyond_the_header_and_replace_earlier_reasons() -> None:
    file = io.StringIO(newline="")
    bad = BadRows(file, ["Mail", "Town", "row", "reason"])

    bad.add(Row(9, ["a@b.co", "Bath", "2", "was wrong", "Avon", "UK"]), "has 6 cells")
    bad.add(Row(10, ["a@b.co", "Zo\udceb"]), "=1")

    assert list(csv.reader(file.getvalue().removeprefix("\ufeff").splitlines())) == [
        ["Mail", "Town", "row", "reason"],
        ["a@b.co", "Bath,Avon,UK", "9", "has 6 cells"],
        ["a@b.co", "Zo?", "10", "'=1"],
    ]


def test_bad_rows__leave_a_column_of_the_file_that_is_called_reason() -> None:
    file = io.StringIO(newline="")
    BadRows(file, ["Mail", "reason"]).add(Row(9, ["a@b.co", "moved"]), "is wrong")

    assert list(csv.reader(file.getvalue().removeprefix("\ufeff").splitlines())) == [
        ["Mail", "reason", "row", "reason"],
        ["a@b.co", "moved", "9", "is wrong"],
    ]

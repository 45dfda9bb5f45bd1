"""A whole file: from its bytes to commands, counts and the file of bad rows."""

from __future__ import annotations

import io
from typing import BinaryIO

import msgspec
from tests.imports.workbooks import DATE_TIME, sheet, workbook

from touchbase.clients.models import Client, ClientSettings
from touchbase.common.timestamps import from_text
from touchbase.exports.encoders import CsvFormat, csv_page
from touchbase.imports.duplicates import SeenKeys, keys_of
from touchbase.imports.file_tasks import read_table
from touchbase.imports.guessing import guess
from touchbase.imports.report import BadRows, Report
from touchbase.imports.rows import InvalidRow, RowChecker, ValidRow
from touchbase.records.api.resource_type import contact_out
from touchbase.records.models import Contact, CustomField

AT = from_text("2026-11-25T14:00:00Z")
SETTINGS = ClientSettings()


def imported(file: BinaryIO) -> tuple[list[ValidRow], Report, str]:
    """The rows that would be imported as new, the report and the file of bad rows."""
    table = read_table(file)
    rows = list(table.rows)
    checker = RowChecker(
        guess(table.header, "contact", [row.cells for row in rows[:50]]).mapping, table.header, Client(1, "c", 0, SETTINGS)
    )
    observed, report, text, valid = SeenKeys(), Report(), io.StringIO(newline=""), list[ValidRow]()
    bad = BadRows(text, table.header)
    for row in rows:
        checked = checker.check(row, AT)
        if isinstance(checked, InvalidRow):
            report.invalid += 1
            bad.add(row, checked.reason)
        elif (first := observed.first_row(keys_of(checked.creation), row.number)) is not None:
            report.duplicate_in_file += 1
            bad.add(row, f"is about the same person as row {first}")
        else:
            report.created += 1
            valid.append(checked)
    return valid, report, text.getvalue()


def test_import__of_a_file_with_bad_rows_and_of_the_corrected_bad_rows() -> None:
    lines = ["Email;First Name;Website;Company"]
    for number in range(2, 2_002):
        address = f"person{number}@" if number % 100 == 0 else f"person{number}@firm{number % 7}.com"
        lines.append(f"{address};Zoë;www.firm{number % 7}.com;Firm")
    lines.append("PERSON3@firm3.com;Zoe;;")

    valid, report, bad = imported(io.BytesIO("\r\n".join(lines).encode("cp1252")))
    again, second, none = imported(io.BytesIO(bad.replace("@,", "@firm.com,").encode()))

    assert (report.created, report.invalid, report.duplicate_in_file, report.rows) == (1_980, 20, 1, 2_001)
    assert {row.company.record.domain for row in valid if row.company is not None} == {f"firm{number}.com" for number in range(7)}
    assert bad.removeprefix("\ufeff").splitlines()[:2] == [
        "Email,First Name,Website,Company,row,reason",
        "person100@,Zoë,www.firm2.com,Firm,100,Email: is not an e-mail address: There must be something after the @-sign.",
    ]
    assert bad.splitlines()[-1] == "PERSON3@firm3.com,Zoe,,,2002,is about the same person as row 3"
    assert (second.created, second.invalid, len(none.splitlines())) == (21, 0, 1)
    assert [row.creation.record.first_name for row in again][:1] == ["Zoë"]  # type: ignore[union-attr]


def contact(number: int) -> Contact:
    custom = [CustomField(number, "Motto", "=1+1", 1), CustomField(number + 1, "email", "'=x", 1)]
    return Contact(
        1, number, AT, AT, email=f"p{number}@x.co", email_key=f"p{number}@x.co", first_name='Jo "J", é', last_name="-Doe", origin="a\nb",
        status="won", first_sent_us=AT - 3_000_000, last_reply_us=AT - 1_000_001, custom_fields=custom, company_id=7,
    )  # fmt: skip


def test_import__of_an_export_gives_the_exported_values() -> None:
    records = [contact_out(contact(number), True, SETTINGS) for number in (1, 3)]
    form = CsvFormat(list(records[0].__struct_fields__)[:10], "contact_custom_fields", ["Motto", "email"])
    more = CsvFormat([*form.fields, "email", "contact_status"], form.custom_member, form.custom_fields)

    for file in (csv_page(records, more, with_header=True), msgspec.json.Encoder().encode_lines(records)):
        valid, report, _ = imported(io.BytesIO(file))

        assert report.created == report.rows == 2
        creation = valid[0].creation
        record = creation.record
        assert isinstance(record, Contact)
        assert (record.email, record.first_name, record.last_name, record.origin, record.status) == (
            "p1@x.co", 'Jo "J", é', "-Doe", "a\nb", "won",
        )  # fmt: skip
        assert sorted(creation.custom) == [("Motto", "=1+1"), ("email", "'=x")]
        assert valid[0].dates == {"first_campaign_email_sent": AT - 3_000_000, "last_reply_received": AT - 1_000_001}


def test_import__of_a_workbook() -> None:
    rows = sheet(
        [["E-mail", "Full name", "Last reply"], ["jane@x.co", "Jane van Dyk", (46350.5, DATE_TIME)], ["joe@x.co", "Doe, Joe", None]]
    )

    valid, _, _ = imported(workbook({"People": rows}))

    assert [(row.creation.record.first_name, row.creation.record.last_name) for row in valid] == [("Jane", "van Dyk"), ("Joe", "Doe")]  # type: ignore[union-attr]
    assert [row.dates for row in valid] == [{"last_reply_received": from_text("2026-11-24T12:00:00Z")}, {}]

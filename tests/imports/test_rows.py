"""Checks of rows, held against those of the API."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from touchbase.clients.models import Client, ClientSettings, FieldType, StatusSet
from touchbase.common import field_limits
from touchbase.common.normalize import is_nothing, linkedin_key
from touchbase.common.timestamps import DAY, from_text
from touchbase.errors import MOST_FAULTS, Invalid
from touchbase.http.request_body import read_struct
from touchbase.imports.cells import NOTHING
from touchbase.imports.columns import Mapping
from touchbase.imports.rows import InvalidRow, RowChecker, RowFault, ValidRow, split_name
from touchbase.imports.table import Row
from touchbase.records.api.schemas import CompanyRequest, ContactRequest
from touchbase.records.create import creation_of
from touchbase.records.further_emails import further_emails
from touchbase.records.models import Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.writes import Creation

AT = from_text("2026-11-25T14:00:00Z")
SETTINGS = ClientSettings(
    contact_statuses=StatusSet(["new", "won"]),
    contact_fields={"Seats": FieldType("number"), "Since": FieldType("date"), "Plan": FieldType("select", ["free", "paid"])},
    company_fields={"Size": FieldType("number")},
)
CLIENT = Client(1, "acme", 0, SETTINGS)
OPEN = Client(1, "acme", 0, ClientSettings(), has_erased=True)


def check(columns: dict[str, str], *cells: str, client: Client = OPEN, record: Any = "contact", **options: Any) -> ValidRow | InvalidRow:
    """Check a row whose columns have the names and targets of `columns`."""
    mapping = Mapping(record, columns, **options)
    return RowChecker(mapping, list(columns), client).check(Row(2, list(cells)), AT)


def valid(columns: dict[str, str], *cells: str, **options: Any) -> ValidRow:
    checked = check(columns, *cells, **options)
    assert isinstance(checked, ValidRow), checked.reason
    return checked


def faults(columns: dict[str, str], *cells: str, **options: Any) -> list[tuple[str, str]]:
    checked = check(columns, *cells, **options)
    assert isinstance(checked, InvalidRow)
    return [(fault.column, fault.code) for fault in checked.faults]


def left_out(columns: dict[str, str], *cells: str, client: Client = OPEN, record: Any = "contact", **options: Any) -> list[tuple[str, str]]:
    """The cells of a row that were left out: column and value."""
    checker = RowChecker(Mapping(record, columns, **options), list(columns), client)
    checked = checker.check(Row(2, list(cells)), AT)
    assert isinstance(checked, ValidRow), checked.reason
    assert all(cell.row == 2 and cell.reason for cell in checker.left_out)
    return [(cell.column, cell.value) for cell in checker.left_out]


def test_faults_of_a_row__are_listed_up_to_fifty_and_then_counted() -> None:
    columns = {f"Field {number}": f"cf.Field {number}" for number in range(60)} | {"Email": "email"}
    long, wrong = (
        "y" * (field_limits.VALUE + 1),
        Client(1, "acme", 0, ClientSettings(contact_fields={n: FieldType("number") for n in columns})),
    )

    of_texts = check(columns, *[long] * 60, "no address")
    of_values = check(columns, *["no number"] * 60, "no address", client=wrong)
    both = check(columns, *[long] * 30, *["no number"] * 21, *[""] * 9, "no address", client=wrong)

    for checked, more in ((of_texts, "and 11 more faults"), (of_values, "and 11 more faults"), (both, "and 2 more faults")):
        assert isinstance(checked, InvalidRow)
        assert len(checked.faults) == MOST_FAULTS + 1
        assert checked.faults[-1] == RowFault("", "more", more)
        assert checked.reason.endswith(more)


TEXT = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", "  ", "x" * 201, "a\0b", "ä" * 200, "y" * 10_001, "z" * 2_001]),
)
EMAILS = st.one_of(st.emails(), TEXT, st.sampled_from(["Jane@Example.COM ", "n/a", "jane@", "jané@exämple.com", f"{'j' * 260}@x.co"]))
DOMAINS = st.one_of(
    st.from_regex(r"[a-z0-9]{1,9}\.[a-z]{1,4}", fullmatch=True),
    TEXT,
    st.sampled_from(["https://www.Example.com/x?y", "jane@x.co", "not a domain", "münchen.de"]),
)
LINKEDIN = st.one_of(TEXT, st.sampled_from(["https://www.linkedin.com/in/Jane-Doe/", "n/a", "linkedin.com/in/x?y=1"]))
STATUSES = st.one_of(st.sampled_from(["new", "won", " won ", "", "lost"]), TEXT)
CONTACT_CELLS = st.fixed_dictionaries(
    {
        "email": EMAILS, "linkedin_url": LINKEDIN, "first_name": TEXT, "last_name": TEXT, "origin": TEXT, "contact_status": STATUSES,
        "cf.Seats": st.one_of(TEXT, st.sampled_from(["12", "-3.5", "many"])), "cf.Plan": st.sampled_from(["free", "gold", ""]),
        "cf.Other": TEXT,
    }
)  # fmt: skip
COMPANY_CELLS = st.fixed_dictionaries({"domain": DOMAINS, "name": TEXT, "company_status": TEXT, "cf.Size": TEXT, "cf.Other": TEXT})


def by_api(record: str, values: dict[str, str], client: Client) -> Creation[Any] | set[str]:
    """Return what the API makes of a request with these values: its command, or the members with faults."""
    custom = [
        {"field_name": name.removeprefix("cf."), "field_value": value}
        for name, value in values.items()
        if name.startswith("cf.") and value.strip()
    ]
    member = "contact_custom_fields_input" if record == "contact" else "company_custom_fields"
    body = msgspec.json.encode({name: value for name, value in values.items() if not name.startswith("cf.")} | {member: custom})
    wanted: Any = ContactRequest if record == "contact" else CompanyRequest
    make: Any = partial(creation_of, CONTACT_TYPE if record == "contact" else COMPANY_TYPE)
    try:
        struct = read_struct(body, msgspec.json.Decoder(wanted), wanted, lambda partly: make(partly, client, AT))
        creation: Creation[Any] = make(struct, client, AT, "update")
        return creation
    except Invalid as invalid:
        result = set()
        for fault in invalid.faults:
            name, _, remaining = fault.pointer[1:].partition("/")
            result.add(f"cf.{custom[int(remaining.partition('/')[0])]['field_name']}" if remaining else name)
        return result


def by_import(record: Any, values: dict[str, str], client: Client) -> Creation[Any] | set[str]:
    """Return the command of a row; or the columns of which a cell was left out, or for which the row was refused."""
    mapping = Mapping(record, {name: name for name in values}, without_key=record == "contact", join_statuses=False)
    checker = RowChecker(mapping, list(values), client)
    checked = checker.check(Row(2, list(values.values())), AT)
    if isinstance(checked, InvalidRow):
        return {fault.column for fault in checked.faults}
    return {cell.column for cell in checker.left_out} or checked.creation


@given(CONTACT_CELLS.filter(lambda values: "".join(values.values()).strip()), st.sampled_from([CLIENT, OPEN]))
@example({"email": "x" * 300, "cf.A": "a\0b", "cf.Seats": "many"}, CLIENT)
def test_check__makes_of_any_contact_what_the_api_makes_or_leaves_out_its_bad_cells(values: dict[str, str], client: Client) -> None:
    url = values.get("linkedin_url", "").strip()
    assume(not url or linkedin_key(url) is not None or is_nothing(url) or len(url) > 2_000)
    assume(not any(value.strip() in NOTHING for value in values.values()))

    assert by_import("contact", values, client) == by_api("contact", values, client)


@given(COMPANY_CELLS.filter(lambda values: "".join(values.values()).strip()), st.sampled_from([CLIENT, OPEN]))
def test_check__makes_of_any_company_what_the_api_makes_or_leaves_out_its_bad_cells(values: dict[str, str], client: Client) -> None:
    assume(values["domain"].strip() and not any(value.strip() in NOTHING for value in values.values()))

    created, expected = by_import("company", values, client), by_api("company", values, client)

    # Without a domain and a name its other cells do not matter.
    assert created - {""} <= expected if isinstance(created, set) and isinstance(expected, set) else created == expected


@pytest.mark.parametrize("url", ["https://www.linkedin.com/company/acme", "@jane-doe", "linkedin.com/in/null"])
def test_check__makes_a_custom_field_of_a_linkedin_address_of_nobody(url: str) -> None:
    row = valid({"Mail": "email", "Profile": "linkedin_url"}, "jane@x.co", url)

    assert isinstance(row.creation.record, Contact)
    assert (row.creation.record.linkedin_url, row.creation.record.linkedin_key) == (None, None)
    assert (row.creation.custom, row.notice) == ([("Profile", url)], "linkedin_of_nobody")


def test_check__takes_a_word_for_nothing_as_no_linkedin_address() -> None:
    row = valid({"Mail": "email", "Profile": "linkedin_url"}, "jane@x.co", "N/A")

    assert (row.creation.record.linkedin_url, row.creation.custom, row.notice) == (None, [], "")  # type: ignore[union-attr]


def test_check__leaves_out_bad_cells_and_takes_the_person() -> None:
    columns = {"Mail": "email", "State": "contact_status", "Seats": "cf.Seats", "Web": "company.domain", "Size": "company.cf.Size"}

    row = valid(columns, "jane@x.co", "lost", "many", "no domain", "big", client=CLIENT)

    assert sorted(left_out(columns, "jane@x.co", "lost", "many", "no domain", "big", client=CLIENT)) == [
        ("Seats", "many"), ("Size", "big"), ("State", "lost"), ("Web", "no domain"),
    ]  # fmt: skip
    assert (row.creation.record.email, row.creation.record.status, row.creation.custom, row.company) == ("jane@x.co", None, [], None)  # type: ignore[union-attr]


def test_check__refuses_a_row_without_an_identity_for_the_faults_of_its_cells() -> None:
    checked = check({"Mail": "email", "Seats": "cf.Seats"}, "jane@", "many", client=CLIENT)

    assert isinstance(checked, InvalidRow)
    assert {(fault.column, fault.code) for fault in checked.faults} == {("Seats", "number"), ("Mail", "email")}
    assert "Mail: is not an e-mail address" in checked.reason


def test_check__names_one_fault_of_a_column() -> None:
    assert faults({"Web": "domain"}, "x" * 3_000, record="company") == [("Web", "too_long")]
    assert left_out({"Mail": "email", "Web": "company.domain"}, "j@x.co", "x" * 3_000) == [("Web", "x" * 3_000)]


@pytest.mark.parametrize("cells", [("", ""), (" ", "\t"), ()])
def test_check__refuses_a_row_with_nothing_in_it(cells: tuple[str, ...]) -> None:
    assert faults({"Mail": "email", "Town": "cf.Town"}, *cells) == [("", "empty")]


def test_check__refuses_a_row_that_has_only_ignored_cells() -> None:
    assert faults({"Mail": "email", "Row": ""}, "", "7") == [("", "empty")]


def test_check__refuses_a_contact_that_a_second_import_would_not_find() -> None:
    columns = {"Mail": "email", "LinkedIn": "linkedin_url", "First": "first_name"}

    assert faults(columns, "", "n/a", "Jane") == [("", "no_key")]
    assert isinstance(valid(columns, "", "n/a", "Jane", without_key=True).creation.record, Contact)


def test_check__refuses_more_cells_than_columns_and_fills_up_fewer() -> None:
    columns = {"Mail": "email", "First": "first_name"}

    assert faults(columns, "jane@x.co", "Jane", "Doe") == [("", "cells")]
    assert valid(columns, "jane@x.co", "Jane", "").creation == valid(columns, "jane@x.co", "Jane").creation
    assert valid(columns, "jane@x.co").creation.record.first_name is None  # type: ignore[union-attr]


def test_check__makes_the_company_of_a_contact() -> None:
    columns = {"Mail": "email", "Web": "company.domain", "Firm": "company.name", "Size": "company.cf.Size"}

    created = valid(columns, "jane@x.co", "https://www.X.co/about", " X Ltd ", "12")
    without = valid(columns, "jane@x.co", "", "X Ltd", "")
    nothing = valid(columns, "jane@x.co", "", "", "")
    page = valid(columns, "jane@x.co", "https://linkedin.com/company/x", "X Ltd", "")

    assert created.company is not None
    assert (created.company.record.domain, created.company.record.name, created.company.custom) == ("x.co", "X Ltd", [("Size", "12")])
    assert (created.company.on_duplicate, created.notice) == ("return", "")
    for row in (without, page):
        assert row.company is not None
        assert (row.company.record.domain, row.company.record.name) == ("", "X Ltd")
    assert nothing.company is None


@pytest.mark.parametrize("domain", ["gmail.com", "https://www.linkedin.com/company/acme", "facebook.com/acme", "mailinator.com"])
def test_check__takes_no_mail_service_or_social_network_for_a_company(domain: str) -> None:
    columns = {"Mail": "email", "Web": "company.domain"}

    assert valid(columns, "jane@x.co", domain).company is None
    assert left_out(columns, "jane@x.co", domain) == [("Web", domain)]


def test_check__tells_companies_apart_by_all_their_cells() -> None:
    columns = {"Mail": "email", "Web": "company.domain", "Firm": "company.name"}
    checker = RowChecker(Mapping("contact", columns), list(columns), OPEN)

    names = [checker.check(Row(2, ["j@x.co", "x.co", name]), AT).company.record.name for name in ("A", "B", "A")]  # type: ignore[union-attr]

    assert names == ["A", "B", "A"]


def test_check__reads_dates_of_a_contact() -> None:
    columns = {"Mail": "email", "First": "first_campaign_email_sent", "Last": "last_campaign_email_sent", "Reply": "last_reply_received"}

    created = valid(columns, "j@x.co", "2026-11-01", "11/20/2026 14:03", " ", day_order="month_first", time_zone="Europe/Berlin")

    assert created.dates == {
        "first_campaign_email_sent": from_text("2026-10-31T23:00:00Z"),
        "last_campaign_email_sent": from_text("2026-11-20T13:03:00Z"),
    }


def test_check__leaves_out_dates_that_cannot_be() -> None:
    columns = {"Mail": "email", "First": "first_campaign_email_sent", "Last": "last_campaign_email_sent", "Reply": "last_reply_received"}

    assert left_out(columns, "j@x.co", "2026-11-02", "2026-11-01", "") == [("First", "2026-11-02")]
    assert left_out(columns, "j@x.co", "", "", "2026-11-28") == [("Reply", "2026-11-28")]
    assert left_out(columns, "j@x.co", "11/12/2026", "soon", "") == [("First", "11/12/2026"), ("Last", "soon")]
    assert valid(columns, "j@x.co", "", "", "2026-11-28").dates == {}
    assert valid(columns, "j@x.co", "", "", "2026-11-26").dates == {"last_reply_received": from_text("2026-11-26T00:00:00Z")}
    assert from_text("2026-11-28T00:00:00Z") > AT + DAY


@pytest.mark.parametrize(
    ("text", "value"), [("11/12/2026", "2026-12-11"), ("46351.5", "2026-11-25"), ("2026-11-25 00:00:00", "2026-11-25")]
)
def test_check__writes_a_declared_date_as_the_api_wants_it(text: str, value: str) -> None:
    created = valid({"Mail": "email", "Since": "cf.Since"}, "j@x.co", text, client=CLIENT, day_order="day_first")

    assert created.creation.custom == [("Since", value)]
    assert left_out({"Mail": "email", "Since": "cf.Since"}, "j@x.co", "soon", client=CLIENT) == [("Since", "soon")]


@pytest.mark.parametrize(
    ("text", "ok"), [("17", True), (" 17 ", True), ("0", False), ("x", False), ("9" * 17, False), ("1.5", False), ("\u0661", False)]
)
def test_check__takes_a_company_id(text: str, ok: bool) -> None:
    columns = {"Mail": "email", "Company": "company_id"}

    if ok:
        assert valid(columns, "j@x.co", text).creation.record.company_id == 17  # type: ignore[union-attr]
    else:
        assert left_out(columns, "j@x.co", text) == [("Company", text)]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Jane Doe", ("Jane", "Doe")),
        ("Jane", ("Jane", "")),
        ("  Jane  van   Dyk ", ("Jane", "van Dyk")),
        ("van Dyk, Jane", ("Jane", "van Dyk")),
        ("Doe,", ("Doe", "")),
        ("", ("", "")),
    ],
)
def test_split_name__divides_a_full_name(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


def test_check__leaves_out_a_full_name_of_which_a_part_is_too_long() -> None:
    columns = {"Mail": "email", "Name": "full_name"}

    assert valid(columns, "j@x.co", "Jane Doe").creation.record.last_name == "Doe"  # type: ignore[union-attr]
    for name in (f"Jane {'x' * (field_limits.NAME + 1)}", "x" * 500):
        assert left_out(columns, "j@x.co", name) == [("Name", name)]


@pytest.mark.parametrize(("text", "detail"), [("Zo\udceb", "not of the file's encoding"), ("\ud800", "surrogate pair"), ("a\0", "NUL")])
def test_check__leaves_out_text_that_cannot_be_stored(text: str, detail: str) -> None:
    columns = {"Mail": "email", "First": "first_name"}
    checker = RowChecker(Mapping("contact", columns), list(columns), OPEN)

    checker.check(Row(2, ["j@x.co", text]), AT)

    assert [(cell.column, cell.value) for cell in checker.left_out] == [("First", text)]
    assert detail in checker.left_out[0].reason


@pytest.mark.parametrize("text", ["nan", "NaN", "NULL", "null", "N/A", "n/a", "#N/A", "None", "-", " N/A ", "\\N", "#ERROR!", "#num!"])
def test_check__takes_a_word_for_nothing_as_blank(text: str) -> None:
    columns = {"Mail": "email", "First": "first_name", "State": "contact_status", "Web": "company.domain", "Town": "cf.Town"}

    row = valid(columns, "j@x.co", *[text] * 4)

    assert (row.creation.record.first_name, row.creation.record.status, row.company, row.creation.custom) == (None, None, None, [])  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["Null", "Nan", "No", "Na", "Nil"])
def test_check__takes_names_of_people_that_look_like_nothing(name: str) -> None:
    assert valid({"Mail": "email", "Last": "last_name"}, "j@x.co", name).creation.record.last_name == name  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "cells",
    [("Total: 5", "", ""), ("Grand Totals (52 records)", "", ""), ("Copyright (c) 2026 Acme",), ("Acme Inc",), ("Mail", "First", "Last"),
     ("Generated By: Ann 11/29/2026", "", ""), ("-- end of export --",), ("1,204 contacts", "", "")],
)  # fmt: skip
def test_check__tells_lines_of_the_report_from_rows(cells: tuple[str, ...]) -> None:
    columns = {"Mail": "email", "First": "first_name", "Last": "last_name"}

    checked = check(columns, *cells)

    assert isinstance(checked, InvalidRow)
    assert not checked.is_row
    assert check(columns, "", "Jane", "Doe").is_row  # type: ignore[union-attr]


def test_check__takes_several_addresses_of_a_cell() -> None:
    columns = {"Mail": "email"}

    for cell in ("a@x.co; b@y.co", "a@x.co,b@y.co", "a@x.co / b@y.co", "Ann <a@x.co>, Bob <b@y.co>", "a@x.co\nb@y.co"):
        contact = valid(columns, cell).creation.record
        assert (contact.email, further_emails(contact)) == ("a@x.co", ["b@y.co"])  # type: ignore[union-attr]
    assert faults(columns, "a@x.co; b@") == [("Mail", "email")]


@pytest.mark.parametrize(
    "name", ["E-mail 2 Address", "Secondary Email", "Additional email addresses", "E-mail 2 - Value", "Personal Email"]
)
def test_check__takes_another_address_of_a_person_without_one(name: str) -> None:
    columns = {"Mail": "email", name: f"cf.{name}"}

    assert valid(columns, "", "b@y.co;c@z.co").creation.record.email == "b@y.co"  # type: ignore[union-attr]
    assert left_out(columns, "n/a at home", "b@y.co") == [("Mail", "n/a at home")]
    assert valid(columns, "a@x.co", "b@y.co").creation.record.email == "a@x.co"  # type: ignore[union-attr]
    assert faults({"Mail": "email", "Owner email": "cf.Owner email"}, "", "b@y.co") == [("", "no_key")]


OPT_OUTS = {
    "unsubscribed": [
        ("Unsubscribed from all email", "true"), ("Email Opt Out", "1"), ("is_unsubscribed", "Yes"), ("HasOptedOutOfEmail", "true"),
        ("Unsubscribed at", "2026-11-01"), ("Status", "Unsubscribed"), ("Opt-out", "by phone on 3 May"), ("Abgemeldet", "ja"),
    ],
    "requested": [("DNC", "x"), ("Do Not Contact", "TRUE"), ("doNotContact", "1"), ("Lead Status", "Do Not Contact")],
    "complained": [("suppressed", "complained"), ("Status", "Spam complaint")],
    "": [
        ("Email Opt Out", "false"), ("Email Opt Out", "0"), ("Email Opt Out", ""), ("DNC", "No"), ("Status", "active"),
        ("Fax Opt Out", "true"),
        ("Do Not Call", "true"), ("Opted out of email: Newsletter", "true"), ("Unsubscribe link", "http://x"), ("Notes", "unsubscribed"),
        ("Lead Status", "not unsubscribed"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("header", "text", "reason"), [(*cell, reason) for reason, cells in OPT_OUTS.items() for cell in cells])
def test_check__finds_opt_outs_by_columns_of_them_and_by_states(header: str, text: str, reason: str) -> None:
    assert valid({"Mail": "email", header: f"cf.{header}"}, "j@x.co", text).opt_out == reason


def test_check__looks_for_opt_outs_in_the_columns_of_the_mapping() -> None:
    columns = {"Mail": "email", "DNC": "cf.DNC", "Notes": "cf.Notes"}

    assert valid(columns, "j@x.co", "yes", "", opt_outs=[]).opt_out == ""
    assert valid(columns, "j@x.co", "yes", "unsubscribed", opt_outs=["Notes"]).opt_out == "unsubscribed"


def test_check__spells_statuses_as_the_client_does() -> None:
    columns = {"Mail": "email", "State": "contact_status"}
    own = Client(1, "acme", 0, ClientSettings(contact_statuses=StatusSet(["Meeting booked"])))
    checker = RowChecker(Mapping("contact", columns), list(columns), OPEN, ["Follow up"])

    spelled = [checker.check(Row(2, ["j@x.co", text]), AT).creation.record.status for text in ("Replied", "FOLLOW_UP", "Cold", "cold")]  # type: ignore[union-attr]

    assert spelled == ["replied", "Follow up", "Cold", "Cold"]
    assert valid(columns, "j@x.co", "meeting_booked", client=own).creation.record.status == "Meeting booked"
    assert valid(columns, "j@x.co", "Replied", join_statuses=False).creation.record.status == "Replied"


def test_reason__is_one_text() -> None:
    row = InvalidRow(Row(2, []), [RowFault("", "empty", "the row is empty"), RowFault("Mail", "email", "is wrong")])

    assert row.reason == "the row is empty; Mail: is wrong"

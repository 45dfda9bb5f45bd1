"""Imports in the console, in a real Chromium: from the dropped file to the rows that were refused."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, TIMEOUT, Console, axe_faults, first_key, look_faults, settle
from tests.console.test_browser import HOSTILE

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"
ROWS = 10_000


@pytest.fixture
def console(start: Callable[..., Console]) -> Console:
    """A server with one client."""
    made = start()
    made.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    return made


def write(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


def test_list_of_10000_rows__is_tried_imported_and_its_bad_rows_are_fetched(console: Console, tmp_path: Path) -> None:
    rows = [[f"p{n}@list.example", f"Person {n}", "CTO", f"Firm {n % 40}", f"firm{n % 40}.example"] for n in range(ROWS)]
    for n in range(0, ROWS, 100):
        rows[n][0] = "no address"
    path = write(tmp_path / "people.csv", [["E-mail", "Full name", "Role", "Company", "Website"], *rows])
    page = console.open(f"/imports{OF}")
    page.locator("input[type=file]").set_input_files(path)
    page.wait_for_url("**/imports/1**")
    page.get_by_role("heading", name="people.csv").wait_for()
    expect(page.get_by_label("What E-mail becomes")).to_have_value("email")
    expect(page.get_by_label("What Website becomes")).to_have_value("company.domain")

    page.get_by_label("What Role becomes").select_option("email")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".columns-table .wrong").last).to_contain_text("the columns 'E-mail' and 'Role' become one field, 'email'")
    page.get_by_label("What Role becomes").select_option("cf.Role")
    page.get_by_label("Save mapping as").fill("Lists")
    page.get_by_role("button", name="Test run").click()
    page.get_by_text("This was only tried: nothing was written.").wait_for()
    assert console.send("GET", "/public/v2/contacts")["data"] == []

    page.reload()
    page.get_by_role("button", name="Import it now").click()
    page.get_by_text("It is done.").wait_for(timeout=2 * TIMEOUT)
    settle(page)
    counts = dict(zip(page.locator(".figures dt").all_inner_texts(), page.locator(".figures b").all_inner_texts(), strict=True))
    assert (counts["Created"], counts["Refused"]) == ("9,900", "100")
    expect(page.locator(".bad-rows tbody tr")).to_have_count(20)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Fetch the 100 refused rows").click()
    with saved.value.path().open(encoding="utf-8", newline="") as file:
        bad = list(csv.DictReader(file))
    assert (saved.value.suggested_filename, len(bad)) == ("contacts-import-2-bad-rows.csv", 100)
    assert (bad[1]["row"], "is not an e-mail address" in bad[1]["reason"]) == ("102", True)

    page.get_by_role("link", name="Contacts created while it ran").click()
    page.locator(".total", has_text="9,900 contacts").wait_for()

    page.go_back()
    page.locator("a.back").click()
    lines = page.locator(".jobs li")
    expect(lines).to_have_count(2)
    expect(lines.nth(0)).to_contain_text(re.compile("Done.*9,900 created.*Test run 1", re.DOTALL))
    expect(lines.nth(1)).to_contain_text(re.compile("Test run.*9,900 created.*Import 2", re.DOTALL))
    assert look_faults(page) == []
    lines.nth(0).get_by_role("link", name="Test run 1", exact=True).click()
    page.get_by_text("This was only tried: nothing was written.").wait_for()
    expect(page.get_by_role("button", name="Import it now")).to_have_count(0)
    page.get_by_role("link", name="Import 2", exact=True).click()
    page.get_by_text("It is done.").wait_for()


@on_sqlite
def test_preview__asks_its_questions_and_the_counts_of_the_report_open_lists(console: Console, tmp_path: Path) -> None:
    rows = [
        ["ann@x.example", "New", "lead", "3/4/2026", ""],
        ["bob@x.example", "NEW", "customer", "soon", "true"],
        ["ANN@x.example", "", "lead", "", ""],
        ["cy@x.example", "", "lead", "5/4/2026", ""],
    ]
    path = tmp_path / "leads.csv"
    path.write_text("\n".join(";".join(row) for row in [["Email", "Lead Status", "Lifecycle Stage", "Last Contacted", "DNC"], *rows]))
    page = console.open(f"/imports{OF}")
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_label("Delimiter").select_option("Comma")
    page.get_by_label("What Email;Lead Status;Lifecycle Stage;Last Contacted;DNC becomes").wait_for()
    page.get_by_label("Delimiter").select_option("Semicolon")
    expect(page.get_by_label("Lead Status: New 1, NEW 1")).to_be_checked()
    page.get_by_text("Dates that may be either are left out until you choose.").wait_for()
    page.locator("summary", has_text="3 cells left out").wait_for()

    page.get_by_label("Month first: 4 March 2026").check()
    page.get_by_label("Lifecycle Stage: lead 3, customer 1").check()
    page.get_by_label("Block 1 person by DNC: true").uncheck()
    page.locator("summary", has_text="1 cell left out").click()
    page.get_by_text("Row 3: Last Contacted “soon”").wait_for()
    page.get_by_role("button", name="Test run").click()
    page.get_by_role("link", name="List 1: Repeated").click()
    page.get_by_role("cell", name="is the same contact as row 2").wait_for()
    page.get_by_text("Together 4 rows of the file.").wait_for()
    page.get_by_role("button", name="Import it now").click()
    page.get_by_text("It is done.").wait_for()
    page.get_by_role("link", name="List 3: Created").click()
    page.get_by_role("link", name="1", exact=True).click()
    page.get_by_role("heading", name="ann@x.example").wait_for()

    ann, bob, _ = sorted(console.send("GET", "/public/v2/contacts")["data"], key=lambda each: each["email"])
    assert (ann["contact_status"], ann["last_campaign_email_sent"][:10], bob["contact_status"]) == ("lead", "2026-03-04", "customer")
    assert console.send("GET", "/public/v2/suppressions")["data"] == []


def test_stored_mapping__is_used_for_the_next_file_and_removed(console: Console, tmp_path: Path) -> None:
    page = console.open(f"/imports{OF}&kind=companies")
    first = write(tmp_path / "a.csv", [["Web", "Firm", "Size"], ["one.example", "One", "12"], ["", "Solo", ""]])
    page.locator("input[type=file]").set_input_files(first)
    page.get_by_label("What Web becomes").select_option("domain")
    page.get_by_label("What Firm becomes").select_option("name")
    page.get_by_label("What Size becomes").select_option("")
    page.get_by_label("Save mapping as").fill("Firms")
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("It is done.").wait_for()
    company = console.send("GET", "/public/v2/companies/1")
    assert (company["name"], company["company_custom_fields"]) == ("One", [])

    console.go(page, f"/companies{OF}")
    page.locator(".absent", has_text="no domain").wait_for()
    page.get_by_role("link", name="Solo").click()
    page.locator(".facts", has_text="no domain").wait_for()

    console.go(page, f"/imports{OF}&kind=companies")
    page.locator("input[type=file]").set_input_files(write(tmp_path / "b.csv", [["Size", "Web", "Firm"], ["9", "two.example", "Two"]]))
    page.get_by_role("button", name="Mapping: As guessed").click()
    page.get_by_role("button", name="Firms", exact=True).click()
    page.get_by_role("button", name="Mapping: Firms").click()
    page.get_by_label("Remove the mapping Firms").click()
    page.get_by_text("The mapping “Firms” is removed.").wait_for()
    for name, target in (("Size", ""), ("Web", "domain"), ("Firm", "name")):
        expect(page.get_by_label(f"What {name} becomes")).to_have_value(target)
    page.get_by_role("heading", name="b.csv").wait_for()
    page.get_by_role("button", name="Discard").click()
    page.get_by_text("It was discarded.", exact=False).wait_for()
    assert console.send("GET", "/public/v2/import-mappings/companies")["data"] == []


@on_sqlite
def test_import_screens__are_sound_and_hostile_cells_are_text(console: Console, tmp_path: Path, subtests: pytest.Subtests) -> None:
    header = ["E-mail", *(text.replace("\n", " ") for text in HOSTILE)]
    path = write(tmp_path / "<img src=x onerror=alert(1)>.csv", [header, *([text, *HOSTILE] for text in HOSTILE)])
    page = console.open(f"/imports{OF}")
    for name in ("list", "columns", "tried"):
        with subtests.test(screen=name):
            if name == "columns":
                page.locator("input[type=file]").set_input_files(path)
                page.locator(".mapping").wait_for()
            if name == "tried":
                page.get_by_role("button", name="Test run").click()
                page.locator(".bad-rows tbody tr").last.wait_for()
            settle(page)
            assert look_faults(page) == []
            assert page.evaluate("window.pwned") is None
            assert page.locator("#app script, #app img").count() == 0
    console.go(page, f"/imports/999999{OF}")
    page.get_by_text("There is no such job").wait_for()
    assert axe_faults(page) == []


@on_sqlite
def test_file_that_is_no_table__is_refused_in_the_words_of_the_api(console: Console, tmp_path: Path) -> None:
    page = console.open(f"/imports{OF}")
    (tmp_path / "x.xlsx").write_bytes(b"PK\x03\x04 no workbook")
    page.locator("input[type=file]").set_input_files(tmp_path / "x.xlsx")
    expect(page.get_by_role("alert")).to_contain_text("workbook")

    page.locator("input[type=file]").set_input_files(write(tmp_path / "a.csv", [["E-mail"], ["a@b.example"]]))
    page.locator(".mapping").wait_for()


def test_read_only_key__sees_the_imports_of_others_and_no_way_to_start_one(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    _, made = console.server.post("/admin/v1/keys", {"name": "reader", "client_id": "ours", "scopes": ["records:read"]}, **admin)
    console.server.post("/public/v2/contacts/exports", {}, **admin, **{"X-Client-Id": "ours"})
    page = console.open("/imports")
    page.get_by_label("API key").fill(made["key"])
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Export of contacts").click()
    page.get_by_role("button", name="Fetch the file").wait_for()
    console.go(page, "/imports")

    assert page.locator("input[type=file]").count() == 0
    console.go(page, "/suppressions")
    assert page.get_by_role("button", name="Block addresses").count() == 0
    page.get_by_role("button", name="Check addresses").wait_for()

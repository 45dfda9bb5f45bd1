"""Companies, changes of all that match, and explanations, in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, axe_faults, escape, look_faults, press, wait_until_read
from tests.console.test_browser import HOSTILE

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"


@pytest.fixture
def firms(start: Callable[..., Console]) -> Console:
    """A client with three companies, two of one name, and a person at the first and the last."""
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    for name, domain, status, industry in (
        ("Alder Freight", "alder.example", "target", "Logistics"),
        ("Alder Freight", "alder-freight.example", "", "Freight"),
        ("Cobalt Dental", "cobalt.example", "customer", "Healthcare"),
    ):
        custom = [{"field_name": "Industry", "field_value": industry}]
        body = {"name": name, "domain": domain, "company_status": status, "company_custom_fields": custom}
        console.send("POST", "/public/v2/companies", body)
    console.send("POST", "/public/v2/contacts", {"email": "ada@alder.example", "first_name": "Ada", "company_id": 1})
    console.send("POST", "/public/v2/contacts", {"email": "zed@cobalt.example", "first_name": "Zed", "company_id": 3})
    return console


def company(console: Console, number: int) -> Any:
    return console.send("GET", f"/public/v2/companies/{number}")


def test_companies__are_searched_filtered_and_changed_in_bulk_with_undo(firms: Console) -> None:
    page = firms.open(OF)
    press(page, "g f")
    page.wait_for_url("**/console/*/companies**")
    page.get_by_label("Search companies").fill("alder")
    page.wait_for_url("**q=alder**")
    page.locator(".total", has_text="2 companies").wait_for()
    page.get_by_label("Columns").click()
    page.get_by_role("button", name="Industry").click()
    escape(page)
    page.get_by_text("Logistics").wait_for()

    page.get_by_label("Select all loaded rows").check()
    page.get_by_role("button", name="Set status").click()
    page.locator(":popover-open").get_by_role("button", name="customer").click()
    page.get_by_text("2 companies set to “Customer”.").wait_for()
    assert [company(firms, number)["company_status"] for number in (1, 2)] == ["customer", "customer"]
    page.get_by_role("button", name="Set status").click()
    page.locator(":popover-open").get_by_role("button", name="contacted").click()
    page.get_by_text("2 companies set to “Contacted”.").wait_for()
    page.get_by_role("button", name="Undo").last.click()
    page.get_by_text("Undone.", exact=True).wait_for()
    assert [company(firms, number)["company_status"] for number in (1, 2)] == ["customer", "customer"]
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.", exact=True).nth(1).wait_for()
    assert [company(firms, number).get("company_status") for number in (1, 2)] == ["target", None]

    page.get_by_role("button", name="Block").click()
    page.get_by_role("button", name="they are a competitor").click()
    page.get_by_text("2 domains must not be contacted from now on.").wait_for()
    listed = firms.send("GET", "/public/v2/suppressions")["data"]
    assert {(each["kind"], each["value"], each["reason"]) for each in listed} == {
        ("domain", "alder.example", "competitor"), ("domain", "alder-freight.example", "competitor")
    }  # fmt: skip
    page.get_by_label("The API call for this view").click()
    expect(page.get_by_label("Command")).to_contain_text(f"{firms.origin}/public/v2/companies")


@on_sqlite
def test_view__is_exported_by_a_job_with_its_columns_and_without_those_on_a_list(firms: Console) -> None:
    firms.send("POST", "/public/v2/suppressions", {"entries": [{"kind": "domain", "value": "alder.example", "reason": "competitor"}]})
    page = firms.open(f"/companies{OF}&q=alder&cols=name,domain,company_status,status_changed_at,updated_time,cf.Industry")
    page.get_by_label("Export this view").click()
    dialog = page.get_by_role("dialog")
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Export").click()
    lines = saved.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert lines[0] == "id,updated_time,domain,status_changed_at,name,company_status,cf.Industry"
    assert len(lines) == 3
    assert saved.value.suggested_filename == "companies-export-1-result.csv"
    dialog.get_by_text("2 records written. The file is saved", exact=False).wait_for()
    assert axe_faults(page) == []
    dialog.get_by_role("button", name="Close", exact=True).last.click()

    page.get_by_label("Search companies").fill("")
    page.locator(".total", has_text="3 companies").wait_for()
    page.get_by_label("Export this view").click()
    dialog.get_by_label("Format").select_option("ndjson")
    dialog.get_by_label("Columns", exact=True).select_option("all")
    dialog.get_by_label("Leave out those", exact=False).check()
    assert axe_faults(page) == []
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Export").click()
    domains = [json.loads(line)["domain"] for line in saved.value.path().read_text().splitlines()]
    assert domains == ["alder-freight.example", "cobalt.example"]
    dialog.get_by_role("link", name="Job 2").click()
    page.wait_for_url("**/imports/2**")
    page.get_by_role("button", name="Fetch the file").wait_for()


def test_company__has_its_people_is_edited_and_merged_with_undo(firms: Console) -> None:
    page = firms.open(f"/contacts/1{OF}")
    page.locator(".facts").get_by_role("link", name="Alder Freight").click()
    page.wait_for_url("**/companies/1**")
    page.locator("h1", has_text="Alder Freight").wait_for()
    page.get_by_label("Change Name").click()
    page.get_by_label("Name", exact=True).fill("Alder")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="Alder").wait_for()
    page.get_by_text("Name changed.").wait_for()
    press(page, "u")
    page.locator("h1", has_text="Alder Freight").wait_for()

    page.get_by_label("Block").click()
    page.get_by_role("button", name="they are a customer").click()
    page.get_by_text("1 domain must not be contacted from now on.").wait_for()
    expect(page.locator(".stop")).to_contain_text("customer")
    press(page, "u")
    page.locator(".stop").wait_for(state="detached")

    page.get_by_role("button", name="Merge…").click()
    dialog = page.get_by_role("dialog")
    row = dialog.get_by_role("row", name="Industry").get_by_role("cell")
    expect(row.nth(0)).to_have_text("Logistics")
    expect(row.nth(1)).to_have_text("Freight")
    dialog.get_by_role("button", name="Merge").click()
    page.get_by_text("is part of this company now").wait_for()
    press(page, "u")
    page.wait_for_url("**/companies/2**")

    press(page, "Control+k")
    page.keyboard.type("alder.ex")
    page.get_by_role("option", name="Alder Freight alder.example").click()
    page.wait_for_url("**/companies/1**")
    expect(page.locator(".people li .strong")).to_have_text(["Ada"])
    page.locator(".people").get_by_role("link", name="Ada").click()
    page.locator("h1", has_text="Ada").wait_for()


def test_all_that_match__get_a_status_after_they_were_counted_and_undo_gives_each_its_own(firms: Console) -> None:
    people = [{"email": f"p{n:03}@many.example", "origin": "list", "contact_status": ("new", "won")[n % 2]} for n in range(700)]
    commands = [{"op": "create", "body": each} for each in people]
    firms.send("POST", "/public/v2/contacts/batch", {"commands": commands})
    page = firms.open(f"/contacts{OF}&origin=list&sort=id")
    page.locator(".grid-rows input[type=checkbox]").nth(0).check()
    page.get_by_role("button", name="Select all that match").click()
    page.get_by_role("button", name="Set status").click()
    page.locator(":popover-open").get_by_role("button", name="bounced").click()
    page.get_by_text("This reaches 700 contacts").wait_for()
    assert axe_faults(page) == []
    asked = []
    page.on("request", lambda each: asked.append((each.method, each.url.partition("?")[2])))
    page.get_by_role("button", name="Change 700").click()
    page.get_by_text("700 contacts set to “Bounced”.").wait_for()
    ada = firms.send("GET", "/public/v2/contacts/1")
    found = firms.send("POST", "/public/v2/contacts/search", {"where": {"contact_status": "bounced"}, "limit": 200})["data"]
    assert (ada.get("contact_status"), len(found)) == (None, 200)
    assert [query for method, query in asked if method in ("PATCH", "POST")] == ["origin=list"]  # one request, which the server carries out

    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.", exact=True).wait_for()
    found = firms.send("POST", "/public/v2/contacts/search", {"where": {"origin": "list"}, "sort": "id", "limit": 200})["data"]
    assert [each["contact_status"] for each in found[:4]] == ["new", "won", "new", "won"]


def test_value__is_explained_with_what_came_without_effect_and_leads_to_the_call(firms: Console) -> None:
    person = {"campaign_id": "c9", "campaign_name": "Live", "workspace": "w", "lead_email": "ada@alder.example"}
    for event, at in (("reply_received", "2026-11-20T10:00:00Z"), ("email_sent", "2026-11-21T10:00:00Z")):
        firms.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", {"event_type": event, "timestamp": at, "reply_text": "Yes."} | person)
    wait_until_read(firms.origin)
    page = firms.open(f"/contacts/1{OF}")
    page.get_by_role("button", name="of Status").click()

    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".why").first).to_contain_text("Replied")
    expect(dialog.locator(".why li").first).to_contain_text("a sent mail sets a status only on")
    assert axe_faults(page) == []
    dialog.locator(".why li a").first.click()
    page.wait_for_url("**/webhooks/2**")
    page.locator(".said", has_text="Email sent").wait_for()


def test_hostile_company__is_shown_as_text_and_breaks_nothing(firms: Console, subtests: pytest.Subtests) -> None:
    for number, text in enumerate(HOSTILE):
        custom = [{"field_name": text[:190], "field_value": text}, {"field_name": "Long", "field_value": "<b>x</b>" * 1250}]
        body = {"domain": f"h{number}.example", "name": text[:200], "company_status": text[:60], "company_custom_fields": custom}
        firms.send("POST", "/public/v2/companies", body)
    paths = ["/companies", *(f"/companies/{number}" for number in range(1, 4 + len(HOSTILE))), "/companies/999999"]
    page = firms.open(OF)
    for path in paths:
        with subtests.test(path=path):
            firms.go(page, f"{path}{OF}")
            assert look_faults(page) == []
            assert page.evaluate("window.pwned") is None
            assert page.locator("#app script, #app img, #app b b, a[href^='javascript']").count() == 0

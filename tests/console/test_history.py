"""The history and reverts in the console, in a real Chromium: imports, merges and what many selected conversations got."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, axe_faults, escape, look_faults, press, settle, wait_until_read

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"


def import_file(console: Console, body: bytes) -> None:
    address = f"{console.origin}/public/v2/contacts/imports?start=true"
    with urllib.request.urlopen(urllib.request.Request(address, body, {"x-client-id": CLIENT})) as response:
        assert response.status == 201


def listed(console: Console, q: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = console.send("GET", f"/public/v2/contacts?structure=FLAT&limit=200&q={q}")["data"]
    return found


@on_sqlite
def test_an_import__is_undone_but_for_the_contacts_that_somebody_edited(console: Console) -> None:
    import_file(console, b"email,last_name\n" + b"".join(b"p%d@revert.example,Reverted\n" % n for n in range(300)))
    page = console.open(f"/imports/1{OF}")
    page.get_by_text("It is done.").wait_for()
    for contact in listed(console, "reverted")[:3]:
        console.send("PATCH", f"/public/v2/contacts/{contact['id']}", {"first_name": "Edited"})
    page.get_by_role("button", name="Undo import").wait_for()
    press(page, "g h")
    page.wait_for_url("**/history")
    line = page.get_by_role("list", name="Changes").get_by_role("listitem").first
    expect(line).to_contain_text("Import of contacts 300 created")
    assert look_faults(page) == []
    line.get_by_role("button", name="What changed").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("list", name="Fields that changed")).to_have_text("Contact created: 300")
    expect(dialog.get_by_role("list", name="Records of the change").get_by_role("listitem")).to_have_count(50)
    assert axe_faults(page) == []
    dialog.get_by_role("button", name="Show more records").click()
    expect(dialog.get_by_role("list", name="Records of the change").get_by_role("listitem")).to_have_count(100)
    escape(page)
    page.locator("dialog").wait_for(state="detached")

    line.get_by_role("button", name="Revert Import of contacts").click()
    expect(dialog.locator("ul").first).to_have_text("297 go to the bin3 stay")
    expect(dialog.get_by_role("list", name="Records that stay").get_by_role("listitem")).to_have_count(3)
    assert axe_faults(page) == []
    dialog.get_by_role("button", name="Revert", exact=True).click()
    dialog.get_by_text("Reverted.").wait_for()
    expect(dialog.locator("ul").first).to_have_text("297 are in the bin3 stay")
    assert look_faults(page) == []
    dialog.get_by_role("button", name="Close").last.click()
    page.locator("dialog").wait_for(state="detached")

    expect(page.get_by_role("listitem", name="").filter(has_text="Partly reverted")).to_contain_text("297 to the bin, 3 stay")
    assert len(listed(console, "reverted")) == 3


@on_sqlite
def test_a_block__is_in_the_history_with_what_it_changed_and_is_reverted(console: Console) -> None:
    contact = console.send("POST", "/public/v2/contacts", {"email": "one@block.example", "contact_status": "warm"})["id"]
    console.send("POST", f"/public/v2/contacts/{contact}/block", {})
    page = console.open(f"/history{OF}")
    line = page.get_by_role("list", name="Changes").get_by_role("listitem").first
    expect(line).to_contain_text("Block 1 record")
    line.get_by_role("button", name="What changed").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("list", name="Fields that changed")).to_contain_text("Status: Warm → Do not contact, 1 contact")
    dialog.get_by_role("button", name="Close").last.click()
    page.locator("dialog").wait_for(state="detached")
    line.get_by_role("button", name="Revert Block").click()
    expect(page.get_by_role("dialog").locator("ul").first).to_have_text("1 get their former values1 leave the do-not-contact list")
    page.get_by_role("dialog").get_by_role("button", name="Revert", exact=True).click()
    page.get_by_text("Reverted.", exact=True).wait_for()
    assert console.send("GET", f"/public/v2/contacts/{contact}")["contact_status"] == "warm"
    assert "one@block.example" not in [entry["value"] for entry in console.send("GET", "/public/v2/suppressions?limit=100")["data"]]


def test_a_merge__is_divided_by_a_key_after_a_reload(console: Console) -> None:
    first = console.send("POST", "/public/v2/contacts", {"email": "one@merge.example", "last_name": "One"})["id"]
    second = console.send("POST", "/public/v2/contacts", {"email": "two@merge.example", "last_name": "Two"})["id"]
    page = console.open(f"/contacts/{first}{OF}")
    console.send("POST", f"/public/v2/contacts/{first}/merge", {"with": [second]})
    reply = {
        "event_type": "reply_received", "lead_email": "two@merge.example", "reply_text": "Yes", "timestamp": "2026-11-29T08:00:00Z",
    }  # fmt: skip
    console.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", reply)
    wait_until_read(console.origin)
    page.reload()
    settle(page)

    press(page, "u")
    dialog = page.get_by_role("dialog", name="Revert: Merge")
    expect(dialog.locator("ul")).to_have_text("1 are divided")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    dialog.get_by_text("Reverted.").wait_for()
    escape(page)

    names = {number: console.send("GET", f"/public/v2/contacts/{number}?structure=FLAT")["last_name"] for number in (first, second)}
    assert names == {first: "One", second: "Two"}
    replied = {number: console.send("GET", f"/public/v2/contacts/{number}")["last_reply_received"] for number in (first, second)}
    assert replied[first] is None
    assert replied[second] is not None


@on_sqlite
def test_selected_conversations__are_reverted_after_a_reload_but_for_one_that_a_colleague_changed(start: Callable[..., Console]) -> None:
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    for number in range(50):
        contact = console.send("POST", "/public/v2/contacts", {"email": f"p{number}@people.example"})["id"]
        reply = {"direction": "received", "contact_id": contact, "text": "Yes", "occurred_at": f"2026-11-29T08:00:{number:02}Z"}
        console.send("POST", "/public/v2/messages", reply)
    page = console.open(f"/replies{OF}")
    press(page, "j", "Control+a")
    page.get_by_text("50 selected").wait_for()
    page.locator(".selection").get_by_role("button", name="Label").click()
    page.locator(".selection").get_by_role("button", name="Later").click()
    page.get_by_text("50 labelled “Later”.").wait_for()
    console.send("PATCH", f"/team/v1/conversations/{CLIENT}/7", {"label": "meeting"})
    page.reload()
    settle(page)

    press(page, "u")
    dialog = page.get_by_role("dialog", name="Revert: Change of many")
    expect(dialog.locator("ul").first).to_have_text("49 get their former values1 stay")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    dialog.get_by_text("Reverted.").wait_for()

    rows = console.send("GET", "/team/v1/conversations?limit=100")["data"]
    assert {row["contact"]["id"]: row["label"] for row in rows if row["label"]} == {7: "meeting"}
    assert len(rows) == 50


@on_sqlite
def test_an_edit__is_reverted_by_a_key_after_a_reload(console: Console) -> None:
    contact = console.send("POST", "/public/v2/contacts", {"email": "one@edit.example", "contact_status": "new"})["id"]
    page = console.open(f"/contacts/{contact}{OF}")
    press(page, "s")
    page.locator(":popover-open .entry", has_text="Replied").click()
    page.locator(".toast").get_by_role("button", name="Undo").wait_for()
    page.reload()
    settle(page)

    press(page, "u")
    dialog = page.get_by_role("dialog", name="Revert: Edit")
    expect(dialog.locator("ul")).to_have_text("1 get their former values")
    dialog.get_by_role("button", name="Revert", exact=True).click()
    dialog.get_by_text("Reverted.").wait_for()

    assert console.send("GET", f"/public/v2/contacts/{contact}")["contact_status"] == "new"

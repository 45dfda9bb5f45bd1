"""Navigation on a narrow page, and an installation with hundreds of clients, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, NARROW, TOO_WIDE, WIDE, Console, axe_faults, press

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"


@on_sqlite
def test_narrow_page__has_four_sections_in_sight_and_the_others_under_more(console: Console) -> None:
    page = console.open(f"/contacts/3{OF}", size=NARROW)
    shown = page.get_by_role("navigation", name="Screens").locator("> a")
    expect(shown).to_have_text(["Overview", "Replies", "Contacts", "Webhooks"])
    assert page.evaluate("document.querySelector('.side nav').scrollWidth <= document.querySelector('.side nav').clientWidth")
    page.get_by_role("button", name="More").click()
    page.locator(":popover-open").wait_for()
    assert axe_faults(page) == []
    entries = page.locator(":popover-open .entry")
    assert entries.all_inner_texts() == [
        "Tasks",
        "Companies",
        "Reports",
        "Imports",
        "Do not contact",
        "History",
        "Bin",
        "Clients",
        "Endpoints",
        "Settings",
        "Help for this screen",
    ]
    expect(entries.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(entries.nth(1)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/reports**")
    expect(page.locator(":popover-open")).to_have_count(0)
    expect(page.locator(".more.here")).to_have_count(1)
    assert page.evaluate(TOO_WIDE) == []

    console.go(page, f"/contacts/3{OF}")
    page.get_by_role("button", name="Other acts").click()
    page.get_by_role("link", name="erase this person", exact=False).click()
    page.wait_for_url("**/erasure?person=3**")
    page.get_by_role("button", name="Erase").first.wait_for()


@on_sqlite
def test_hundreds_of_clients__are_found_by_a_part_of_their_name(start: Callable[..., Console]) -> None:
    console = start()
    handles = []
    for number in range(230):
        client = console.send("POST", "/admin/v1/clients", {"client_id": f"client-{number:03}", "name": f"Agency {number:03}"})
        handles.append(client["handle"])
    page = console.open("/contacts?client=client-229", size=WIDE)
    page.get_by_role("button", name="Client: Agency 229").click()
    page.get_by_text("180 more: type a part of the name.").wait_for()
    assert axe_faults(page) == []
    page.get_by_label("name or id").fill("ncy 217")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/console/{handles[217]}/contacts")
    press(page, "Control+k")
    page.keyboard.type("agency 221")
    page.get_by_role("option", name="Agency 221").click()
    page.wait_for_url(f"**/console/{handles[221]}/contacts")
    press(page, "g k")
    page.get_by_role("button", name="New key").click()
    page.get_by_role("dialog").get_by_label("Client", exact=True).select_option("client-228")

"""The grid in a real Chromium: the scrollbar of a long list, cells that are edited and pasted, and a field of many records at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, axe_faults, escape, look_faults, press, settle
from tests.console.seed import sender

pytestmark = pytest.mark.slow
OF = f"?client={CLIENT}"
CONTACTS = "/public/v2/contacts"
TITLE = {"field_name": "Title", "field_value": "CEO"}
PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', text);
  document.querySelector('#grid').dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
}"""


@pytest.fixture
def many(start: Callable[..., Console]) -> Console:
    """A client with 1,200 contacts, of whom the first has a field of each of 230 names."""
    console = start()
    send = sender(console.origin, CLIENT)
    names = [{"field_name": f"Field {n:03}", "field_value": "x"} for n in range(230)]
    bodies = [{"email": f"p{n:04}@many.example", "first_name": f"P{n:04}", "contact_custom_fields": [TITLE]} for n in range(1200)]
    bodies[0]["contact_custom_fields"] = [TITLE, *names]
    for part in (bodies[:600], bodies[600:]):
        send("POST", f"{CONTACTS}/batch", {"commands": [{"op": "create", "body": body} for body in part]})
    return console


def cell(page: Any, row: int, column: int) -> Any:
    return page.locator(f"#cell-{row}-{column}")


def titles(console: Console) -> list[str]:
    """The titles of the first three contacts."""
    return [console.send("GET", f"{CONTACTS}/{number}?structure=FLAT")["contact_custom_fields"]["Title"] for number in (1, 2, 3)]


def test_grid__jumps_edits_cells_and_fills_a_range_from_the_clipboard(many: Console) -> None:
    page = many.open(f"/contacts{OF}&sort=email&cols=name,email,cf.Title")
    page.locator(".total", has_text="1,200 contacts").wait_for()
    page.locator("#grid").focus()
    press(page, "End")
    expect(cell(page, 1199, 1)).to_have_text("p1199@many.example")
    assert page.evaluate("document.querySelectorAll('.grid-rows .row').length") < 60
    page.evaluate("(grid) => grid.scrollTo(0, 600 * 40)", page.locator("#grid").element_handle())
    expect(cell(page, 605, 1)).to_have_text("p0605@many.example")
    press(page, "Home")
    expect(cell(page, 0, 1)).to_have_text("p0000@many.example")

    press(page, "ArrowRight", "ArrowRight", "Enter")
    page.get_by_role("textbox", name="Title").fill("Chief")
    press(page, "Enter")
    expect(cell(page, 0, 2)).to_have_text("Chief")
    press(page, "ArrowLeft", "Enter")
    page.get_by_role("textbox", name="Email").fill("first@many.example")
    press(page, "Tab")
    expect(page.get_by_role("textbox", name="Title")).to_be_focused()
    press(page, "Escape", "Shift+ArrowDown", "Shift+ArrowDown")
    assert many.send("GET", f"{CONTACTS}/1")["email"] == "first@many.example"

    page.evaluate(PASTE, "CTO\tx\nCFO\ny\n")
    page.get_by_role("dialog").wait_for()
    settle(page)
    page.get_by_role("dialog").get_by_text("3 cells of 3 contacts will change.", exact=False).wait_for()
    assert axe_faults(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Change 3 cells").click()
    page.get_by_text("3 contacts changed.").wait_for()
    assert titles(many) == ["CTO", "CFO", "y"]
    press(page, "u")
    expect(cell(page, 2, 2)).to_have_text("CEO")
    assert titles(many) == ["Chief", "CEO", "CEO"]

    press(page, "ArrowLeft", "Shift+ArrowUp")
    page.evaluate(PASTE, "nonsense\nsecond@many.example")
    page.get_by_role("dialog").get_by_text("Email is not an e-mail address", exact=False).wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").wait_for(state="detached")
    cell(page, 0, 2).click(modifiers=["Alt"])
    page.locator(".total", has_text="1 contact").wait_for()


def test_bulk_edit__sets_any_field_of_all_that_match_and_finds_each_name(many: Console) -> None:
    page = many.open(f"/contacts{OF}&sort=email&first_name[starts_with]=P000")
    page.locator(".total", has_text="10 contacts").wait_for()
    page.get_by_label("Columns").click()
    page.get_by_label("Find a field").fill("field 229")
    page.get_by_role("button", name="Field 229").click()
    escape(page)
    expect(page.get_by_role("columnheader", name="Field 229")).to_be_visible()

    page.get_by_label("Select all loaded rows").check()
    page.get_by_role("button", name="Edit field").click()
    page.locator(":popover-open").get_by_label("Find a field").fill("field 229")
    page.locator(":popover-open").get_by_role("button", name="Field 229").click()
    page.get_by_role("textbox", name="Field 229").fill("new")
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_text("10 contacts set to “new”.").wait_for()
    assert many.send("GET", f"{CONTACTS}/10?structure=FLAT")["contact_custom_fields"] == {"Title": "CEO", "Field 229": "new"}
    press(page, "u")
    page.locator(".grid-rows").get_by_text("new", exact=True).first.wait_for(state="detached")
    assert many.send("GET", f"{CONTACTS}/10?structure=FLAT")["contact_custom_fields"] == {"Title": "CEO"}

    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete 10").click()
    page.get_by_text("10 contacts moved into the bin.").wait_for()
    page.get_by_text("No contact matches").wait_for()
    assert look_faults(page) == []

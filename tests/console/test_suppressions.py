"""The do-not-contact lists of the console, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, axe_faults, escape, look_faults

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"
HOSTILE_NOTE = "<script>window.pwned = 1</script>\u202e" + "W" * 900


@pytest.fixture
def console(start: Callable[..., Console]) -> Console:
    """A server with one client."""
    made = start()
    made.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    return made


def values(console: Console, path: str = "/public/v2/suppressions") -> list[Any]:
    return [each["value"] for each in console.send("GET", path)["data"]]


def test_pasted_lines__are_put_on_the_list_wrong_ones_are_named_and_an_entry_is_removed(console: Console) -> None:
    page = console.open(f"/suppressions{OF}")
    page.get_by_role("button", name="Block addresses").click()
    page.get_by_label("Addresses, one a line").fill("Jane Doe <jane.doe@example.com>, example.org\nno address\nlinkedin.com/in/john-doe")
    page.get_by_role("dialog").get_by_label("Reason").select_option("Competitor")
    page.get_by_label("Note, for people").fill("by phone")
    page.get_by_role("button", name="Block 4").click()
    page.get_by_text("1 line was not taken").wait_for()
    expect(page.get_by_label("Addresses, one a line")).to_have_value("no address")
    assert axe_faults(page) == []
    escape(page)
    page.get_by_text("3 addresses on the list.").wait_for()
    assert values(console) == ["jane.doe@example.com", "example.org", "linkedin.com/in/john-doe"]
    assert {(each["reason"], each["source"], each["note"]) for each in console.send("GET", "/public/v2/suppressions")["data"]} == {
        ("competitor", "person", "by phone")
    }

    page.get_by_label("Remove example.org").click()
    expect(page.get_by_role("dialog")).to_contain_text("It may be contacted again")
    page.get_by_role("button", name="Remove from the list").click()
    page.get_by_text("example.org is not on the list any more.").wait_for()
    assert len(values(console)) == 2
    page.get_by_role("button", name="Undo").last.click()
    page.get_by_text("Undone.", exact=True).wait_for()
    assert "example.org" in values(console)


def test_list__is_filtered_and_paged_and_the_address_has_the_filter(console: Console) -> None:
    entries = [{"value": f"p{n:03}@list.example", "reason": ("legal", "requested")[n % 2]} for n in range(250)]
    console.send("POST", "/public/v2/suppressions", {"entries": entries})
    page = console.open(f"/suppressions{OF}")
    lines = page.locator(".listed li")
    expect(lines).to_have_count(100)
    page.get_by_role("button", name="Show more").click()
    lines.nth(199).wait_for()
    page.get_by_label("All reasons").select_option("Legal")
    page.wait_for_url("**reason=legal**")
    page.get_by_role("button", name="Show more").click()
    expect(lines).to_have_count(125)

    page.get_by_label("Address", exact=True).fill("P001@list.example")
    page.keyboard.press("Enter")
    page.get_by_text("No entry like this").wait_for()
    page.get_by_role("link", name="Show all entries").click()
    page.get_by_label("Address", exact=True).fill("P001@list.example")
    page.keyboard.press("Enter")
    expect(lines).to_have_count(1)
    expect(lines).to_contain_text("p001@list.example")


def test_addresses__are_checked_before_a_mail_with_both_lists(console: Console) -> None:
    console.send("POST", "/public/v2/suppressions", {"value": "example.org", "reason": "customer"})
    page = console.open(f"/suppressions{OF}")
    page.get_by_role("button", name="All clients").click()
    page.wait_for_url("**list=all**")
    page.get_by_text("The list of all clients is empty").wait_for()
    page.get_by_role("button", name="Block addresses").click()
    page.get_by_label("Addresses, one a line").fill("rival.example")
    page.get_by_role("button", name="Block", exact=True).click()
    page.locator(".listed", has_text="rival.example").wait_for()
    assert values(console, "/admin/v1/suppressions") == ["rival.example"]

    page.get_by_role("button", name="This client").click()
    page.locator(".listed", has_text="example.org").wait_for()
    page.get_by_role("button", name="Check addresses").click()
    page.get_by_label("Addresses, one a line").fill("a@example.org\nb@rival.example\nsub.rival.example\nc@free.example\nx y")
    page.get_by_role("button", name="Check 5").click()
    page.get_by_text("1 address may be contacted, 4 not.").wait_for()
    rows = page.get_by_role("dialog").locator("tbody tr").all_inner_texts()
    assert ["Customer" in rows[0], "for all clients" in rows[1], "They asked for it" in rows[2], "x y" in rows[3]] == [True] * 4
    assert axe_faults(page) == []
    with page.expect_download() as saved:
        page.get_by_role("button", name="Fetch the 1 that may be contacted").click()
    assert saved.value.path().read_text(encoding="utf-8").splitlines() == ["address", "c@free.example"]


@on_sqlite
def test_suppression_screens__are_sound_and_hostile_notes_are_text(console: Console, subtests: pytest.Subtests) -> None:
    ends = {"since": "2026-01-01T00:00:00Z", "until": "2027-01-01T00:00:00Z"}
    console.send("POST", "/public/v2/suppressions", {"value": f"{'w' * 60}@{'w' * 60}.example", "note": HOSTILE_NOTE, **ends})
    page = console.open(OF)
    for path in (f"/suppressions{OF}{more}" for more in ("", "&list=all", "&reason=legal", "&source=event")):
        with subtests.test(path=path):
            console.go(page, path)
            assert look_faults(page) == []
            assert page.evaluate("window.pwned") is None
    console.go(page, f"/suppressions{OF}")
    page.get_by_role("button", name="Block addresses").click()
    page.get_by_role("dialog").wait_for()
    assert axe_faults(page) == []
    escape(page)
    page.get_by_label("Remove", exact=False).first.click()
    page.get_by_role("dialog").wait_for()
    assert axe_faults(page) == []

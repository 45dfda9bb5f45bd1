"""What is the team's: statuses with keys, snippets, and what a person is told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, NARROW, Console, axe_faults, first_key, look_faults, press
from tests.console.test_people import PASSWORD, invite

pytestmark = pytest.mark.slow


def test_statuses_of_the_team__have_keys_that_end_the_conversation(start: Callable[..., Console]) -> None:
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {"contact_statuses": {"statuses": ["replied", "meeting_booked"]}}})
    console.send("POST", "/admin/v1/clients", {"client_id": "other", "name": "Other"})
    console.send("POST", "/public/v2/contacts", {"email": "ada@people.example", "first_name": "Ada"})
    console.send("POST", "/public/v2/messages", {"direction": "received", "contact_email": "ada@people.example", "text": "Tuesday?"})
    page = console.open(f"/settings?client={CLIENT}&tab=statuses")
    form = page.get_by_role("form", name="Statuses of all clients")
    form.get_by_role("button", name="Add to the list").click()
    form.get_by_label("Name of status 1").fill("meeting_booked")
    form.get_by_label("Label of meeting_booked").fill("Meeting")
    form.get_by_label("Key of meeting_booked").select_option("4")
    form.get_by_label("Done with it").check()
    assert axe_faults(page) == []
    form.get_by_role("button", name="Apply to all clients").click()
    page.get_by_text("The statuses are saved.").wait_for()
    form.locator(".status", has_text="Meeting").wait_for()

    console.go(page, f"/replies?client={CLIENT}")
    page.locator(".reply", has_text="Ada").locator("button").click()
    page.get_by_role("group", name="Status of Ada").get_by_role("button", name="Meeting").wait_for()
    press(page, "4")
    page.get_by_text("status set to “Meeting”, done.").wait_for()

    expect(page.locator(".reply", has_text="Ada")).to_have_count(0)
    contact = console.send("GET", "/public/v2/contacts/1?structure=FLAT")
    assert contact["contact_status"] == "meeting_booked"


def test_snippet__is_added_edited_and_removed(start: Callable[..., Console]) -> None:
    console = start()
    for client_id in (CLIENT, "other"):
        console.send("PUT", f"/admin/v1/clients/{client_id}", {"settings": {}})
    page = console.open("/settings", size=NARROW, dark=True)
    section = page.get_by_role("region", name="Snippets")
    section.get_by_role("button", name="Add a snippet").click()
    page.get_by_label("Name", exact=True).fill("price")
    page.get_by_label("Text", exact=True).fill("Dear {{first_name}}")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    section.get_by_text("/price").wait_for()
    page.get_by_role("dialog").wait_for(state="detached")
    assert axe_faults(page) + look_faults(page) == []

    section.get_by_role("button", name="Remove price").click()
    page.get_by_text("/price is removed.").wait_for()

    expect(section.get_by_role("button", name="Edit price")).to_have_count(0)


def test_profile__says_what_a_person_is_told_of(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    page: Any = console.open(invite(console, admin, "mira@example.com", name="Mira", role="operator"))
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Enter")
    page.get_by_label("Sign out (Mira)").wait_for()
    console.go(page, "/profile")
    page.get_by_label("A conversation is assigned to me: Email").check()
    page.get_by_label("Quiet from").fill("18:30")
    page.get_by_label("until").fill("08:00")
    assert axe_faults(page) + look_faults(page) == []
    page.get_by_role("button", name="Save notifications").click()
    page.get_by_text("Your notifications are saved.").wait_for()

    console.go(page, "/profile")
    expect(page.get_by_label("A conversation is assigned to me: Email")).to_be_checked()
    expect(page.get_by_label("A conversation is assigned to me: Browser")).not_to_be_checked()
    expect(page.get_by_label("Quiet from")).to_have_value("18:30")

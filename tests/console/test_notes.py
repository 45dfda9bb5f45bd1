"""Notes in Replies and on records: written by keys, named people, seen by colleagues at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, look_faults, press, settle
from tests.console.test_live import Team, team
from tests.console.test_people import PASSWORD

__all__ = ["team"]
pytestmark = pytest.mark.slow


def write(page: Any, text: str) -> None:
    """Write a note by keys alone."""
    press(page, "n")
    page.get_by_label("The note, as plain text").wait_for()
    page.keyboard.type(text)
    press(page, "Control+Enter")
    page.locator(".note-form").wait_for(state="detached")


def test_note__names_a_colleague_who_sees_it_and_may_not_change_it(team: Team) -> None:
    mira, ben = team.join("Mira"), team.join("Ben")
    for page in (mira, ben):
        press(page, "j")
        page.locator(".pane .letter").wait_for()

    press(mira, "n")
    mira.get_by_label("The note, as plain text").wait_for()
    mira.keyboard.type("Ask @b")
    mira.get_by_role("group", name="People").get_by_role("button", name="@Ben").wait_for()
    press(mira, "Tab")
    mira.keyboard.type("about the security sheet")
    assert look_faults(mira) == []
    press(mira, "Control+Enter")
    mira.locator(".pane .noted b", has_text="@Ben").wait_for()

    note = ben.get_by_role("article", name="Note by Mira")
    note.get_by_text("about the security sheet").wait_for()
    expect(note.get_by_role("button", name="Edit")).to_have_count(0)
    assert look_faults(ben) == []

    mira.get_by_role("article", name="Note by Mira").get_by_role("button", name="Edit").click()
    mira.get_by_label("The note, as plain text").fill("It is sent")
    press(mira, "Control+Enter")
    note.get_by_text("It is sent").wait_for()
    press(mira, "o")
    mira.locator(".story .noted", has_text="It is sent").wait_for()


def test_note__that_is_typed_while_the_session_ends_is_saved_after_signing_in_over_it(team: Team) -> None:
    mira = team.join("Mira")
    press(mira, "j")
    mira.locator(".pane .letter").wait_for()
    press(mira, "n")
    mira.get_by_label("The note, as plain text").wait_for()
    mira.keyboard.type("Ask in ")
    [user] = json.loads(team.console.server.get("/team/v1/users", **team.admin)[1])["data"]
    team.console.server.get(f"/team/v1/sessions?user_id={user['id']}", "DELETE", **team.admin)
    dialog = mira.get_by_role("dialog")
    dialog.get_by_label("Password").fill(PASSWORD)
    press(mira, "Enter")
    dialog.wait_for(state="detached")

    field = mira.get_by_label("The note, as plain text")
    expect(field).to_have_value("Ask in ")
    field.focus()
    press(mira, "End")
    mira.keyboard.type("May")
    press(mira, "Control+Enter")
    mira.get_by_role("article", name="Note by Mira").get_by_text("Ask in May").wait_for()


def test_note__of_a_company_is_in_the_timeline_until_it_is_deleted(start: Callable[..., Console]) -> None:
    console = start()
    company = console.send("POST", "/public/v2/companies", {"name": "Acme", "domain": "acme.example"})["id"]
    page = console.open(f"/companies/{company}?client={CLIENT}")

    write(page, "Call in May")
    note = page.locator(".story .noted")
    note.get_by_text("Call in May").wait_for()
    assert look_faults(page) == []
    note.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete note").click()
    note.wait_for(state="detached")


def test_note__that_is_not_saved_stays_for_its_writer(start: Callable[..., Console]) -> None:
    console = start()
    contact = console.send("POST", "/public/v2/contacts", {"email": "ann@people.example"})["id"]
    page = console.open(f"/contacts/{contact}?client={CLIENT}")
    press(page, "n")
    page.get_by_label("The note, as plain text").wait_for()
    page.keyboard.type("Half a")
    press(page, "Escape")
    page.locator(".note-form").wait_for(state="detached")
    page.reload()
    settle(page)

    write(page, " note")

    page.locator(".story .noted", has_text="Half a note").wait_for()

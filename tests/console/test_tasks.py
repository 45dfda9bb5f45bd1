"""Tasks and owners: written by keys, done by colleagues, and hidden people where there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, NARROW, Console, look_faults, press, resize, settle
from tests.console.test_live import Team, team

__all__ = ["team"]
pytestmark = pytest.mark.slow


def write(page: Any, text: str) -> None:
    """Write a task by keys alone, due tomorrow."""
    press(page, "t")
    page.get_by_label("What is to be done").wait_for()
    page.keyboard.type(text)
    press(page, "Control+Enter")
    page.locator(".note-form").wait_for(state="detached")


def test_task__is_written_in_replies_and_done_by_a_colleague(team: Team) -> None:
    mira, ben = team.join("Mira"), team.join("Ben")
    press(mira, "j")
    mira.locator(".pane .letter").wait_for()
    press(mira, "t")
    mira.get_by_label("What is to be done").wait_for()
    mira.keyboard.type("Send the sheet")
    mira.locator(".due").first.click()
    mira.get_by_role("textbox", name="Due at").fill("in 3 h")
    press(mira, "Enter")
    assert look_faults(mira) == []
    mira.locator(".assignee").first.click()
    mira.get_by_role("button", name="Ben", exact=True).click()
    mira.get_by_role("button", name="Save task").click()
    mira.locator(".note-form").wait_for(state="detached")

    press(ben, "g", "t")
    task = ben.locator(".task")
    expect(task).to_contain_text("Send the sheet")
    expect(task).to_contain_text("me")
    assert look_faults(ben) == []
    press(ben, "j")
    ben.locator(".task.chosen").wait_for()
    press(ben, "e")
    task.wait_for(state="detached")
    ben.get_by_role("heading", name="No open task").wait_for()

    ben.get_by_role("button", name="Done", exact=True).click()
    expect(ben.locator(".task")).to_contain_text("Send the sheet")
    press(ben, "j")
    press(ben, "o")
    ben.locator(".story", has_text="Send the sheet").wait_for()


def test_owner__is_chosen_on_the_page_and_filters_the_list(team: Team) -> None:
    team.join("Ben")
    mira = team.join("Mira", path="/contacts?client=ours")
    mira.get_by_role("link", name="Ada", exact=True).click()
    mira.locator(".record-head .owner").wait_for()
    press(mira, "a")
    mira.get_by_role("button", name="Mira", exact=True).click()
    expect(mira.locator(".record-head .owner").first).to_contain_text("Mira")
    assert look_faults(mira) == []

    team.console.go(mira, "/contacts?client=ours&owner_id[eq]=me")
    mira.get_by_role("link", name="Ada", exact=True).wait_for()
    expect(mira.get_by_role("link", name="Bo", exact=True)).to_have_count(0)


def test_tasks_without_users__show_no_people(start: Callable[..., Console]) -> None:
    console = start()
    contact = console.send("POST", "/public/v2/contacts", {"email": "ann@people.example", "first_name": "Ann"})["id"]
    page = console.open(f"/contacts/{contact}?client={CLIENT}")
    press(page, "t")
    page.get_by_label("What is to be done").wait_for()
    expect(page.locator(".assignee, .owner")).to_have_count(0)
    press(page, "Escape")
    page.locator(".note-form").wait_for(state="detached")

    write(page, "Call her")

    page.locator(".task", has_text="Call her").wait_for()
    assert look_faults(page) == []
    page.get_by_role("button", name="Change: Call her").click()
    page.get_by_label("What is to be done").fill("Call her today")
    press(page, "Control+Enter")
    page.locator(".task", has_text="Call her today").wait_for()
    press(page, "g", "t")
    page.get_by_role("heading", name="Later").wait_for()
    resize(page, NARROW)
    settle(page)
    assert look_faults(page) == []
    page.get_by_role("button", name="Delete: Call her today").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete task").click()
    page.get_by_role("heading", name="No open task").wait_for()

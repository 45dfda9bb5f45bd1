"""Views that are saved and shared, and the board, in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, axe_faults, escape, look_faults, press, settle
from tests.console.test_companies import OF, firms

__all__ = ["firms"]
pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
VIEWS = f"/team/v1/views/{CLIENT}"
STATUSES = [
    {"name": "new", "group": "new", "key": 1},
    {"name": "replied", "key": 2, "expected_days": 5},
    {"name": "won", "group": "won", "key": 3},
]


def views(console: Console) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = console.send("GET", VIEWS)["data"]
    return found


def column(page: Any, status: str) -> Any:
    return page.locator(f".board-column[data-status='{status}']")


def test_shared_view__is_a_colleagues_with_its_widths_and_shows_what_was_changed(firms: Console) -> None:
    page = firms.open(f"/companies{OF}&company_status[in]=customer,target&cols=name,cf.Industry")
    page.get_by_role("separator", name="Width of Name").focus()
    press(page, "ArrowRight", "ArrowRight")
    page.get_by_label("Columns").click()
    page.locator(":popover-open").get_by_role("button", name="Name", exact=True).click()
    escape(page)
    page.get_by_label("Views").click()
    page.get_by_role("button", name="Save view…").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Our customers")
    page.get_by_label("Share it with the team").check()
    assert axe_faults(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    page.get_by_text("The view “Our customers” is saved.", exact=False).wait_for()

    other = firms.open(f"/companies{OF}")
    other.get_by_role("navigation").get_by_role("link", name="Our customers").click()
    other.locator(".total", has_text="2 companies").wait_for()
    expect(other.get_by_role("separator", name="Width of Name")).to_have_attribute("aria-valuenow", "232")
    expect(other.locator(".grid-head .cell.pinned")).to_have_text("Name")
    other.get_by_role("button", name="Remove the filter Status").click()
    other.locator(".total", has_text="3 companies").wait_for()
    bar = other.get_by_role("group", name="Changes of Our customers")
    bar.get_by_role("button", name="Reset").click()
    other.locator(".total", has_text="2 companies").wait_for()
    bar.wait_for(state="detached")
    assert look_faults(other) == []
    other.get_by_role("button", name="Remove the filter Status").click()
    bar.get_by_role("button", name="Save", exact=True).click()
    other.get_by_text("The view “Our customers” is saved.").wait_for()
    (view,) = views(firms)
    assert (view["where"], view["columns"][0]) == ({}, {"field": "name", "width": 232, "pinned": True})


@on_sqlite
def test_view__is_renamed_removed_and_what_a_list_begins_with(firms: Console) -> None:
    firms.send("POST", VIEWS, {"name": "Targets", "kind": "company", "where": {"company_status": "target"}})
    firms.send("POST", VIEWS, {"name": "By request", "kind": "company", "where": {"any": [{"name": "x"}]}})
    page = firms.open(f"/companies{OF}")
    page.get_by_role("navigation").get_by_role("link", name="Targets").click()
    page.locator(".total", has_text="1 company").wait_for()
    page.get_by_label("Views").click()
    expect(page.get_by_role("button", name="By request")).to_be_disabled()
    page.get_by_role("button", name="Begin with “Targets”").click()
    press(page, "g c", "g f")
    page.locator(".total", has_text="1 company").wait_for()

    page.get_by_label("Views").click()
    page.get_by_role("button", name="Rename, share or remove views…").click()
    page.get_by_label("Name of Targets").fill("Aims")
    press(page, "Enter")
    page.get_by_text("is called “Aims” now").wait_for()
    page.get_by_label("Views").click()
    page.get_by_role("button", name="Rename, share or remove views…").click()
    page.get_by_label("Remove Aims").click()
    page.get_by_text("The view “Aims” is removed.").wait_for()
    page.get_by_role("navigation").get_by_role("link", name="Aims").wait_for(state="detached")
    settle(page)
    assert [view["name"] for view in views(firms)] == ["By request"]


@on_sqlite
def test_views_of_the_browser__are_offered_once_to_be_saved(firms: Console) -> None:
    page = firms.open(f"/companies{OF}")
    kept = "{'x': 1, 'northlight/companies': [{name: 'Old', query: [['company_status[in]', 'target,lost'], ['cols', 'name,domain']]}]}"
    page.evaluate(f"localStorage.setItem('touchbase-views', JSON.stringify({kept}))")
    firms.go(page, f"/companies{OF}")
    bar = page.get_by_role("group", name="Views of this browser")
    bar.get_by_role("button", name="Save to my views").click()
    page.get_by_text("They are among your views now.").wait_for()
    bar.wait_for(state="detached")

    (view,) = views(firms)

    assert (view["name"], view["visibility"]) == ("Old", "private")
    assert view["where"] == {"all": [{"company_status[in]": ["target", "lost"]}]}
    assert [shown["field"] for shown in view["columns"]] == ["name", "domain"]
    page.get_by_role("navigation").get_by_role("link", name="Old").wait_for()


def test_board__moves_a_card_by_a_digit_and_back(firms: Console) -> None:
    firms.send("PUT", "/team/v1/statuses", {"data": STATUSES})
    for number in (1, 2):
        firms.send("PATCH", f"/public/v2/contacts/{number}", {"contact_status": "new"})
    page = firms.open(f"/contacts{OF}&layout=board")
    expect(column(page, "new").locator(".board-card")).to_have_count(2)
    assert [part.get_attribute("data-status") for part in page.locator(".board-column").all()] == ["new", "replied", "won"]
    column(page, "new").get_by_role("link", name="Ada").focus()

    press(page, "2")

    column(page, "replied").get_by_role("link", name="Ada").wait_for()
    page.get_by_text("Ada is “Replied” now.").wait_for()
    expect(column(page, "new").locator(".board-card")).to_have_count(1)
    assert look_faults(page) == []
    press(page, "u")
    page.get_by_text("Undone.").wait_for()
    expect(column(page, "new").locator(".board-card")).to_have_count(2)
    column(page, "new").get_by_role("link", name="Ada").drag_to(column(page, "won"))
    column(page, "won").get_by_role("link", name="Ada").wait_for()
    page.get_by_text("Ada is “Won” now.").wait_for()
    assert firms.send("GET", "/public/v2/contacts/1")["contact_status"] == "won"


@on_sqlite
def test_board__marks_cards_that_stay_too_long_and_keeps_to_the_filters(firms: Console) -> None:
    firms.send("PUT", "/team/v1/statuses", {"data": STATUSES})
    firms.send("PATCH", "/public/v2/contacts/1", {"contact_status": "replied"})
    firms.send("PATCH", "/public/v2/contacts/2", {"contact_status": "replied"})
    page = firms.open()
    page.clock.install()
    page.clock.set_fixed_time("2099-01-01T00:00:00Z")
    firms.go(page, f"/contacts{OF}&layout=board&first_name=Ada")

    card = column(page, "replied").locator(".board-card")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("of 5: late")
    expect(column(page, "new").locator(".board-card")).to_have_count(0)
    page.get_by_label("Show as a table").click()
    page.locator(".total", has_text="1 contact").wait_for()


@on_sqlite
def test_funnel__stands_on_the_overview_and_its_statuses_lead_to_their_contacts(firms: Console) -> None:
    firms.send("PUT", "/team/v1/statuses", {"data": STATUSES})
    for number in (1, 2):
        firms.send("PATCH", f"/public/v2/contacts/{number}", {"contact_status": "new"})
    firms.send("PATCH", "/public/v2/contacts/1", {"contact_status": "won"})
    page = firms.open(OF)
    funnel = page.get_by_role("region", name="Funnel, by status")
    expect(funnel.locator("tbody tr").nth(0).locator("td")).to_have_text(["2 (0)", "1 (0)", "50.0 % (\u2013)", "0 (\u2013)"])

    assert look_faults(page) == []
    funnel.get_by_role("link", name="New").click()
    page.locator(".total", has_text="1 contact").wait_for()

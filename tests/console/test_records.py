"""The page of one record in a real Chromium: walked, made, deleted, and where its values come from."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, escape, press, settle

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"


def heading(page: Any) -> Any:
    return page.locator(".record-head h1")


def test_record__is_walked_in_the_order_of_the_list_that_it_was_opened_from(console: Console) -> None:
    page = console.open(f"/contacts{OF}&contact_status[in]=replied&sort=email")
    names = page.locator(".grid-rows .strong").all_inner_texts()
    press(page, "j", "j", "Enter")
    expect(heading(page)).to_have_text(names[1])
    expect(page.locator(".walk")).to_contain_text(f"2 of {len(names)}")

    press(page, "j")
    expect(heading(page)).to_have_text(names[2])
    page.reload()
    expect(page.locator(".walk")).to_contain_text(f"3 of {len(names)}")
    press(page, "k", "k")
    expect(heading(page)).to_have_text(names[0])
    press(page, "k")
    expect(heading(page)).to_have_text(names[0])

    page.go_back()
    expect(page.locator(".grid-rows .strong")).to_have_text(names)
    console.go(page, f"/contacts/3{OF}")
    expect(page.locator(".walk")).to_have_count(0)


@on_sqlite
def test_replies__are_open_in_the_timeline_and_sent_emails_folded(console: Console) -> None:
    contact = console.send("POST", "/public/v2/contacts", {"email": "talks@talks.example"})["id"]
    for direction in ("sent", "received"):
        console.send("POST", "/public/v2/messages", {"direction": direction, "contact_id": contact, "text": f"It was {direction}."})
    page = console.open(f"/contacts/{contact}{OF}")

    expect(page.locator(".story .letter")).to_have_text("It was received.")
    page.get_by_text("The message", exact=True).click()
    expect(page.locator(".story .letter")).to_have_count(2)


@on_sqlite
def test_source_of_a_value__is_shown_while_it_is_pointed_at_and_pinned_by_a_key(console: Console) -> None:
    page = console.open(f"/contacts/3{OF}")
    sources = page.locator(".field:has(dt:text-is('First name')) .origin")
    expect(sources).to_have_css("opacity", "0")
    page.locator(".fields dt", has_text="First name").hover()
    expect(sources).to_have_css("opacity", "1")

    page.locator("h1").hover()
    press(page, "y")
    expect(sources).to_have_css("opacity", "1")
    page.reload()
    expect(sources).to_have_css("opacity", "1")
    press(page, "y")
    expect(sources).to_have_css("opacity", "0")


def test_new_contact__is_made_by_a_key_and_the_one_that_exists_is_named(console: Console) -> None:
    page = console.open(f"/contacts{OF}")
    press(page, "c")
    page.get_by_role("dialog").get_by_label("First name").fill("Ada")
    page.get_by_role("dialog").get_by_label("Email").fill("ada@new.example")
    page.keyboard.press("Enter")
    expect(heading(page)).to_have_text("Ada")
    page.locator("dialog").wait_for(state="detached")

    press(page, "c")
    page.get_by_role("dialog").get_by_label("Email").fill("ADA@new.example")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Show that contact").wait_for()
    escape(page)
    assert [each["first_name"] for each in console.send("GET", "/public/v2/contacts?email=ada@new.example")["data"]] == ["Ada"]


@on_sqlite
def test_company__is_made_and_deleted_and_comes_back(console: Console) -> None:
    page = console.open(f"/companies{OF}")
    page.get_by_role("button", name="New company").click()
    page.get_by_role("dialog").get_by_label("Domain").fill("made.example")
    page.keyboard.press("Enter")
    expect(heading(page)).to_have_text("made.example")
    number = page.url.rpartition("/")[2]

    page.get_by_role("button", name="Other acts").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("made.example is deleted.").wait_for()
    page.wait_for_url("**/companies")
    settle(page)
    expect(page.locator(".grid-rows .strong", has_text="made.example")).to_have_count(0)

    press(page, "u")
    page.get_by_text("Undone.", exact=True).wait_for()
    expect(page.locator(".grid-rows .strong", has_text="made.example")).to_have_count(1)
    assert console.send("GET", f"/public/v2/companies/{number}")["domain"] == "made.example"


@on_sqlite
def test_digit__sets_the_status_of_the_record_and_u_gives_it_back(console: Console) -> None:
    number = console.send("POST", "/public/v2/contacts", {"email": "digit@digit.example", "contact_status": "new"})["id"]
    page = console.open(f"/contacts/{number}{OF}")
    press(page, "s")
    chosen = page.locator(":popover-open .entry", has=page.locator("kbd:text-is('2')"))
    status = chosen.locator(".status").inner_text()
    escape(page)

    press(page, "2")
    page.get_by_text(f"Status set to “{status}”.").wait_for()
    assert console.send("GET", f"/public/v2/contacts/{number}")["contact_status"] != "new"

    press(page, "u")
    page.get_by_text("Undone.", exact=True).wait_for()
    assert console.send("GET", f"/public/v2/contacts/{number}")["contact_status"] == "new"


def test_bin__has_what_was_deleted_until_it_is_restored(console: Console) -> None:
    contact = console.send("POST", "/public/v2/contacts", {"email": "gone@bin.example"})["id"]
    console.send("DELETE", f"/public/v2/contacts/{contact}")
    other = console.send("POST", "/public/v2/contacts", {"email": "gone@bin.example"})["id"]
    page = console.open(f"/contacts{OF}")
    press(page, "g b")
    page.get_by_role("button", name="Restore gone@bin.example").click()
    assert page.get_by_role("link", name="Show that contact").get_attribute("href").endswith(f"/contacts/{other}")

    console.send("PATCH", f"/public/v2/contacts/{other}", {"email": "new@bin.example"})
    page.get_by_role("button", name="Restore gone@bin.example").click()
    page.get_by_text("gone@bin.example is restored.").wait_for()
    page.get_by_role("button", name="Restore gone@bin.example").wait_for(state="detached")
    assert console.send("GET", f"/public/v2/contacts/{contact}")["email"] == "gone@bin.example"

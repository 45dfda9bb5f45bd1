"""Erasure in a real Chromium: a person is found, handed out, erased after the address was typed, and listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, first_key, look_faults, settle, wait_until_read
from tests.console.test_outgoing import HOSTILE, on_sqlite

pytestmark = pytest.mark.slow
OF = f"?client={CLIENT}"


def test_person__is_found_handed_out_and_erased_by_keyboard(console: Console, tmp_path: Path) -> None:
    contact = console.send("GET", "/public/v2/contacts?limit=1")["data"][0]
    page = console.open(f"/erasure{OF}")
    page.get_by_text("No person of this client was erased yet").wait_for()
    page.get_by_role("textbox", name="The person").fill(contact["email"])
    page.keyboard.press("Enter")
    page.wait_for_url(f"**person={contact['email']}**")
    page.locator(".person h2", has_text=contact["first_name"]).wait_for()

    with page.expect_download() as saved:
        page.get_by_role("button", name="Everything as JSON").click()
    saved.value.save_as(tmp_path / "person.json")
    exported = json.loads((tmp_path / "person.json").read_text(encoding="utf-8"))
    assert (exported["contact"]["email"], len(exported["deliveries"]) > 0) == (contact["email"], True)

    page.get_by_label("To erase, type").fill(contact["email"][:-1])
    expect(page.get_by_role("button", name="Erase permanently")).to_be_disabled()
    page.keyboard.press("End")
    page.keyboard.type(contact["email"][-1])
    page.keyboard.press("Enter")
    page.get_by_text("The person is erased: 1 contact,").wait_for()
    page.locator(".past li", has_text="Webhooks searched").wait_for()

    assert console.send("GET", f"/public/v2/contacts?email={contact['email']}")["data"] == []
    page.get_by_role("textbox", name="The person").fill(contact["email"])
    page.keyboard.press("Enter")
    page.get_by_text("touchbase persons erase").wait_for()


def test_people_of_one_name__are_listed_to_choose_from(console: Console) -> None:
    for each in "ab":
        console.send("POST", "/public/v2/contacts", {"email": f"{each}@twice.example", "first_name": "Twofold", "last_name": "There"})
    page = console.open(f"/erasure{OF}&person=Twofold")
    page.get_by_role("button", name="b@twice.example").click()
    page.locator(".person", has_text="b@twice.example").wait_for()


@pytest.mark.parametrize(("button", "stays"), [("Erase", False), ("Restore", True)])
def test_request_of_a_crm__waits_to_be_decided(console: Console, button: str, stays: bool) -> None:
    email = f"{button}@asked.example".lower()
    for number, event in enumerate(({"subscriptionType": "contact.propertyChange", "propertyName": "email", "propertyValue": email},
                                    {"subscriptionType": "contact.privacyDeletion"})):  # fmt: skip
        at = {"occurredAt": 1764000000000 + number, "eventId": f"{button}{number}", "objectId": f"{button}1", "portalId": 1}
        console.send("POST", f"/public/crm-webhook/{CLIENT}", [event | at])
    wait_until_read(console.origin)
    page = console.open(f"/{OF}")
    page.get_by_text("people whom a CRM asks to erase", exact=False).wait_for()
    page.get_by_role("link", name="Decide").click()
    request = page.locator(".requests li", has_text=email)
    request.get_by_role("button", name=button).click()
    if button == "Erase":
        request.get_by_role("button", name="Erase permanently").click()
    request.wait_for(state="detached")

    assert bool(console.send("GET", f"/public/v2/contacts?email={email}")["data"]) is stays


@on_sqlite
def test_erasure__has_nothing_that_axe_finds_and_shows_texts_as_text(console: Console, subtests: pytest.Subtests) -> None:
    body = {
        "email": "h@hostile.example",
        "first_name": HOSTILE[:190],
        "last_name": "<b>x</b>",
        "linkedin_url": f"https://www.linkedin.com/in/{HOSTILE}",
    }
    hostile = console.send("POST", "/public/v2/contacts", body)["id"]
    console.send("DELETE", "/public/v2/contacts/5?erase=true")
    screens = ["", f"&person={hostile}", "&person=a", "&person=%3Cscript%3Ewindow.pwned=1%3C/script%3E", "&person=zzzz"]
    page = console.open(OF)
    for query in screens:
        with subtests.test(query=query):
            console.go(page, f"/erasure{OF}{query}")
            assert look_faults(page) == []
            assert page.evaluate("window.pwned") is None
            assert page.locator("#app img, #app b b").count() == 0


@on_sqlite
def test_key_without_admin__sees_why_outgoing_and_erasure_are_closed(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    _, made = console.server.post("/admin/v1/keys", {"name": "writer", "client_id": "ours", "scopes": ["records:write"]}, **admin)
    page = console.open("/erasure")
    page.get_by_label("API key").fill(made["key"])
    page.keyboard.press("Enter")
    page.get_by_text("Erasure needs an administrator").wait_for()
    console.go(page, "/endpoints")
    page.get_by_text("Endpoints need an administrator").wait_for()
    settle(page)
    assert page.locator("main .button").count() == 0

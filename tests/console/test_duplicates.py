"""Duplicates in the console: pairs with their scores, side by side, merged field by field with undo, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, axe_faults, look_faults, press, settle
from tests.console.seed import sender
from tests.console.test_browser import HOSTILE

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"


@pytest.fixture
def doubles(start: Callable[..., Console]) -> Console:
    """Ann twice, with other values; two firms of one name; forty pairs of one domain."""
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    seats = [[{"field_name": "Seats", "field_value": str(n)}] for n in (1, 2)]
    ann = {"email": "ann@alder.example", "first_name": "Ann", "last_name": "Lee", "contact_status": "new"}
    console.send("POST", "/public/v2/contacts", {**ann, "contact_custom_fields": seats[0]})
    other = {**ann, "email": "a.lee@alder.example", "origin": "list", "contact_status": "won"}
    console.send("POST", "/public/v2/contacts", {**other, "contact_custom_fields": seats[1]})
    for domain in ("cobalt.example", "cobalt-dental.example"):
        console.send("POST", "/public/v2/companies", {"name": "Cobalt Dental", "domain": domain})
    return console


def contact(console: Console, number: int) -> Any:
    return console.send("GET", f"/public/v2/contacts/{number}")


@on_sqlite
def test_pair__is_found_compared_merged_field_by_field_and_parted_again(doubles: Console) -> None:
    page = doubles.open(f"/contacts{OF}")
    press(page, "Control+k")
    page.keyboard.type("duplicates of con")
    page.get_by_role("option", name="Duplicates of contacts").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/duplicates**")
    page.locator(".pair-of", has_text="a.lee@alder.example").wait_for()
    page.get_by_text("1 pair: all contacts were compared.").wait_for()
    expect(page.locator(".pair-of .reasons")).to_contain_text("same name")
    press(page, "m")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("row", name="Seats").wait_for()
    assert axe_faults(page) == []

    dialog.get_by_role("row", name="Email").get_by_role("radio").nth(1).check()
    dialog.get_by_role("row", name="Status").get_by_role("radio").nth(1).check()
    dialog.get_by_role("row", name="Seats").get_by_role("radio").nth(0).check()
    dialog.get_by_label("Keep the id 2").check()
    dialog.get_by_role("row", name="Seats").wait_for()
    dialog.get_by_role("button", name="Merge").click()
    page.get_by_text("Ann Lee (1) is part of this contact now.").wait_for()
    page.get_by_text("No two contacts look like one").wait_for()
    kept = contact(doubles, 2)
    assert (kept["email"], kept["contact_status"], kept["origin"]) == ("a.lee@alder.example", "won", "list")
    assert [each["field_value"] for each in kept["contact_custom_fields"]] == ["1"]

    press(page, "u")
    page.get_by_text("Undone.", exact=True).wait_for()
    page.locator(".pair-of").wait_for()
    assert contact(doubles, 1)["email"] == "ann@alder.example"
    assert [each["field_value"] for each in contact(doubles, 2)["contact_custom_fields"]] == ["2"]


@on_sqlite
def test_pair__that_is_not_the_same_stays_away_until_it_is_taken_back(doubles: Console) -> None:
    page = doubles.open(f"/duplicates{OF}&of=companies")
    page.locator(".pair-of").wait_for()
    press(page, "n")
    page.get_by_text("No two companies look like one").wait_for()
    page.reload()
    page.get_by_text("No two companies look like one").wait_for()
    page.get_by_label("Pairs", exact=True).select_option("1")
    page.locator(".pair-of").wait_for()
    page.get_by_role("button", name="May be the same").click()
    page.get_by_text("None of these pairs was said to be two").wait_for()
    page.get_by_label("Pairs", exact=True).select_option("")
    page.locator(".pair-of").wait_for()
    page.get_by_label("Score").select_option("0.9")
    page.wait_for_url("**score=0.9**")
    page.get_by_label("Reason").select_option("similar_address")
    page.get_by_text("No two companies look like one").wait_for()


@on_sqlite
def test_duplicates__go_on_searching_are_sound_and_show_texts_as_text(doubles: Console) -> None:
    people = [{"first_name": f"P{n // 2}", "last_name": f"Q{n // 2}x", "email": f"{n}@d{n // 2}.example"} for n in range(60)]
    doubles.send("POST", "/public/v2/contacts/batch", {"commands": [{"op": "create", "body": each} for each in people]})
    page = doubles.open(f"/duplicates{OF}&score=0.9")
    page.get_by_role("button", name="Search on").click()
    page.get_by_text("31 pairs: all contacts were compared.").wait_for()
    for n, text in enumerate(HOSTILE):
        for m in (1, 2):
            body = {"first_name": text[:190], "last_name": "Hostile", "email": f"h{n}{m}@h{n}.example", "contact_status": text[:60]}
            doubles.send("POST", "/public/v2/contacts", body)
    page = doubles.open(f"/duplicates{OF}")
    page.locator(".pair-of", has_text="Hostile").first.wait_for()
    assert look_faults(page) == []
    page.locator(".pair-of", has_text="Hostile").first.get_by_role("button", name="Compare").click()
    page.get_by_role("dialog").get_by_role("row", name="Email").wait_for()
    assert look_faults(page) == []
    assert page.evaluate("window.pwned") is None
    assert page.locator("#app script, #app img").count() == 0


@on_sqlite
def test_list_of_pairs__is_one_stop_and_focus_follows_its_keys(doubles: Console) -> None:
    people = [{"first_name": f"P{n // 2}", "last_name": f"Q{n // 2}x", "email": f"{n}@d{n // 2}.example"} for n in range(6)]
    doubles.send("POST", "/public/v2/contacts/batch", {"commands": [{"op": "create", "body": each} for each in people]})
    page = doubles.open(f"/duplicates{OF}")
    rows = page.locator(".pair-of")
    expect(rows).to_have_count(4)
    stops = page.locator(".pairs-list :is(a, button):not([tabindex='-1'])")
    expect(stops).to_have_count(4)

    def expect_at(n: int, of: str = "a") -> None:
        expect(rows.nth(n)).to_have_attribute("aria-current", "true")
        expect(page.locator(".pair-of[aria-current]")).to_have_count(1)
        expect(rows.nth(n).locator(of).first).to_be_focused()
        expect(stops).to_have_count(4)

    press(page, "j")
    expect_at(1)
    press(page, "ArrowDown")
    expect_at(2)
    press(page, "k")
    expect_at(1)
    rows.nth(1).get_by_role("button", name="Compare").focus()
    press(page, "ArrowUp")
    expect_at(0, "button")
    for _ in range(5):
        press(page, "ArrowDown")
    expect_at(3, "button")

    press(page, "n")
    expect(rows).to_have_count(3)
    expect_at(2)
    assert axe_faults(page) == []


@on_sqlite
def test_story__shows_a_merge_and_undoes_it(doubles: Console) -> None:
    doubles.send("POST", "/public/v2/contacts/2/merge", {"with": [1]})
    page = doubles.open(f"/contacts/2{OF}")

    page.get_by_text("Record 1 became part of this one.").wait_for()
    assert axe_faults(page) == []
    page.get_by_role("button", name="Separate them again").click()

    page.get_by_text("The merge of record 1 into this one was undone.").wait_for()
    expect(page.get_by_role("button", name="Separate them again")).to_have_count(0)
    assert contact(doubles, 1)["email"] == "ann@alder.example"


@on_sqlite
def test_duplicates_of_all_clients__come_in_one_request(doubles: Console) -> None:
    for name in ("birch", "cedar"):
        doubles.send("POST", "/admin/v1/clients", {"client_id": name, "name": name.title()})
    for local in ("eve", "eve.f"):
        person = {"first_name": "Eve", "last_name": "Frost", "email": f"{local}@cedar.example"}
        sender(doubles.origin, "cedar")("POST", "/public/v2/contacts", person)
    page = doubles.open("/all/contacts")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(doubles.origin).partition("?")[0]))

    page.goto(f"{doubles.origin}/console/all/duplicates")

    pair = page.locator(".pair-of", has_text="Eve Frost")
    pair.get_by_text("Cedar").first.wait_for()
    settle(page)
    assert [path for path in asked if path.endswith("s/duplicates")] == ["/team/v1/contacts/duplicates"]
    assert look_faults(page) == []

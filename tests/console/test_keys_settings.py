"""The console's keys, and the settings, statuses and custom fields of a client, in a real Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, NARROW, TOO_WIDE, Console, axe_faults, dark_faults, escape, first_key, look_faults, press

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
HERE = f"/settings?client={CLIENT}"
HOSTILE = "<script>window.pwned = 1</script>\u202e<img src=x onerror='window.pwned = 1'>"


@pytest.fixture
def ours(start: Callable[..., Console]) -> Console:
    """A client with three contacts, each with a status and two custom fields."""
    console = start()
    settings = {"contact_fields": {"Seats": {"type": "number"}}, "keep_bodies_days": 7}
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": settings})
    for number, status in enumerate(("new", "new", HOSTILE[:60])):
        fields = [("Branch", "Retail"), ("Size/People", "about 50"), (HOSTILE[:90], HOSTILE)]
        custom = [{"field_name": name, "field_value": value} for name, value in fields]
        body = {"email": f"p{number}@people.example", "contact_status": status, "contact_custom_fields_input": custom}
        console.send("POST", "/public/v2/contacts", body)
    return console


def settings_of(console: Console) -> dict[str, Any]:
    return dict(console.send("GET", f"/admin/v1/clients/{CLIENT}")["settings"])


def names(console: Console, path: str) -> list[str]:
    return [each["name"] for each in console.send("GET", f"/public/v2/{path}/contacts?limit=200")["data"]]


def test_key__is_made_and_shown_once_then_rotated_and_revoked(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = first_key(console.server)
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, Authorization=f"Bearer {admin}")
    page = console.open("/keys")
    page.get_by_label("API key").fill(admin)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("Clay push")
    dialog.get_by_label("Client", exact=True).select_option("ours")
    dialog.get_by_label("Write", exact=False).uncheck()
    dialog.get_by_label("It ends", exact=True).select_option("30")
    dialog.get_by_role("button", name="Create key").click()
    text = page.locator(".once code").first.inner_text()
    assert console.server.get("/public/v2/contacts", Authorization=f"Bearer {text}")[0] == 200
    assert console.server.post("/public/v2/contacts", {"email": "a@b.example"}, Authorization=f"Bearer {text}")[0] == 403
    escape(page)
    page.locator(".lines b", has_text="Clay push").wait_for()
    assert text not in page.content()

    page.get_by_label("Rotate Clay push").click()
    dialog.get_by_role("button", name="Create successor").click()
    successor = page.locator(".once code").first.inner_text()
    assert successor != text
    assert console.server.get("/public/v2/contacts", Authorization=f"Bearer {text}")[0] == 200
    escape(page)
    page.get_by_text("has a successor").wait_for()

    page.get_by_label("Revoke Clay push").first.click()
    dialog.get_by_role("button", name="Revoke").click()
    page.get_by_text("The key is revoked.").wait_for()
    assert console.server.get("/public/v2/contacts", Authorization=f"Bearer {successor}")[0] == 401


def test_settings__are_saved_one_by_one_keep_the_others_and_are_undone(ours: Console) -> None:
    before = settings_of(ours)
    page = ours.open(HERE)
    page.get_by_label("If the record exists").select_option("update")
    page.get_by_label("After a hard bounce").uncheck()
    page.get_by_role("spinbutton", name="Webhooks", exact=True).fill("25")
    # What another person has changed in between stays.
    ours.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": before | {"keep_deleted_days": 5}})
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The settings are saved.").wait_for()
    now = settings_of(ours)
    assert (now["on_duplicate"], now["suppress_on"]["hard_bounced"], now["limits"]["webhooks"]) == ("update", False, 25)
    assert (now["keep_deleted_days"], now["keep_bodies_days"], now["contact_fields"]) == (5, 7, before["contact_fields"])

    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.", exact=True).wait_for()
    assert settings_of(ours) == before | {"keep_deleted_days": 5}
    page.get_by_label("Keep deleted records").fill("99999")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("keep_deleted_days")


def test_statuses__are_added_renamed_with_a_preview_merged_and_removed(ours: Console) -> None:
    page = ours.open(f"{HERE}&tab=statuses")
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Add a status").click()
    dialog.get_by_label("Name", exact=True).fill("Won")
    expect(dialog.get_by_role("button", name="Add")).to_be_disabled()
    dialog.get_by_role("checkbox").check()
    dialog.get_by_role("button", name="Add").click()
    page.get_by_text("“Won” is a status now.").wait_for()
    page.get_by_text("Only these statuses are allowed", exact=False).wait_for()

    page.get_by_label("Rename new", exact=True).click()
    dialog.get_by_label("New name").fill("Fresh")
    dialog.get_by_text("2 records have it now and will change.", exact=False).wait_for()
    dialog.get_by_role("button", name="Rename").click()
    page.get_by_label("Rename Fresh").wait_for()
    page.get_by_label("Merge Fresh").click()
    dialog.get_by_label("Into").select_option("Won")
    dialog.get_by_text("will change.", exact=False).wait_for()
    dialog.get_by_role("button", name="Merge").click()
    page.locator(".line-of", has_text="was ").get_by_label("Rename Won").wait_for()
    assert {"Fresh", "new"}.isdisjoint(names(ours, "statuses"))

    page.get_by_label("Remove Won").click()
    dialog.get_by_role("button", name="Remove").click()
    expect(dialog.get_by_role("alert")).to_contain_text("merge")
    escape(page)
    page.get_by_label("Remove bounced").click()
    dialog.get_by_role("button", name="Remove").click()
    page.get_by_label("Remove bounced").wait_for(state="detached")


@on_sqlite
def test_what_may_follow_a_status__is_edited_by_keyboard_and_refused_elsewhere(ours: Console) -> None:
    declared = {"statuses": ["new", "meeting", "won", HOSTILE[:60]], "transitions": {"won": []}}
    ours.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {"contact_statuses": declared, "keep_bodies_days": 7}})
    page = ours.open(f"{HERE}&tab=statuses")
    page.locator(".follows", has_text="None: it is final").get_by_role("button", name="Change what may follow won").wait_for()
    page.get_by_role("button", name="Change what may follow new").focus()
    press(page, "Enter")
    boxes = page.locator(":popover-open")
    expect(boxes.get_by_label("Any status, later ones too")).to_be_focused()
    press(page, "ArrowDown", "ArrowDown")
    expect(boxes.get_by_label("Won")).to_be_focused()
    press(page, "Space")
    expect(boxes.get_by_label("Any status, later ones too")).not_to_be_checked()
    assert axe_faults(page) == []
    escape(page)
    page.get_by_text("1 status changed").wait_for()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("What may follow is saved.").wait_for()
    stored = settings_of(ours)
    assert stored["contact_statuses"]["transitions"] == {"new": ["meeting", HOSTILE[:60]], "won": []}
    assert stored["keep_bodies_days"] == 7

    ours.go(page, f"/contacts/1?client={CLIENT}")
    page.get_by_role("button", name="Status: new").click()
    boxes.get_by_role("button", name="won").click()
    expect(page.locator(".toast.bad")).to_contain_text("a record may go to")
    ours.go(page, f"{HERE}&tab=statuses")
    page.get_by_role("button", name="Change what may follow new").click()
    boxes.get_by_label("Any status, later ones too").check()
    escape(page)
    page.get_by_role("button", name="Save").click()
    page.get_by_text("What may follow is saved.").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.", exact=True).wait_for()
    assert settings_of(ours)["contact_statuses"]["transitions"]["new"] == ["meeting", HOSTILE[:60]]
    ours.go(page, f"{HERE}&tab=statuses")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    assert not page.evaluate(TOO_WIDE)
    assert page.evaluate("window.pwned") is None


def change(page: Any, field: str, entry: str) -> Any:
    page.get_by_label(f"Change the field {field}", exact=True).click()
    page.locator(":popover-open").get_by_role("button", name=entry).click()
    return page.get_by_role("dialog")


@on_sqlite
def test_field_and_status_that_somebody_changed_meanwhile__ask_which_change_stays(ours: Console) -> None:
    page = ours.open(f"{HERE}&tab=fields")
    dialog = change(page, "Branch", "Set the type")
    dialog.get_by_label("Type", exact=True).select_option("number")
    dialog.get_by_role("checkbox").check()
    ours.send("PATCH", "/public/v2/custom-fields/contacts/Branch?misfits=keep", {"type": "boolean"})
    dialog.get_by_role("button", name="Set the type").click()
    conflict = page.get_by_role("dialog", name="Changed meanwhile")
    expect(conflict.locator("tbody tr")).to_have_text(["Typebooleannumber"])
    assert axe_faults(page) == []
    conflict.get_by_role("button", name="Use mine").click()
    page.get_by_text("“Branch” has the type number.").wait_for()
    assert ours.send("GET", "/public/v2/custom-fields/contacts/Branch")["type"] == "number"

    ours.go(page, f"{HERE}&tab=statuses")
    page.get_by_label("Rename new", exact=True).click()
    page.get_by_role("dialog").get_by_label("New name").fill("Fresh")
    ours.send("PATCH", "/public/v2/statuses/contacts/new", {"name": "Young"})
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(conflict.locator("tbody tr")).to_have_text(["NameYoungFresh"])
    conflict.get_by_role("button", name="Keep theirs").click()
    page.get_by_label("Rename Young").wait_for()
    assert "Fresh" not in names(ours, "statuses")

    page.get_by_label("Rename Young", exact=True).click()
    page.get_by_role("dialog").get_by_label("New name").fill("Fresh")
    ours.send("PATCH", "/public/v2/statuses/contacts/Young", {"name": "Early"})
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(conflict.locator("tbody tr")).to_have_text(["NameEarlyFresh"])
    conflict.get_by_role("button", name="Use mine").click()
    page.get_by_label("Rename Fresh", exact=True).wait_for()
    assert not {"Young", "Early"} & {*names(ours, "statuses")}


def test_custom_fields__are_defined_renamed_typed_merged_and_removed(ours: Console) -> None:
    page = ours.open(f"{HERE}&tab=fields")
    page.get_by_role("button", name="Define a field").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name", exact=True).fill("Tier")
    dialog.get_by_label("Type", exact=True).select_option("select")
    dialog.get_by_label("Options", exact=True).fill("gold\nsilver")
    dialog.get_by_role("button", name="Define").click()
    page.get_by_text("select of 2 options").wait_for()

    dialog = change(page, "Size/People", "Set the type")
    dialog.get_by_label("Type", exact=True).select_option("number")
    dialog.get_by_text("3 values are not of this type, such as “about 50”", exact=False).wait_for()
    dialog.get_by_role("checkbox").check()
    dialog.get_by_role("button", name="Set the type").click()
    page.locator(".line-of", has_text="Size/People").locator("text=number").wait_for()

    dialog = change(page, "Branch", "Rename")
    dialog.get_by_label("New name").fill("Industry")
    dialog.get_by_text("3 records will change.").wait_for()
    dialog.get_by_role("button", name="Rename").click()
    page.get_by_text("“Branch” becomes “Industry”: done.").wait_for()
    dialog = change(page, "Industry", "Merge")
    dialog.get_by_label("Into").select_option("Tier")
    dialog.get_by_role("button", name="Merge").click()
    expect(dialog.get_by_role("alert").first).to_contain_text(re.compile("Tier|type"))
    escape(page)

    dialog = change(page, "Industry", "Remove")
    dialog.get_by_text("The values of 3 records are removed too.", exact=False).wait_for()
    dialog.get_by_role("button", name="Remove").click()
    page.get_by_label("Change the field Industry", exact=True).wait_for(state="detached")
    assert {"Industry", "Branch"}.isdisjoint(names(ours, "custom-fields"))


def test_screens__have_nothing_that_axe_finds_and_show_hostile_names_as_text(ours: Console, subtests: pytest.Subtests) -> None:
    page = ours.open(HERE)
    for path in (HERE, f"{HERE}&tab=statuses", f"{HERE}&tab=fields", f"/keys?client={CLIENT}", "/settings?of=nothing"):
        with subtests.test(path=path):
            ours.go(page, path)
            assert look_faults(page) == []
    ours.go(page, f"{HERE}&tab=fields")
    page.get_by_role("button", name="Define a field").click()
    page.get_by_role("dialog").wait_for()
    assert axe_faults(page) + dark_faults(page) == []
    escape(page)
    expect(page.locator("#main")).to_contain_text(HOSTILE[:30])
    assert page.evaluate("window.pwned") is None
    assert page.locator("#app script, #app img").count() == 0


def test_read_only_key__sees_statuses_and_fields_without_any_way_to_change_them(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    _, made = console.server.post("/admin/v1/keys", {"name": "reader", "client_id": "ours", "scopes": ["records:read"]}, **admin)
    page = console.open("/settings")
    page.get_by_label("API key").fill(made["key"])
    page.keyboard.press("Enter")
    page.get_by_text("contacted").wait_for()
    expect(page.locator("#main").get_by_role("button")).to_have_text(["Contacts", "Companies"])
    console.go(page, "/settings?tab=fields")
    page.get_by_text("No custom field yet").wait_for()
    expect(page.locator("#main").get_by_role("button")).to_have_text(["Contacts", "Companies"])
    for path in ("/keys", "/clients", "/clients/ours"):
        console.go(page, path)
        page.get_by_text("This needs an administrator").wait_for()

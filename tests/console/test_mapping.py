"""Mapping by pointing: a body that no adapter understands is pointed at, tried, stored and replayed, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, look_faults, wait_until_read

pytestmark = pytest.mark.slow
OUTCOMES = ("talked", "voicemail", "talked")
HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


@pytest.fixture
def puzzled(start: Callable[..., Console]) -> Console:
    """A client with three calls of a campaign tool, and one of a CRM, that no adapter understands."""
    console = start()
    for number, outcome in enumerate(OUTCOMES):
        body = {"kind": "call.finished", "prospect": {"mail": f"p{number}@people.example"}, "outcome": outcome, HOSTILE: HOSTILE}
        console.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", body)
    console.send("POST", f"/public/crm-webhook/{CLIENT}", {"meta": {"what": "odd"}, "x": {"y": [{"m": "crm@people.example"}], "s": "Won"}})
    wait_until_read(console.origin)
    states = [each["state"] for each in console.send("GET", f"/admin/v1/deliveries?client={CLIENT}")["data"]]
    assert states == ["unrecognised"] * 4
    return console


def value(page: Any, text: str) -> Any:
    return page.locator(".tree button", has=page.locator(f"b:text-is('{text}')"))


def contacts(console: Console) -> dict[str, str]:
    found = console.send("GET", "/public/v2/contacts")["data"]
    return {each["email"]: each.get("contact_status", "") for each in found}


def test_body_not_understood__is_pointed_at_tried_on_the_stored_calls_stored_and_replayed(puzzled: Console) -> None:
    puzzled.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", {"another": "group", "prospect": {"mail": "q@people.example"}})
    wait_until_read(puzzled.origin)
    page = puzzled.open(f"/webhooks/1?client={CLIENT}&tab=problems")
    page.get_by_role("button", name="Map fields").click()
    page.get_by_text("Point at the value that says whom the webhook is about", exact=False).wait_for()
    expect(page.get_by_role("button", name="Save and replay")).to_be_disabled()

    value(page, "p0@people.example").click()
    page.get_by_text("0 of 3 stored webhooks like this would change a record.").wait_for()
    page.get_by_text("3 still not recognised").wait_for()
    page.get_by_text("Nothing would change. Say what it means", exact=False).wait_for()
    expect(page.get_by_role("button", name="Save and replay")).to_be_disabled()
    value(page, "call.finished").click()
    page.locator(".meaning-of select").select_option("email_opened")
    page.get_by_text("3 records would be created").wait_for()
    page.locator(".meaning-of select").select_option("other")
    page.get_by_text("3 no effect", exact=False).wait_for()
    expect(page.get_by_role("button", name="Save and replay")).to_be_enabled()
    page.locator(".meaning-of select").select_option("")
    page.locator(".slots button", has_text="Status").click()
    value(page, "talked").click()
    page.get_by_text("3 of 3 stored webhooks like this would change a record.").wait_for()
    assert contacts(puzzled) == {}
    page.get_by_role("button", name="Save and replay").click()

    page.get_by_text("4 webhooks read again", exact=False).wait_for()  # also that of the other group
    page.locator(".said", has_text="Lead status changed").wait_for()
    wait_until_read(puzzled.origin)
    assert contacts(puzzled) == {f"p{number}@people.example": outcome for number, outcome in enumerate(OUTCOMES)}
    (connection,) = puzzled.send("GET", f"/admin/v1/clients/{CLIENT}/connections")["data"]
    assert connection["settings"]["fields"] == {"email": "prospect.mail", "event": "kind", "status": "outcome"}


def test_event_name__gets_its_meaning_by_keyboard(puzzled: Console) -> None:
    page = puzzled.open(f"/webhooks/1?client={CLIENT}&tab=problems")
    page.get_by_role("button", name="Map fields").focus()
    page.keyboard.press("Enter")
    value(page, "p0@people.example").focus()
    page.keyboard.press("Enter")
    value(page, "call.finished").focus()
    page.keyboard.press("Space")
    page.locator(".meaning-of select").select_option("email_replied")
    page.get_by_text("3 of 3 stored webhooks like this would change a record.").wait_for()
    page.get_by_role("button", name="Save and replay").focus()
    page.keyboard.press("Enter")
    page.locator(".said", has_text="Email replied").wait_for()
    wait_until_read(puzzled.origin)
    assert set(contacts(puzzled).values()) == {"replied"}


def test_body_of_a_crm__is_pointed_at_within_lists_and_hostile_bodies_are_text(puzzled: Console) -> None:
    page = puzzled.open(f"/webhooks/1?client={CLIENT}")
    page.get_by_role("button", name="Map fields").click()
    page.locator(".tree").wait_for()
    expect(page.locator(".tree")).to_contain_text(HOSTILE)
    assert look_faults(page) == []
    assert page.evaluate("window.pwned") is None
    assert page.locator("#app script, #app img").count() == 0
    puzzled.send("POST", f"/public/crm-webhook/{CLIENT}", "no object")
    wait_until_read(puzzled.origin)
    puzzled.go(page, f"/webhooks/5?client={CLIENT}")
    page.get_by_text("neither a JSON object nor a form, so it cannot be mapped", exact=False).wait_for()
    puzzled.go(page, f"/webhooks/4?client={CLIENT}")
    page.get_by_role("button", name="Map fields").click()
    value(page, "crm@people.example").click()
    page.locator(".slots button", has_text="Status").click()
    value(page, "Won").click()
    page.get_by_text("1 of 1 stored webhook like this would change a record.").wait_for()
    page.get_by_role("button", name="Save and replay").click()
    page.locator(".said", has_text="Contact updated").wait_for()
    assert contacts(puzzled) == {"crm@people.example": "Won"}


def test_list_of_a_crm__is_mapped_by_entry_with_custom_fields_and_the_meaning_of_its_event(puzzled: Console) -> None:
    rows = [{"m": "ann@people.example", "tier": "Gold", "tel": "+49 30 1"}, {"m": "bob@people.example", "tier": "Tin", "tel": "+49 30 2"}]
    puzzled.send("POST", f"/public/crm-webhook/{CLIENT}", {"what": "fresh-folk", "heap": rows})
    wait_until_read(puzzled.origin)
    page = puzzled.open(f"/webhooks/5?client={CLIENT}")
    page.get_by_role("button", name="Map fields").click()
    page.get_by_label("Each entry of the list is about somebody else").check()
    value(page, "ann@people.example").click()
    page.locator(".slots button", has_text="Event").click()
    value(page, "fresh-folk").click()
    page.get_by_label("What “fresh-folk” means").select_option("contact.created")
    page.locator(".slots button", has_text="Phone").click()
    value(page, "+49 30 1").click()
    page.get_by_label("Custom field").fill("Tier")
    page.get_by_role("button", name="Add", exact=True).click()
    value(page, "Gold").click()
    page.get_by_text("1 of 1 stored webhook like this would change a record.").wait_for()
    page.get_by_text("What each webhook would do").click()
    page.locator(".dry-run li", has_text="Webhook 5").wait_for()
    expect(page.locator(".dry-run details")).to_contain_text("ann@people.example")
    assert look_faults(page) == []
    page.get_by_role("button", name="Save and replay").click()
    page.locator(".said", has_text="Contact created").first.wait_for()

    assert contacts(puzzled).keys() == {"ann@people.example", "bob@people.example"}
    [generic] = puzzled.send("GET", f"/admin/v1/clients/{CLIENT}/connections")["data"]
    assert generic["settings"]["fields"] == {
        "email": "heap[].m", "event": "what", "phone": "heap[].tel", "custom.Tier": "heap[].tier",
    }  # fmt: skip
    assert generic["settings"]["events"] == {"fresh-folk": "contact.created"}


def test_saved_mapping__is_reverted_from_the_message_and_listed_in_the_history(puzzled: Console) -> None:
    page = puzzled.open(f"/webhooks/1?client={CLIENT}&tab=problems")
    page.get_by_role("button", name="Map fields").click()
    value(page, "p0@people.example").click()
    value(page, "call.finished").click()
    page.locator(".meaning-of select").select_option("email_replied")
    page.get_by_text("3 of 3 stored webhooks like this would change a record.").wait_for()
    page.get_by_role("button", name="Save and replay").click()
    page.get_by_text("Mapping saved: 3 webhooks read again, 3 applied.").wait_for()
    assert len(contacts(puzzled)) == 3

    page.get_by_role("button", name="Revert", exact=True).click()
    page.get_by_text("3 were made by it alone, and go").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Revert", exact=True).click()
    page.get_by_text("3 were made by it alone, and are gone").wait_for(timeout=60_000)
    wait_until_read(puzzled.origin)

    assert contacts(puzzled) == {}
    assert puzzled.send("GET", f"/admin/v1/clients/{CLIENT}/connections")["data"] == []
    puzzled.go(page, f"/history?client={CLIENT}&kind=mapping")
    page.get_by_role("list", name="Changes").get_by_text("Reverted", exact=True).wait_for()


def test_ignored_event__is_a_rule_that_counts_is_renamed_and_removed_with_a_replay(puzzled: Console) -> None:
    page = puzzled.open(f"/webhooks/1?client={CLIENT}&tab=problems")
    page.get_by_role("button", name="Map fields").click()
    value(page, "p0@people.example").click()
    value(page, "call.finished").click()
    page.locator(".meaning-of select").select_option("other")
    page.get_by_label("Name of the rule that ignores them").fill("Dialler")
    page.get_by_text("3 no effect", exact=False).wait_for()
    page.get_by_role("button", name="Save and replay").click()
    page.get_by_text("Mapping saved: 3 webhooks read again", exact=False).wait_for()

    puzzled.go(page, f"/clients/{CLIENT}")
    rules = page.get_by_role("region", name="Ignored webhooks")
    expect(rules.get_by_role("listitem")).to_have_count(1)
    expect(rules).to_contain_text("Another campaign tool: event “call.finished”")
    expect(rules).to_contain_text("3 webhooks ignored")
    expect(rules).to_contain_text("You on this machine, ")
    assert look_faults(page) == []
    rules.get_by_role("button", name="Rename Dialler").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Calls")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    rules.get_by_role("button", name="Remove Calls").click()
    expect(page.get_by_role("dialog")).to_contain_text("Replay the 3 that it ignored")
    assert look_faults(page) == []
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()

    page.get_by_text("Rule removed: 3 webhooks read again", exact=False).wait_for()
    expect(rules).to_have_count(0)
    wait_until_read(puzzled.origin)
    states = [each["state"] for each in puzzled.send("GET", f"/admin/v1/deliveries?client={CLIENT}&channel=email_campaign")["data"]]
    assert states == ["applied"] * 3
    (connection,) = puzzled.send("GET", f"/admin/v1/clients/{CLIENT}/connections")["data"]
    assert connection["settings"]["events"] == {}


def test_value_without_a_path__is_named_with_its_place_and_changed_from_there(puzzled: Console) -> None:
    body = {"kind": "call.finished", "prospect": {"mail": "a@people.example"}, "outcome": "met", "createdAt": "2026-11-02T10:00:00Z",
            "endedAt": "2026-11-03T10:00:00Z"}  # fmt: skip
    puzzled.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", body)
    wait_until_read(puzzled.origin)
    page = puzzled.open(f"/webhooks/5?client={CLIENT}&tab=problems")
    page.get_by_role("button", name="Map fields").click()
    page.locator(".slots button", has_text="Event").click()
    value(page, "call.finished").click()
    page.locator(".meaning-of select").select_option("email_replied")
    inferred = page.locator(".dry-run p")
    expect(inferred.filter(has_text="Time: createdAt · change")).to_be_visible()
    expect(inferred.filter(has_text="Email address: prospect.mail · change")).to_be_visible()
    assert look_faults(page) == []

    page.get_by_role("button", name="Change Time").click()
    expect(page.locator(".slots button", has_text="Time")).to_be_focused()
    value(page, "2026-11-03T10:00:00Z").click()

    expect(inferred.filter(has_text="Email address")).to_be_visible()
    expect(inferred.filter(has_text="Time")).to_have_count(0)


def test_value_without_a_path__is_named_where_the_value_is_explained(puzzled: Console) -> None:
    settings = {"fields": {"event": "kind", "status": "outcome"}}
    connection = {"channel": "email_campaign", "tool": "generic", "settings": settings}
    puzzled.send("POST", f"/admin/v1/clients/{CLIENT}/connections", connection)
    body = {"kind": "zorp", "prospect": {"mail": "ann@people.example"}, "outcome": "talked", "createdAt": "2026-11-02T10:00:00Z"}
    puzzled.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", body)
    wait_until_read(puzzled.origin)
    page = puzzled.open(f"/contacts/1?client={CLIENT}")

    page.get_by_role("button", name="of Status").click()

    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Read without a mapping: Email from prospect.mail, Time from createdAt")
    assert look_faults(page) == []


def test_webhook_that_names_nobody__asks_whom_it_is_about(puzzled: Console) -> None:
    puzzled.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", {"kind": "zorp", "riddle": "x"})
    wait_until_read(puzzled.origin)
    page = puzzled.open(f"/webhooks/5?client={CLIENT}&tab=problems")
    page.get_by_role("button", name="Map fields").click()
    page.locator(".slots button", has_text="Event").click()
    value(page, "zorp").click()
    page.locator(".dry-run", has_text="Say what it means").wait_for()

    page.locator(".meaning-of select").select_option("email_replied")

    expect(page.locator(".dry-run")).to_contain_text("Point at the value that says whom the webhook is about")

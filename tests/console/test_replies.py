"""The console's replies, and the texts of messages in a contact's timeline, in a real Chromium."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Error, expect
from tests.console.conftest import CLIENT, NARROW, Console, axe_faults, escape, first_key, look_faults, press, settle
from tests.console.seed import sender

pytestmark = pytest.mark.slow
OF = f"?client={CLIENT}"
HOSTILE = "<script>window.pwned = 1</script>\n<img src=x onerror='window.pwned = 1'>" + "W" * 300
LONG = "\n".join(f"line {number}" for number in range(200))


def days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


@pytest.fixture
def replies(start: Callable[..., Console]) -> Console:
    """A client with three replies: of Ada in one campaign, of Bo in another, and a hostile one without a name, the newest first."""
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    for number, (name, campaign, text) in enumerate([("", "Spring", HOSTILE), ("Bo", "Spring", LONG), ("Ada", "Autumn", "Yes, call me.")]):
        person = {"email": f"p{number}@people.example", "first_name": name, "contact_status": "contacted"}
        contact = console.send("POST", "/public/v2/contacts", person)["id"]
        reply = {"direction": "received", "contact_id": contact, "subject": f"Re: {campaign}", "text": text, "tool": "smartlead"}
        more = {"campaign_id": campaign.lower(), "campaign_name": campaign, "occurred_at": days_ago(3 - number)}
        console.send("POST", "/public/v2/messages", reply | more)
    return console


def chosen(page: Any) -> Any:
    return page.locator(".reply[aria-current]")


def counted(console: Console) -> tuple[int, int, int]:
    counters = console.send("GET", "/team/v1/counters")
    return counters["open"], counters["snoozed"], counters["automatic"]


def test_replies__are_worked_through_by_keys_alone_with_undo(replies: Console) -> None:
    page = replies.open(OF)
    press(page, "g r")
    page.wait_for_url("**/console/*/replies**")
    page.get_by_text("Yes, call me.").wait_for()
    statuses = [status["name"] for status in replies.send("GET", "/public/v2/statuses/contacts?limit=200")["data"]]
    other = next(number for number, status in enumerate(statuses, 1) if status != "contacted")

    # On arrival nothing is chosen: neither a digit nor an act changes anything.
    press(page, str(other))
    press(page, "e", "j")
    page.locator(".reply[aria-current]", has_text="Ada").wait_for()
    press(page, "j")
    page.locator(".reply[aria-current]", has_text="Bo").wait_for()
    assert {replies.send("GET", f"/public/v2/contacts/{number}")["contact_status"] for number in (1, 2, 3)} == {"contacted"}

    page.locator(".pane .marks kbd").first.wait_for()
    press(page, str(other))
    page.get_by_text("Bo: status set to", exact=False).wait_for()
    assert replies.send("GET", "/public/v2/contacts/2")["contact_status"] == statuses[other - 1]
    press(page, "u")
    page.get_by_text("Undone.", exact=True).wait_for()
    assert replies.send("GET", "/public/v2/contacts/2")["contact_status"] == "contacted"

    press(page, "s")
    page.locator(":popover-open").get_by_role("button", name=statuses[other - 1].replace("_", " ").capitalize(), exact=True).click()
    page.get_by_text("Bo: status set to", exact=False).wait_for()
    assert replies.send("GET", "/public/v2/contacts/2")["contact_status"] == statuses[other - 1]
    press(page, "u")
    page.get_by_text("Undone.", exact=True).wait_for()

    press(page, "e")
    page.get_by_text("Bo: done.").wait_for()
    page.locator(".reply", has_text="Bo").wait_for(state="detached")
    expect(page.locator(".reply[aria-current]")).to_have_count(1)
    page.locator(".tabs a[aria-current]", has_text="2").wait_for()
    press(page, "u")
    page.locator(".reply", has_text="Bo").wait_for()
    assert counted(replies) == (3, 0, 0)


def test_reply_that_arrives_meanwhile__is_not_done_with_the_others(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j")
    page.locator(".pane").get_by_text("Yes, call me.").wait_for()
    replies.send("POST", "/public/v2/messages", {"direction": "received", "contact_id": 3, "text": "One more thing.", "tool": "smartlead"})

    press(page, "e")

    page.get_by_text("Another reply came in", exact=False).wait_for()
    page.locator(".pane").get_by_text("One more thing.").wait_for()
    assert replies.send("GET", "/team/v1/counters")["open"] == 3


def test_snooze_and_automatic__move_a_conversation_to_another_tab(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j")
    page.locator(".pane .snooze").wait_for()
    press(page, "h")
    page.get_by_role("button", name="3 hours").click()
    page.get_by_text("Ada: snoozed until", exact=False).wait_for()
    page.locator(".reply[aria-current]", has_text="Bo").wait_for()
    press(page, "m")
    page.get_by_text("Bo: moved to Automatic.").wait_for()

    page.get_by_role("link", name="Snoozed").click()
    page.locator(".reply", has_text="Ada").wait_for()
    page.get_by_role("link", name="Automatic").click()
    page.locator(".reply", has_text="Bo").wait_for()
    page.get_by_role("button", name="Done with it").click()
    page.get_by_text("1 done.").wait_for()
    page.get_by_role("link", name="Done", exact=True).click()
    page.locator(".reply", has_text="Bo").wait_for()
    assert counted(replies) == (1, 1, 0)


def test_selected_conversations__are_changed_at_once_and_undo_leaves_what_changed_since(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j")
    page.locator(".reply[aria-current]", has_text="Ada").wait_for()
    press(page, "J")
    page.get_by_text("2 selected").wait_for()
    press(page, "x")
    page.get_by_text("1 selected").wait_for()
    press(page, "X")
    page.get_by_role("region", name="Selected conversations").wait_for(state="detached")
    press(page, "Control+a")
    page.get_by_text("3 selected").wait_for()
    assert look_faults(page) == []
    page.locator(".selection").get_by_role("button", name="Label").click()
    page.locator(".selection").get_by_role("button", name="Later").click()
    page.get_by_text("3 labelled “Later”.").wait_for()
    labels = [row["label"] for row in replies.send("GET", "/team/v1/conversations")["data"]]
    assert labels == ["later"] * 3
    replies.send("PATCH", f"/team/v1/conversations/{CLIENT}/2", {"label": "meeting"})

    press(page, "u")
    page.get_by_text("1 stay: somebody changed them since.").wait_for()

    labels = sorted(str(row["label"]) for row in replies.send("GET", "/team/v1/conversations")["data"])
    assert labels == ["None", "None", "meeting"]
    press(page, "Control+a")
    page.get_by_text("3 selected").wait_for()

    # A digit and the block act on all that are selected, each with one undo.
    page.locator(".selection .pick-status").wait_for()
    press(page, "1")
    page.get_by_text("3 set to", exact=False).wait_for()
    statuses = [replies.send("GET", f"/public/v2/contacts/{number}")["contact_status"] for number in (1, 2, 3)]
    assert len({*statuses}) == 1
    assert statuses[0] != "contacted"
    press(page, "u")
    expect(page.locator(".reply", has_text="Contacted")).to_have_count(3)
    assert [replies.send("GET", f"/public/v2/contacts/{number}")["contact_status"] for number in (1, 2, 3)] == ["contacted"] * 3
    press(page, "Control+a")
    press(page, "b")
    page.get_by_role("dialog", name="Block 3 people").wait_for()
    assert look_faults(page) == []
    page.keyboard.press("Enter")
    page.get_by_text("3 people: blocked.").wait_for()
    assert len(replies.send("GET", "/public/v2/suppressions")["data"]) == 3
    expect(page.locator(".reply")).to_have_count(0)
    press(page, "u")
    expect(page.locator(".reply")).to_have_count(3)
    assert replies.send("GET", "/public/v2/suppressions")["data"] == []

    press(page, "Control+a")
    page.get_by_text("3 selected").wait_for()
    press(page, "e")
    page.get_by_text("3 done.").wait_for()
    assert counted(replies) == (0, 0, 0)


def test_selected_conversations_of_many_clients__get_a_status_that_all_of_them_have(start: Callable[..., Console]) -> None:
    console = start()
    for number in range(21):
        send = sender(console.origin, f"client-{number}")
        person = {"email": "one@people.example", "contact_status": "warm" if number else "tepid"}
        contact = send("POST", "/public/v2/contacts", person)["id"]
        send("POST", "/public/v2/contacts", {"email": "two@people.example", "contact_status": "ready"})
        send("POST", "/public/v2/messages", {"direction": "received", "contact_id": contact, "text": "Yes"})
    page = console.open("/all/replies")
    page.locator(".reply").first.wait_for()

    press(page, "Control+a", "s")
    choices = page.locator(":popover-open")
    choices.get_by_role("button", name="Ready").wait_for()
    assert choices.get_by_role("button", name="Warm").count() == 0
    choices.get_by_role("button", name="Ready").click()
    page.get_by_text("21 set to “Ready”.").wait_for()


def test_acts__wait_while_the_server_does_not_answer(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j")
    page.locator(".pane .letter").first.wait_for()
    page.route("**/team/v1/**", lambda route: route.abort())
    page.get_by_role("link", name="Snoozed").click()
    page.get_by_text("The server does not answer").first.wait_for()
    page.go_back()
    page.locator(".pane .letter").first.wait_for()

    expect(page.locator(".pane .acts")).to_have_attribute("inert", "")
    page.keyboard.press("e")
    page.unroute("**/team/v1/**")
    page.locator(".banner").wait_for(state="detached")
    expect(page.locator(".pane .acts")).not_to_have_attribute("inert", "")
    assert counted(replies) == (3, 0, 0)


def test_block__puts_the_contact_on_the_list_with_its_status_and_undo_takes_both_off(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j", "j")
    page.locator(".reply[aria-current]", has_text="Bo").wait_for()
    press(page, "b")
    page.get_by_role("dialog", name="Block Bo").wait_for()
    assert axe_faults(page) == []
    page.keyboard.press("Enter")
    page.get_by_text("Bo: blocked.").wait_for()
    [entry] = replies.send("GET", "/public/v2/suppressions")["data"]
    assert (entry["value"], replies.send("GET", "/public/v2/contacts/2")["contact_status"]) == ("p1@people.example", "do_not_contact")
    assert is_blocked(replies)
    page.locator(".reply", has_text="Bo").wait_for(state="detached")

    press(page, "u")
    page.get_by_text("Undone.", exact=True).wait_for()
    page.locator(".reply", has_text="Bo").wait_for()
    assert replies.send("GET", "/public/v2/suppressions")["data"] == []
    assert replies.send("GET", "/public/v2/contacts/2")["contact_status"] == "contacted"
    assert not is_blocked(replies)
    replies.send("PATCH", "/public/v2/contacts/2", {"contact_status": "do_not_contact"})
    assert is_blocked(replies)


def is_blocked(console: Console) -> bool:
    """Whether the record of Bo and the check of the address both say so."""
    [checked] = console.send("POST", "/public/v2/suppressions/check", {"items": [{"email": "p1@people.example"}]})["data"]
    of_record = console.send("GET", "/public/v2/contacts/2/suppression")["suppressed"]
    assert checked["suppressed"] == of_record
    return bool(of_record)


def test_place__is_there_again_after_back(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j", "j")
    page.locator(".reply[aria-current]", has_text="Bo").wait_for()
    page.locator(".pane h2 a").wait_for()

    press(page, "o")
    page.locator("h1", has_text="Bo").wait_for()
    page.go_back()

    page.locator(".reply[aria-current]", has_text="Bo").wait_for()


def test_all_clients__are_one_list(replies: Console) -> None:
    replies.send("POST", "/admin/v1/clients", {"client_id": "beta", "name": "Beta"})
    other = {"X-Client-Id": "beta"}
    replies.server.post("/public/v2/contacts", {"email": "zoe@people.example", "first_name": "Zoe"}, **other)
    replies.server.post(
        "/public/v2/messages", {"direction": "received", "contact_email": "zoe@people.example", "text": "Tuesday?"}, **other
    )
    page = replies.open(f"/replies{OF}")
    press(page, "g a")
    page.get_by_role("button", name="All clients", exact=True).click()
    page.wait_for_url("**/console/all/replies")
    page.locator(".reply", has_text="Zoe").wait_for()
    expect(page.locator(".reply")).to_have_count(4)
    expect(page.locator(".reply", has_text="Zoe")).to_contain_text("Beta")
    expect(page).to_have_title("(4) Replies · Touchbase")
    page.locator(".replies-filter").get_by_role("button", name="Client", exact=True).click()
    page.locator(":popover-open").get_by_role("button", name="Beta").click()
    page.wait_for_url(re.compile("/console/all/replies[?]of="))
    expect(page.locator(".reply .strong")).to_have_text(["Zoe"])
    expect(page.get_by_role("link", name="Open 1")).to_be_visible()
    page.reload()
    expect(page.locator(".reply .strong")).to_have_text(["Zoe"])
    page.get_by_role("button", name="Remove Client: Beta").click()
    expect(page.locator(".reply")).to_have_count(4)

    page.locator(".reply button", has_text="Zoe").click()
    page.locator(".pane").get_by_text("Tuesday?").wait_for()

    for number in range(3):
        address = f"b{number}@people.example"
        replies.server.post("/public/v2/contacts", {"email": address}, **other)
        replies.server.post("/public/v2/messages", {"direction": "received", "contact_email": address, "text": "Hi"}, **other)
    replies.go(page, "/all/overview")
    clients = page.get_by_role("region", name="Clients").locator("tbody th")
    expect(clients).to_have_text([CLIENT, "Beta"])
    page.get_by_role("columnheader", name="Open").get_by_role("button").click()
    expect(clients).to_have_text(["Beta", CLIENT])
    assert look_faults(page) == []

    page.go_back()
    page.locator(".reply[aria-current]", has_text="Zoe").wait_for()
    press(page, "e")
    page.get_by_text("Zoe: done.").wait_for()

    # Lists of all clients act on the client of the row.
    replies.server.post("/public/v2/suppressions", {"value": "zoe@people.example"}, **other)
    replies.go(page, "/all/suppressions")
    expect(page.locator(".listed li")).to_contain_text("Beta")
    page.get_by_role("button", name="Remove zoe@people.example").click()
    page.get_by_role("button", name="Remove from the list").click()
    page.get_by_text("zoe@people.example is not on the list any more.").wait_for()
    expect(page.locator(".listed li")).to_have_count(0)
    replies.server.get("/public/v2/contacts/4", "DELETE", **other)
    replies.go(page, "/all/bin")
    expect(page.get_by_role("list", name="Deleted contacts")).to_contain_text("Beta")
    page.get_by_role("button", name="Restore Zoe").click()
    page.get_by_text("Zoe is restored.").wait_for()
    assert replies.server.get("/public/v2/contacts/4", **other)[0] == 200


QUOTES = {
    "gmail": "Yes, call me.\n\nOn Thu, 26 Nov 2026 at 14:02, Sam Longname\n<sam@us.example> wrote:\n\n> QUOTED\n",
    "outlook": "Sounds good.\n\n________________________________\nFrom: Sam\nSent: Thursday\nTo: Ada\nSubject: Hi\n\nQUOTED",
    "german": "Gerne.\n\nAm 26.11.2026 um 14:02 schrieb Sam <sam@us.example>:\n> QUOTED",
    "inline": "See below.\n\nOn Thu, 26 Nov 2026 at 14:02, Sam wrote:\n> QUOTED when?\nTuesday.\n> Where?\nHere.",
    "own": "We met on 5 May, and Ann wrote:\nQUOTED is a word of mine",
}


def test_quoted_text__is_folded_but_not_what_answers_between_its_lines(replies: Console) -> None:
    for number, name in enumerate(QUOTES):
        mail = {"direction": "received", "contact_id": number % 2 + 2, "subject": name, "text": QUOTES[name], "tool": "smartlead"}
        replies.send("POST", "/public/v2/messages", mail)
    page = replies.open(f"/replies{OF}")
    shown: dict[str, bool] = {}
    for name in ("Ada", "Bo"):
        page.locator(".reply button", has_text=name).click()
        page.locator(".pane h2", has_text=name).wait_for()
        page.locator(".pane .letter").first.wait_for()
        settle(page)
        for message in page.locator(".pane .message").all():
            subject = message.locator("summary .strong").inner_text()
            if subject in QUOTES:
                shown[subject] = "QUOTED" in message.locator(".letter").inner_text()
    assert shown == {"gmail": False, "outlook": False, "german": False, "inline": True, "own": True}
    page.locator(".pane .fold", has_text="Show quoted text").first.click()
    page.locator(".pane .letter", has_text="QUOTED").first.wait_for()


def test_long_text__is_folded_until_it_is_asked_for(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    page.locator(".reply button", has_text="Bo").click()
    page.locator(".pane .fold").wait_for()
    expect(page.locator(".pane")).not_to_contain_text("line 150")

    press(page, "f")
    page.get_by_role("button", name="Show less").wait_for()
    expect(page.locator(".pane")).to_contain_text("line 199")


def test_pane__is_entered_and_left_by_keys_and_has_the_next_conversation_and_links_that_say_where_they_lead(replies: Console) -> None:
    text = f"Book: https://cal.example/ada.\nOr https://bank.example@evil.example/ or <https://track.example/{'x' * 60}>"
    replies.send("POST", "/public/v2/messages", {"direction": "received", "contact_id": 3, "subject": "Links", "text": text})
    page = replies.open(f"/replies{OF}")
    page.locator(".reply button", has_text="Ada").click()
    links = page.locator(".pane .letter a")
    expect(links).to_have_text(["https://cal.example/ada", "evil.example/…", "track.example/…"])
    expect(links.first).to_have_attribute("rel", "noopener noreferrer")

    press(page, "Enter")
    expect(page.get_by_role("region", name="Messages")).to_be_focused()
    escape(page)
    expect(page.locator(".reply[aria-current] > button")).to_be_focused()
    page.get_by_role("button", name="Next conversation").click()
    page.locator(".pane h2", has_text="Bo").wait_for()
    press(page, "l")
    page.locator(":popover-open").get_by_role("button", name="Referral").click()
    page.get_by_text("Bo: labelled “Referral”.").wait_for()
    page.get_by_role("button", name="Previous conversation").click()
    page.locator(".pane h2", has_text="Ada").wait_for()
    expect(page.get_by_role("button", name="Previous conversation")).to_be_disabled()


def test_replies__are_filtered_by_campaign_in_the_address_of_the_page(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_label("Campaign").select_option("Autumn")
    page.wait_for_url("**campaign_id=autumn**")
    expect(page.locator(".reply .strong")).to_have_text(["Ada"])


def test_list__has_the_width_and_the_height_of_rows_that_a_person_has_chosen(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    edge = page.get_by_role("separator", name="Width of the list")
    box = edge.bounding_box()
    page.mouse.move(box["x"] + 4, 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 74, 300)
    page.mouse.up()
    expect(edge).to_have_attribute("aria-valuenow", "450")
    edge.focus()
    for key, width in (("ArrowRight", "466"), ("End", "520"), ("Home", "320"), ("ArrowRight", "336")):
        edge.press(key)
        expect(edge).to_have_attribute("aria-valuenow", width)
    page.get_by_role("button", name="Filter", exact=True).click()
    page.get_by_label("Rows").select_option("Compact")
    escape(page)
    page.reload()
    expect(page.locator(".reply").first).to_have_css("height", "68px")
    expect(page.locator(".reply").first).to_have_css("width", "335px")
    assert look_faults(page) == []
    replies.go(page, f"/contacts{OF}")
    expect(page.locator(".grid-rows .row").first).to_have_css("height", "32px")


def test_search__looks_into_all_states_and_stands_in_the_address_until_its_chip_is_removed(replies: Console) -> None:
    replies.send("PATCH", f"/team/v1/conversations/{CLIENT}/3", {"state": "done"})
    page = replies.open(f"/replies{OF}&contact_status=contacted")
    page.locator(".reply", has_text="Bo").wait_for()
    press(page, "/")
    page.keyboard.type("CALL me")
    page.wait_for_url("**q=CALL+me**")
    expect(page.locator(".reply .strong")).to_have_text(["Ada"])
    expect(page.locator(".reply")).to_contain_text("Done")
    assert look_faults(page) == []

    page.reload()
    expect(page.get_by_label("Search replies", exact=False)).to_have_value("CALL me")
    page.get_by_role("button", name="Remove “CALL me”").click()
    page.locator(".reply", has_text="Bo").wait_for()
    expect(page.locator(".chips .chip")).to_have_text(["Status: Contacted"])
    page.go_back()
    expect(page.locator(".reply .strong")).to_have_text(["Ada"])


TIMES = {
    "thu 9": "Enter: until 3 Dec 2026, 09:00",
    "in 3 days": "Enter: until 29 Nov 2026, 10:30",
    "2026-12-01 14:00": "Enter: until 1 Dec 2026, 14:00",
    "tomorrow": "Enter: until 27 Nov 2026, 08:00",
    "9:15": "Enter: until 27 Nov 2026, 09:15",
    "2pm": "Enter: until 26 Nov 2026, 14:00",
    "3h": "Enter: until 26 Nov 2026, 13:30",
    "5 January 7:45": "Enter: until 5 Jan 2027, 07:45",
    "next week": "Enter: until 30 Nov 2026, 08:00",
    "2026-02-30": "A time ahead",
    "yesterday": "A time ahead",
    "2026-11-01": "A time ahead",
    "25:00": "A time ahead",
}
"""What is typed on Thursday, 26 November 2026, at 10:30."""


def test_snooze__is_typed(replies: Console, subtests: pytest.Subtests) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j", "h")
    field = page.get_by_role("textbox", name="Snooze until")
    expect(field).to_be_focused()
    page.clock.set_fixed_time("2026-11-26T10:30:00Z")
    for typed, said in TIMES.items():
        with subtests.test(typed=typed):
            field.fill(typed)
            expect(page.locator("#snooze-until")).to_contain_text(said)
    page.clock.set_fixed_time(datetime.now(UTC))

    field.fill("in 2 days")
    press(page, "Enter")
    page.get_by_text("Ada: snoozed until", exact=False).wait_for()
    until = datetime.fromisoformat(replies.send("GET", f"/team/v1/conversations/{CLIENT}/3")["snoozed_until"])
    assert 47 < (until - datetime.now(UTC)).total_seconds() / 3600 < 49


def test_snooze_that_ends__is_told_on_every_screen_and_the_conversation_is_open_again(replies: Console) -> None:
    until = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
    replies.send("PATCH", f"/team/v1/conversations/{CLIENT}/3", {"snoozed_until": until})
    page = replies.open(f"/contacts{OF}")

    page.get_by_text("The snooze of Ada has ended.").wait_for()
    page.get_by_role("button", name="Open replies").click()
    page.locator(".reply", has_text="Ada").wait_for()


def test_undo__does_not_overwrite_what_a_colleague_did_since(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j")
    page.locator(".pane").get_by_role("button", name="Label").click()
    page.locator(".pane").get_by_role("button", name="Later", exact=True).click()
    page.get_by_text("Ada: labelled “Later”.").wait_for()
    replies.send("PATCH", f"/team/v1/conversations/{CLIENT}/3", {"label": "meeting"})

    press(page, "u")

    page.get_by_text("Not undone", exact=False).wait_for()
    assert replies.send("GET", f"/team/v1/conversations/{CLIENT}/3")["label"] == "meeting"


def test_list_that_was_read_before_done__does_not_bring_the_conversation_back(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    press(page, "j")
    chosen(page).get_by_text("Ada").wait_for()
    before = replies.send("GET", "/team/v1/conversations?state=open&limit=50")
    held: list[Any] = []
    lists = re.compile(r"/team/v1/conversations\?.*state=open")

    def hold(route: Any) -> None:
        held.append(route)

    page.route(lists, hold, times=1)
    with page.expect_request(lists):
        page.keyboard.press(".")
    page.keyboard.press("e")
    page.get_by_text("Ada: done.").wait_for()
    for route in held:
        with contextlib.suppress(Error):  # the page has ended it
            route.fulfill(json=before)
    settle(page)

    # At once, not in the end: the next read of the list would take it out again.
    assert page.locator(".reply", has_text="Ada").count() == 0
    expect(page.locator(".reply")).to_have_count(2)


def test_phone__has_status_done_snooze_and_answer_in_a_bar(replies: Console) -> None:
    page = replies.open(f"/replies{OF}", size=NARROW)
    page.locator(".reply button", has_text="Ada").click()
    bar = page.get_by_role("group", name="Acts on the conversation with Ada")
    expect(bar.locator("> .button")).to_have_text(["Status", "Done e", "Snooze", "Answer", ""])
    assert axe_faults(page) == []
    bar.get_by_role("button", name="Status").click()
    bar.get_by_role("button", name="Replied").click()
    page.get_by_text("Ada: status set to “Replied”.").wait_for()
    bar.get_by_role("button", name="Done").click()
    page.get_by_text("Ada: done.").wait_for()


def test_older_replies__come_once_however_often_they_are_asked_for(start: Callable[..., Console]) -> None:
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    for number in range(60):
        contact = console.send("POST", "/public/v2/contacts", {"email": f"p{number}@people.example"})["id"]
        console.send("POST", "/public/v2/messages", {"direction": "received", "contact_id": contact, "text": f"text {number}"})
    page = console.open(f"/replies{OF}")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "cursor=" in request.url else None)
    page.locator(".reply").nth(5).wait_for()

    shown: dict[str, None] = {}
    while "text 0" not in shown:
        shown |= dict.fromkeys(page.locator(".reply .snippet").all_inner_texts())
        page.locator("#replies").evaluate("(list) => list.scrollBy(0, 400)")
        settle(page)
    assert [*shown] == [f"text {number}" for number in reversed(range(60))]
    assert page.locator(".reply").count() < 40
    assert len(asked) == 1


def test_hostile_text__is_shown_as_text_in_replies_and_in_the_timeline(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    page.locator(".reply button").last.click()
    page.locator(".pane .letter").wait_for()
    expect(page.locator(".pane .letter")).to_contain_text("<script>window.pwned")
    assert look_faults(page) == []
    replies.go(page, f"/contacts/1{OF}")
    page.locator(".story .letter").wait_for()
    expect(page.locator(".story .letter")).to_contain_text("<script>window.pwned")
    assert page.evaluate("window.pwned") is None
    assert page.locator("#app script, #app img").count() == 0
    assert look_faults(page) == []


def test_read_only_key__reads_replies_and_sees_no_status_keys(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    ours = {**admin, "X-Client-Id": "ours"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    _, made = console.server.post("/admin/v1/keys", {"name": "reader", "client_id": "ours", "scopes": ["records:read"]}, **admin)
    console.server.post("/public/v2/contacts", {"email": "jane@example.com", "contact_status": "new"}, **ours)
    console.server.post("/public/v2/messages", {"direction": "received", "contact_id": 1, "text": "Hello."}, **ours)
    page = console.open("/replies")
    page.get_by_label("API key").fill(made["key"])
    page.keyboard.press("Enter")
    page.get_by_text("Hello.").first.wait_for()
    press(page, "j")
    page.locator(".pane .letter").wait_for()

    assert page.locator(".marks").count() == 0
    press(page, "1", "?")
    page.get_by_role("dialog").get_by_text("Next conversation").wait_for()
    assert page.get_by_role("dialog").get_by_text("Set the status", exact=False).count() == 0

"""The console's replies, and the texts of messages in a contact's timeline, in a real Chromium."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.console.conftest import CLIENT, Console, first_key, look_faults

pytestmark = pytest.mark.slow
OF = f"?client={CLIENT}"
HOSTILE = "<script>window.pwned = 1</script>\n<img src=x onerror='window.pwned = 1'>" + "W" * 300
LONG = "\n".join(f"line {number}" for number in range(200))


@pytest.fixture
def replies(start: Callable[..., Console]) -> Console:
    """A client with three replies: of Ada in one campaign, of Bo in another, and a hostile one without a name, the newest first."""
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    for number, (name, campaign, text) in enumerate([("", "Spring", HOSTILE), ("Bo", "Spring", LONG), ("Ada", "Autumn", "Yes, call me.")]):
        person = {"email": f"p{number}@people.example", "first_name": name, "contact_status": "contacted"}
        contact = console.send("POST", "/public/v2/contacts", person)["id"]
        reply = {"direction": "received", "contact_id": contact, "subject": f"Re: {campaign}", "text": text, "tool": "smartlead"}
        more = {"campaign_id": campaign.lower(), "campaign_name": campaign, "occurred_at": f"2026-11-2{number}T09:00:00Z"}
        console.send("POST", "/public/v2/messages", reply | more)
    return console


def chosen(page: Any) -> Any:
    return page.locator(".reply[aria-current]")


def test_replies__are_read_and_get_a_status_by_keys_alone_with_undo(replies: Console) -> None:
    page = replies.open(OF)
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/console/replies**")
    page.get_by_text("Yes, call me.").wait_for()
    assert "Ada" in chosen(page).inner_text()
    statuses = [each["name"] for each in replies.send("GET", "/public/v2/statuses/contacts?limit=200")["data"]]

    page.keyboard.press("j")
    page.locator(".reply[aria-current]", has_text="Bo").wait_for()
    other = next(number for number, each in enumerate(statuses, 1) if each != "contacted")
    page.keyboard.press(str(other))
    page.get_by_text("Bo: status set to", exact=False).wait_for()
    assert replies.send("GET", "/public/v2/contacts/2")["contact_status"] == statuses[other - 1]
    chosen(page).locator(".mark", has_text=statuses[other - 1].replace("_", " ")).wait_for()

    page.keyboard.press("u")
    page.get_by_text("Undone.").wait_for()
    chosen(page).locator(".mark", has_text="contacted").wait_for()
    assert replies.send("GET", "/public/v2/contacts/2")["contact_status"] == "contacted"

    page.keyboard.press("ArrowUp")
    page.keyboard.press("o")
    page.locator("h1", has_text="Ada").wait_for()


def test_long_text__is_folded_until_it_is_asked_for(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    page.keyboard.press("j")
    assert "line 150" not in chosen(page).inner_text()

    page.keyboard.press("f")
    page.get_by_role("button", name="Show less").wait_for()
    assert "line 199" in chosen(page).inner_text()


def test_replies__are_filtered_by_campaign_and_address_in_the_address_of_the_page(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    page.get_by_label("Campaign").select_option("Autumn")
    page.wait_for_url("**campaign_id=autumn**")
    replies.settle(page)
    page.locator(".reply").nth(1).wait_for(state="detached")
    assert "Ada" in page.locator(".reply").inner_text()

    replies.go(page, f"/replies{OF}&contact_email=p1@people.example")
    assert page.locator(".reply .strong").all_inner_texts() == ["Bo"]


def test_older_replies__come_once_however_often_they_are_asked_for(start: Callable[..., Console]) -> None:
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    contact = console.send("POST", "/public/v2/contacts", {"email": "ada@people.example"})["id"]
    for number in range(60):
        at = f"2026-11-20T09:00:{number:02}Z"
        console.send(
            "POST", "/public/v2/messages", {"direction": "received", "contact_id": contact, "text": f"text {number}", "occurred_at": at}
        )
    page = console.open(f"/replies{OF}")
    asked: list[str] = []
    page.on("request", lambda each: asked.append(each.url) if "cursor=" in each.url else None)
    assert page.locator(".reply").count() == 50

    page.evaluate("for (let n = 0; n < 3; n += 1) [...document.querySelectorAll('button')].at(-1).click()")
    page.locator(".reply").nth(59).wait_for()

    texts = page.locator(".reply .letter").all_inner_texts()
    assert texts == [f"text {number}" for number in reversed(range(60))]
    assert len(asked) == 1


def test_hostile_text__is_shown_as_text_in_replies_and_in_the_timeline(replies: Console) -> None:
    page = replies.open(f"/replies{OF}")
    assert "<script>window.pwned" in page.locator(".reply").last.inner_text()
    assert look_faults(page) == []
    replies.go(page, f"/contacts/1{OF}")
    page.get_by_text("The message", exact=True).click()
    page.locator(".story .letter").wait_for()
    assert "<script>window.pwned" in page.locator(".story .letter").inner_text()
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
    page.get_by_text("Hello.").wait_for()

    assert page.locator(".marks kbd").count() == 0
    page.keyboard.press("1")
    page.keyboard.press("?")
    assert page.get_by_role("dialog").get_by_text("Next reply").is_visible()
    assert page.get_by_role("dialog").get_by_text("Set the status", exact=False).count() == 0

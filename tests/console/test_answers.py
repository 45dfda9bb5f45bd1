"""Answers from the console through a fake Smartlead, in a real Chromium: sent and shown once, taken back, and unknown."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, NARROW, Console, axe_faults, first_key, look_faults, press
from tests.console.test_people import PASSWORD, email_field, invite

from touchbase.encryption.keys import encode_key, new_key

pytestmark = pytest.mark.slow
OF = f"?client={CLIENT}"
ANSWER = "Thursday at ten suits me."


class Smartlead(http.server.ThreadingHTTPServer):
    """Speaks the published call `reply-email-thread`; while `is_silent` it takes requests and answers nothing."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []
        self.is_silent = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Smartlead

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(json.loads(body))
        if self.server.is_silent:
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("content-length", "12")
        self.end_headers()
        self.wfile.write(b'{"ok": true}')

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(autouse=True)
def encryption_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for the tool's token: a server on PostgreSQL makes none."""
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", encode_key(new_key()))


@pytest.fixture
def smartlead() -> Iterator[Smartlead]:
    server = Smartlead()
    yield server
    server.shutdown()
    server.server_close()


def connect(smartlead: Smartlead) -> dict[str, Any]:
    """The body that connects the fake tool."""
    settings = {"api_base": smartlead.base}
    return {"channel": "email_campaign", "tool": "smartlead", "access_token": "a-token-of-smartlead", "settings": settings}


@pytest.fixture
def replies(start: Callable[..., Console], smartlead: Smartlead) -> Console:
    """A client with replies of Ada and Bo through Smartlead, which is connected, and one of Cy through a tool that takes no answers."""
    console = start("--fetch-allowed-origins", smartlead.base)
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    console.send("POST", f"/admin/v1/clients/{CLIENT}/connections", connect(smartlead))
    for number, name in enumerate(("Bo", "Ada")):
        receive(console, name, f"st-{number}")
    message = {"direction": "received", "contact_id": 1, "text": "Hello", "tool": "reachinbox", "subject": "Re: Hi"}
    cy = console.send("POST", "/public/v2/contacts", {"email": "cy@people.example", "first_name": "Cy"})["id"]
    console.send("POST", "/public/v2/messages", message | {"contact_id": cy, "occurred_at": "2026-01-01T00:00:00Z"})
    return console


def receive(console: Console, name: str, stats_id: str) -> None:
    """Receive a reply as a webhook of Smartlead."""
    email = f"{name.lower()}@people.example"
    console.send("POST", "/public/v2/contacts", {"email": email, "first_name": name})
    console.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", reply_of(email, stats_id, name))
    while not any(each["contact"]["email"] == email for each in console.send("GET", "/team/v1/conversations")["data"]):
        time.sleep(0.05)  # until it is applied: the list does not move by itself


def reply_of(email: str, stats_id: str, name: str) -> dict[str, Any]:
    """A reply, as Smartlead sends it."""
    return {
        "event_type": "EMAIL_REPLY", "sl_email_lead_map_id": stats_id, "sl_lead_email": email, "to_email": email, "stats_id": stats_id,
        "from_email": "sam@agency.example", "campaign_id": 77, "subject": "Roofs", "app_url": "https://app.smartlead.ai/app/master-inbox",
        "reply_message": {"message_id": f"<{stats_id}@people.example>", "text": f"Tell me more. {name}"},
    }  # fmt: skip


def open_ada(replies: Console, **more: Any) -> Any:
    page = replies.open(f"/replies{OF}", **more)
    page.locator(".reply", has_text="Ada").locator("button").click()
    page.locator(".pane .answer-open").wait_for()
    return page


def test_answer__is_sent_and_shown_once(replies: Console, smartlead: Smartlead) -> None:
    page = open_ada(replies)
    page.context.route("https://app.smartlead.ai/**", lambda route: route.fulfill(body="The tool"))
    with page.expect_popup() as tool:
        press(page, "w")
    assert tool.value.url.startswith("https://app.smartlead.ai/")
    tool.value.close()
    page.get_by_text("Answered there?").wait_for()
    press(page, "r")
    field = page.get_by_label("Your answer, as plain text")
    field.wait_for()
    page.locator(".composer .goes", has_text="Through Smartlead from sam@agency.example to ada@people.example").wait_for()
    assert axe_faults(page) == []
    field.fill(ANSWER)
    page.keyboard.press("Control+Shift+Enter")
    page.get_by_role("group", name="Answer: Goes out").get_by_text(ANSWER).wait_for()
    page.locator(".message.sent", has_text=ANSWER).wait_for(timeout=60_000)
    page.get_by_role("group", name="Answer: Goes out").wait_for(state="detached")

    assert page.locator(".pane").get_by_text(ANSWER, exact=True).count() == 1
    [body] = smartlead.bodies
    assert (body["email_stats_id"], body["email_body"]) == ("st-1", ANSWER)


def test_answer_that_closes__takes_the_conversation_out_and_undo_brings_text_and_conversation_back(
    replies: Console, smartlead: Smartlead
) -> None:
    page = open_ada(replies)
    press(page, "r")
    page.get_by_label("Your answer, as plain text").fill(ANSWER)
    page.keyboard.press("Control+Enter")
    page.get_by_text("The answer to Ada goes out in", exact=False).wait_for()
    page.locator(".reply", has_text="Ada").wait_for(state="detached")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.", exact=True).wait_for()
    page.locator(".reply", has_text="Ada").locator("button").click()
    page.locator(".pane .answer-open").wait_for()
    press(page, "r")
    expect(page.locator(".composer textarea")).to_have_value("Thursday at ten suits me.")

    # What is not stored is never sent.
    [ada] = replies.send("GET", "/team/v1/conversations?q=ada")["data"]
    assert replies.send("GET", f"/team/v1/conversations/{CLIENT}/{ada['contact']['id']}")["answers"] == []
    assert smartlead.bodies == []


def test_answer_without_a_response__is_shown_as_unknown_and_not_repeated(replies: Console, smartlead: Smartlead) -> None:
    smartlead.is_silent = True
    page = open_ada(replies)
    press(page, "r")
    page.get_by_label("Your answer, as plain text").fill(ANSWER)
    page.keyboard.press("Control+Shift+Enter")
    answer = page.get_by_role("group", name="Answer: Perhaps sent")
    answer.wait_for(timeout=60_000)
    answer.get_by_role("link", name="Check in Smartlead").wait_for()
    assert axe_faults(page) == []
    assert len(smartlead.bodies) == 1

    smartlead.is_silent = False
    answer.get_by_role("button", name="It is not there: write it again").click()
    expect(page.locator(".composer textarea")).to_have_value("Thursday at ten suits me.")


def test_reply_of_another_tool__says_where_to_answer(replies: Console) -> None:
    page = replies.open(f"/replies{OF}&state=done")
    page.locator(".reply", has_text="Cy").locator("button").click()
    page.locator(".answering", has_text="cy@people.example · answers through the API of reachinbox are not supported").wait_for()


def test_composer__keeps_its_draft_and_fits_a_phone(replies: Console) -> None:
    page = open_ada(replies, size=NARROW, dark=True)
    page.locator(".pane .answer-open").click()
    page.get_by_label("Your answer, as plain text").fill(ANSWER)
    assert look_faults(page) == []
    page.keyboard.press("Escape")
    page.locator(".pane .answer-open").wait_for()
    page.reload()
    page.locator(".pane .answer-open").click()
    expect(page.locator(".composer textarea")).to_have_value("Thursday at ten suits me.")


def test_draft_and_snippet__are_in_any_browser_of_their_writer(start: Callable[..., Console], smartlead: Smartlead) -> None:
    console = start("--auth", "api-key", "--fetch-allowed-origins", smartlead.base)
    server, admin = console.server, {"Authorization": f"Bearer {first_key(console.server)}"}
    server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    server.post("/admin/v1/clients/ours/connections", connect(smartlead), **admin)
    ada = {"email": "ada@people.example", "first_name": "Ada"}
    server.post("/public/v2/contacts", ada, **admin, **{"X-Client-Id": "ours"})
    server.post("/public/emailcampaign-webhook/ours", reply_of("ada@people.example", "st-1", "Ada"))
    server.post("/team/v1/snippets", {"name": "when", "text": "Dear {{first_name}}, does Thursday suit you?\n{{my_name}}"}, **admin)
    page = console.open(invite(console, admin, "mira@example.com", name="Mira", role="operator"))
    page.get_by_label("Password").fill(PASSWORD)
    press(page, "Enter")
    page.get_by_label("Sign out (Mira)").wait_for()

    compose(console, page)
    page.get_by_label("Your answer, as plain text").press_sequentially("/wh")
    page.get_by_role("group", name="Snippets").get_by_role("button", name="/when").wait_for()
    press(page, "Tab")
    field = page.get_by_label("Your answer, as plain text")
    expect(field).to_have_value("Dear Ada, does Thursday suit you?\nMira")
    with page.expect_response("**/draft"):
        press(page, "Escape")
    other = console.open("/replies")
    email_field(other).fill("mira@example.com")
    other.get_by_label("Password").fill(PASSWORD)
    press(other, "Enter")
    other.get_by_label("Sign out (Mira)").wait_for()
    compose(console, other)

    expect(other.get_by_label("Your answer, as plain text")).to_have_value("Dear Ada, does Thursday suit you?\nMira")


def compose(console: Console, page: Any) -> None:
    """Open the composer of the only reply."""
    console.go(page, "/replies?client=ours")
    page.locator(".reply", has_text="Ada").locator("button").click()
    page.locator(".pane .answer-open").wait_for()
    press(page, "r")
    page.get_by_label("Your answer, as plain text").wait_for()

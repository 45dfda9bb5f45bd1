"""Outgoing in a real Chromium: endpoints added, tested, changed, stopped, replayed and removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, look_faults, press, settle

from touchbase.event_log.models import EventType
from touchbase.outgoing.blocklist_tools import BLOCKLISTS

pytestmark = pytest.mark.slow
OF = f"?client={CLIENT}"
HOSTILE = '"><img src=x onerror="window.pwned = 1">\u202eABC ' + "W" * 200
TOO_WIDE = """[...document.querySelectorAll('.shell, .content, #main')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.className)"""
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)


class Receiver(HTTPServer):
    """A receiver on this machine that answers as it is told."""

    answer = 204
    got: list[str]


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        self.server.got.append(self.rfile.read(int(self.headers["content-length"])).decode())
        self.send_response(self.server.answer)
        body = b"" if self.server.answer == 204 else b"<b>closed for today</b>"
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(("127.0.0.1", 0), _Handler)
    made.got = []
    Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def origin_of(receiver: Receiver) -> str:
    return f"http://127.0.0.1:{receiver.server_port}"


def test_endpoint__is_added_tested_changed_stopped_replayed_and_removed(
    start: Callable[..., Console], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    console = start("--webhook-allowed-origins", origin_of(receiver))
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    page = console.open(f"/endpoints{OF}")
    page.get_by_text("Nothing is sent anywhere yet").wait_for()
    press(page, "n")

    # A fault is said at its field, in the API's words.
    page.get_by_role("button", name="Add the endpoint").click()
    page.locator(".form-field .wrong").first.wait_for()
    page.get_by_label("Address").fill(f"{origin_of(receiver)}/hook")
    page.get_by_label("Description").fill("To the CRM")
    page.get_by_label("contact.created").check()
    page.get_by_role("button", name="Add the endpoint").click()
    page.get_by_text("The secret is shown only now").wait_for()
    expect(page.locator(".fresh code")).to_have_text(re.compile("^whsec_"))

    receiver.answer = 503
    press(page, "s")
    page.locator(".toast.bad", has_text="503").wait_for()
    page.locator(".attempt", has_text="endpoint.test").click()
    expect(page.locator(".attempt pre")).to_contain_text("<b>closed for today</b>")
    page.get_by_role("button", name="Show the request").click()
    expect(page.get_by_label("The request")).to_contain_text("webhook-signature: v1,")
    expect(page.get_by_label("The request")).to_contain_text('"type":"endpoint.test"')
    page.get_by_role("button", name="Copy as curl").wait_for()

    receiver.answer = 204
    console.send("POST", "/public/v2/contacts", {"email": "new@outgoing.example"})
    page.get_by_role("button", name="Send a test").click()
    page.get_by_text("The test was delivered").wait_for()
    page.get_by_label("Outcome").select_option("delivered")
    page.wait_for_url("**outcome=delivered**")
    settle(page)
    assert set(page.locator(".attempt .status").all_inner_texts()) == {"Delivered"}

    page.get_by_label("Description").fill(HOSTILE[:100])
    page.get_by_role("button", name="Save").click()
    page.locator("h1", has_text="onerror").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator("h1", has_text="To the CRM").wait_for()

    page.get_by_role("button", name="New secret").click()
    page.get_by_text("The secret before it signs too").wait_for()
    page.get_by_role("button", name="Pause").click()
    page.locator(".endpoint-facts .status", has_text="disabled").wait_for()
    page.get_by_role("button", name="Resume").click()
    page.locator(".endpoint-facts .status", has_text="active").wait_for()
    page.get_by_role("button", name="Replay").click()
    page.get_by_role("button", name="Missing in the last day").click()
    page.get_by_text(re.compile("will be sent again|nothing to send again")).wait_for()
    page.get_by_role("button", name="Remove…").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    page.get_by_text("Nothing is sent anywhere yet").wait_for()


@on_sqlite
def test_outgoing__has_nothing_that_axe_finds_and_shows_texts_as_text(console: Console, subtests: pytest.Subtests) -> None:
    webhook = {"url": "https://hooks.example.com/x", "description": HOSTILE, "types": ["contact.replied"], "disabled": True}
    slack = {"kind": "slack", "url": "https://hooks.slack.example/services/x", "template": HOSTILE, "disabled": True}
    ids = [console.send("POST", "/public/v2/webhook-endpoints", each)["id"] for each in (webhook, slack)]
    screens = [f"/endpoints{OF}", f"/endpoints{OF}&kind=slack", f"/endpoints{OF}&q=none", f"/endpoints/new{OF}"]
    screens += [f"/endpoints/{each}{OF}" for each in (*ids, 999, "x")]
    page = console.open(OF)
    for path in screens:
        with subtests.test(path=path):
            console.go(page, path)
            assert look_faults(page) == []
            assert page.evaluate("window.pwned") is None
            assert page.locator("#app img").count() == 0
    console.go(page, f"/endpoints/{ids[1]}{OF}")
    page.get_by_role("button", name="Preview").click()
    page.locator(".preview pre", has_text="onerror").wait_for()
    assert page.evaluate("window.pwned") is None


def test_what_a_tool_has_not_taken__is_listed_on_its_connection_and_tried_again(
    start: Callable[..., Console], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    receiver.answer = 400
    console = start("--fetch-allowed-origins", origin_of(receiver))
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    body = {"channel": "email_campaign", "tool": "instantly", "access_token": "zq402token", "settings": {"api_base": origin_of(receiver)}}
    console.send("POST", f"/admin/v1/clients/{CLIENT}/connections", body)
    console.send("POST", "/public/v2/webhook-endpoints", {"kind": "blocklist", "tool": "instantly"})
    console.send("POST", "/public/v2/suppressions", {"value": "ann@acme.example"})
    page = console.open(f"/clients/{CLIENT}")
    page.get_by_label("What Instantly has not taken").click()
    dialog = page.get_by_role("dialog")
    while dialog.locator(".push-line").count() == 0:  # the first attempt may still be under way
        dialog.get_by_label("Show").select_option("failed")
        dialog.get_by_label("Show").select_option("")
        settle(page)
    for text in ("ann@acme.example", "<b>closed for today</b>", "the tool answered 400"):
        expect(dialog.locator(".push-line")).to_contain_text(text)
    assert look_faults(page) == []

    receiver.answer = 204
    dialog.get_by_label("Try again: ann@acme.example").click()
    page.get_by_text("1 entry will be sent again").wait_for()
    dialog.get_by_label("Show").select_option("failed")
    dialog.get_by_text("None.").wait_for()
    assert page.evaluate("window.pwned") is None


def test_types_of_the_form__are_those_of_the_api() -> None:
    text = (Path(__file__).parents[2] / "console" / "src" / "endpoints" / "types.ts").read_text(encoding="utf-8")
    listed = re.findall(r"'(\w+\.\w+)'", text.partition("EVENT_TYPES")[2].partition("];")[0])

    assert listed == [each.value for each in EventType]
    assert re.findall(r"'(\w+)'", text.partition("BLOCKLISTS")[2].partition("];")[0]) == [*BLOCKLISTS]


@on_sqlite
def test_endpoints_of_all_clients__are_in_one_list(
    start: Callable[..., Console], receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    console = start("--webhook-allowed-origins", origin_of(receiver))
    for client in (CLIENT, "beside"):
        console.send("PUT", f"/admin/v1/clients/{client}", {"settings": {}})
    hook = {"url": f"{origin_of(receiver)}/hook"}
    console.send("POST", "/public/v2/webhook-endpoints", {**hook, "description": "Own"})
    console.send("POST", "/team/v1/webhook-endpoints", {**hook, "description": "Shared"})

    page = console.open("/all/endpoints")
    rows = page.locator(".endpoint")
    expect(rows.filter(has_text="Shared").first).to_contain_text("all clients")
    expect(rows.filter(has_text="Own")).to_contain_text(CLIENT)
    settle(page)
    assert look_faults(page) == []

    rows.filter(has_text="Own").click()
    page.get_by_role("heading", name="Own").wait_for()
    page.go_back()
    rows.filter(has_text="Shared").first.click()
    page.get_by_role("heading", name="Shared").wait_for()

    console.go(page, "/all/endpoints/new")
    page.locator("input[value=blocklist]").check()
    page.get_by_role("region", name="Choose a client").wait_for()
    assert look_faults(page) == []
    page.locator("input[value=audit]").check()
    page.get_by_label("Address").fill(hook["url"])
    assert look_faults(page) == []
    page.get_by_role("button", name="Add the endpoint").click()
    page.get_by_text("The endpoint is added.", exact=False).wait_for()
    assert "audit" in [endpoint["kind"] for endpoint in console.send("GET", "/team/v1/webhook-endpoints")["data"]]

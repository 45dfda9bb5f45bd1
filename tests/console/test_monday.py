"""Monday morning, from an empty store to a reply with a status and a call that was not understood; and hostile data on every screen."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import CLIENT, Console, look_faults, press, wait_until_read
from tests.console.test_browser import HOSTILE

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"
SHELL = Path(__file__).parents[2] / "console" / "src" / "shell.tsx"
SECTIONS = re.findall(r"\{ path: '(/[^']*)'", SHELL.read_text(encoding="utf-8"))
"""Every screen of the navigation, also those to come."""
PERSON = {
    "campaign_id": "c1",
    "campaign_name": "Autumn",
    "workspace": "w1",
    "lead_email": "ann@monday.example",
    "email_account": "sam@us.example",
}
SENT_AT = datetime.now(UTC) - timedelta(days=1)
SENT = {"event_type": "email_sent", "timestamp": SENT_AT.isoformat(), **PERSON, "email_subject": "A question"}
REPLIED = {
    "event_type": "reply_received", "timestamp": (SENT_AT + timedelta(hours=2)).isoformat(), **PERSON, "reply_subject": "Re: A question",
    "reply_text": "Yes, tell me more. Does Tuesday suit you?",
}  # fmt: skip
UNKNOWN = {"what": "answered", "by": {"who": "bob@monday.example"}, "words": "Please call me."}
BROKEN = """() => {
  const wide = [...document.querySelectorAll('.shell, .content, #main')].filter((each) => each.scrollWidth > each.clientWidth + 1);
  return [...wide.map((each) => `wide: ${each.className}`), ...(window.pwned ? ['executed'] : [])];
}"""
STRANGE = "#app script, #app img, #app iframe, #main b b, a[href^='javascript']"


def post(address: str, body: Any) -> None:
    """Send a call as a tool does."""
    request = urllib.request.Request(address, method="POST", data=json.dumps(body).encode(), headers={"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        assert response.status == 200


def test_monday_morning__from_an_empty_store_to_a_reply_with_a_status(start: Callable[..., Console]) -> None:
    console = start()
    page = console.open()
    press(page, "g r")
    page.get_by_text("No reply yet").wait_for()
    address = f"{console.origin}/public/emailcampaign-webhook/default"
    expect(page.locator(".copy-line code")).to_have_text(address)

    # A tool's calls, the reply before its mail; then a tool that no adapter knows.
    for body in (REPLIED, SENT, UNKNOWN):
        post(address, body)
    wait_until_read(console.origin)
    press(page, "g i")
    page.get_by_text("ann@monday.example").first.wait_for()
    expect(page.locator(".inbox-list a.call")).to_have_count(3)

    press(page, "g r")
    page.locator(".reply", has_text="Does Tuesday suit you?").wait_for()
    press(page, "j")
    page.locator(".pane .marks kbd").first.wait_for()
    expect(page.locator(".reply .status").first).to_have_text("Replied")
    choice = page.locator(".marks .button", has_text="contacted")
    press(page, choice.locator("kbd").inner_text())
    page.get_by_text("status set to “Contacted”").wait_for()
    press(page, "u")
    page.get_by_text("Undone.", exact=True).wait_for()
    press(page, "o")
    page.locator("h1", has_text="ann@monday.example").wait_for()
    page.locator(".story li", has_text="replied").first.wait_for()

    # Bob answered too, and it does not show: the overview says that something was not understood, and leads to it.
    press(page, "g o")
    page.get_by_role("link", name="Map fields").press("Enter")
    page.locator(".meaning.warn", has_text="No adapter recognises it").wait_for()
    expect(page.locator(".code.body")).to_contain_text("bob@monday.example")
    press(page, "r")
    page.get_by_text("The webhook is read again").wait_for()
    press(page, "Control+k")
    page.keyboard.type("ann@mon")
    page.locator("li[role=option]", has_text="ann@monday.example").first.wait_for()


def spoil(console: Console) -> int:
    """Put hostile texts wherever a request or a tool can put texts; return the id of a contact that has them."""
    long = "W" * 3_000 + "<b>x</b>" * 800 + "\U0001f469\u200d\U0001f467" * 200
    custom = [{"field_name": text[:190], "field_value": text} for text in HOSTILE] + [{"field_name": "Long", "field_value": long[:10_000]}]
    number = 0
    for place, text in enumerate(HOSTILE):
        names = dict.fromkeys(("first_name", "last_name", "origin", "external_id"), f"{text}{place}"[:200])
        body = {**names, "email": f"h{place}@hostile.example", "contact_status": text[:60], "contact_custom_fields_input": custom}
        number = console.send("POST", "/public/v2/contacts", body)["id"]
        company = {"domain": f"h{place}.example", "name": text[:200], "company_status": text[:60]}
        console.send("POST", "/public/v2/companies", company)
        call = {**REPLIED, "lead_email": f"h{place}@hostile.example", "campaign_name": text, "campaign_id": f"h{place}"}
        console.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", call | {"reply_text": text + long, "reply_subject": text * 9})
        unknown = {"event_type": text, text: text, "by": long}
        console.send("POST", f"/public/crm-webhook/{CLIENT}", unknown)
        console.send("POST", "/public/v2/suppressions", {"value": f"s{place}@hostile.example", "reason": "other", "note": text[:200]})
    endpoint = {"url": "https://hooks.hostile.example/x", "description": (HOSTILE[1] + long)[:1_000], "disabled": True}
    console.send("POST", "/public/v2/webhook-endpoints", endpoint)
    console.send("POST", "/admin/v1/keys", {"name": HOSTILE[1][:100], "client_id": CLIENT})
    console.send("PATCH", f"/admin/v1/clients/{CLIENT}", {"name": HOSTILE[0] + HOSTILE[3] + "W" * 100})
    wait_until_read(console.origin)
    return number


@on_sqlite
def test_every_section__shows_hostile_data_as_text_and_breaks_nothing(console: Console, subtests: pytest.Subtests) -> None:
    number = spoil(console)
    listed = console.send("GET", f"/admin/v1/deliveries?client={CLIENT}&limit=1")["data"][0]["id"]
    paths = [*SECTIONS, f"/contacts/{number}", f"/webhooks/{listed}", "/endpoints/1", "/endpoints/new"]
    assert len(SECTIONS) >= 6
    page = console.open(OF)
    for path in paths:
        with subtests.test(path=path):
            console.go(page, f"{path if path != '/' else ''}{OF}")
            assert look_faults(page) == []
            assert page.evaluate(BROKEN) == []
            assert page.locator(STRANGE).count() == 0
    console.go(page, f"/erasure{OF}&person={number}")
    page.locator(".person").wait_for()
    assert page.evaluate(BROKEN) == []

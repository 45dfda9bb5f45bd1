"""Place, live changes and first impressions in a real Chromium: nothing that a person has set, reached or typed is lost."""

from __future__ import annotations

import contextlib
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import (
    CLIENT,
    DRAWN,
    NARROW,
    TIMEOUT,
    Console,
    axe_faults,
    first_key,
    look_faults,
    press,
    settle,
    wait_until_read,
)
from tests.console.seed import sender

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
OF = f"?client={CLIENT}"
TOP = "document.querySelector('.grid').scrollTop"


@pytest.fixture
def many(start: Callable[..., Console], monkeypatch: pytest.MonkeyPatch) -> Console:
    """A client with 900 contacts without webhooks."""
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
    console = start()
    commands = [{"op": "create", "body": {"email": f"p{n:03}@many.example", "first_name": f"P{n:03}"}} for n in range(900)]
    sender(console.origin, CLIENT)("POST", "/public/v2/contacts/batch", {"commands": commands})
    return console


def row(page: Any, name: str) -> Any:
    return page.locator(".grid-rows a", has_text=name)


def test_back_and_reload__show_the_same_rows_scrolled_as_before(many: Console) -> None:
    page = many.open(f"/contacts{OF}&sort=email")
    while not row(page, "P700").count():
        page.evaluate("document.querySelector('.grid').scrollBy(0, 2000)")
        settle(page)
    row(page, "P700").click()
    page.locator("h1", has_text="P700").wait_for()
    page.go_back()

    expect(row(page, "P700")).to_be_focused()
    top = page.evaluate(TOP)
    assert top > 20_000

    page.reload()
    row(page, "P700").wait_for(timeout=2 * TIMEOUT)  # seven pages come again, one after the other
    settle(page)
    assert abs(page.evaluate(TOP) - top) < 2


@on_sqlite
def test_status_set_by_another__appears_in_its_row_by_itself(many: Console) -> None:
    page = many.open(f"/contacts{OF}&sort=email")
    row(page, "P003").wait_for()
    many.send("PATCH", "/public/v2/contacts/4", {"contact_status": "interested"})

    page.locator(".grid-rows .row", has_text="P003").get_by_text("Interested").wait_for()
    expect(page.locator(".grid-rows a.strong").first).to_have_text("P000")


def test_two_who_edit_a_name__the_second_sees_both_and_chooses(many: Console) -> None:
    page = many.open(f"/contacts/3{OF}")
    page.route("**/team/v1/stream", lambda route: route.abort())
    page.reload()

    def type_mine() -> None:
        settle(page)
        page.get_by_label("Change First name").click()
        page.get_by_label("First name", exact=True).fill("Mine")
        many.send("PATCH", "/public/v2/contacts/3", {"first_name": "Theirs"})
        press(page, "Enter")
        dialog.get_by_role("cell", name="Theirs", exact=True).wait_for()

    dialog = page.get_by_role("dialog", name="Changed meanwhile")
    type_mine()
    assert look_faults(page) == []
    dialog.get_by_role("button", name="Keep theirs").click()
    page.locator("h1", has_text="Theirs").wait_for()
    assert many.send("GET", "/public/v2/contacts/3")["first_name"] == "Theirs"

    many.send("PATCH", "/public/v2/contacts/3", {"first_name": "P003"})
    page.reload()
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    type_mine()
    expect(dialog.get_by_role("cell", name="Mine", exact=True)).to_be_in_viewport(ratio=1)
    dialog.get_by_role("button", name="Use mine").click()
    page.get_by_text("First name changed.").wait_for()
    assert many.send("GET", "/public/v2/contacts/3")["first_name"] == "Mine"

    many.send("PATCH", "/public/v2/contacts/3", {"first_name": "Newer"})
    page.locator(".toast").get_by_role("button", name="Undo").click()
    dialog.get_by_role("cell", name="Newer", exact=True).wait_for()
    assert many.send("GET", "/public/v2/contacts/3")["first_name"] == "Newer"
    dialog.get_by_role("button", name="Keep theirs").click()
    page.locator("h1", has_text="Newer").wait_for()


def test_session_that_ends__is_begun_again_over_the_page_and_typed_text_stays(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    key = first_key(console.server)
    for path, body in (
        ("/admin/v1/clients", {"client_id": CLIENT}),
        ("/public/v2/contacts", {"email": "a@b.example", "first_name": "Ada"}),
    ):
        headers = {"content-type": "application/json", "x-client-id": CLIENT, "authorization": f"Bearer {key}"}
        urllib.request.urlopen(urllib.request.Request(console.origin + path, json.dumps(body).encode(), headers)).close()
    page = console.open(f"/contacts/1{OF}")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Change First name").click()
    page.get_by_label("First name", exact=True).fill("Typed")
    page.context.clear_cookies()
    page.keyboard.press("Enter")

    dialog = page.get_by_role("dialog")
    dialog.get_by_label("API key").wait_for()
    expect(dialog).to_contain_text("Your session has ended.")
    page.keyboard.press("Escape")
    settle(page)
    expect(dialog).to_be_visible()
    assert axe_faults(page) == []
    dialog.get_by_label("API key").fill(key)
    dialog.get_by_role("button", name="Sign in").click()
    dialog.wait_for(state="detached")

    expect(page.get_by_label("First name", exact=True)).to_have_value("Typed")
    page.get_by_role("button", name="Save").click()
    page.locator("h1", has_text="Typed").wait_for()


STEPS = ["Create a client", "Paste an address into a tool", "Receive the first webhook", "Invite a colleague"]


def test_empty_store__begins_with_first_steps_that_tick_themselves_until_all_are_done(start: Callable[..., Console]) -> None:
    console = start()
    page = console.open()
    expect(page.locator(".start h3")).to_have_text(STEPS)
    assert page.get_by_role("alert").count() == 0
    steps = page.get_by_role("region", name="Start here")
    done = steps.get_by_role("heading", name=", done")
    steps.get_by_role("link", name="New client").click()
    dialog = page.get_by_role("dialog", name="New client")
    dialog.get_by_role("textbox", name="Name").fill("Alder")
    dialog.get_by_role("button", name="Create client").click()
    page.get_by_role("heading", name="Alder", level=1).wait_for()
    page.get_by_role("link", name="Overview").click()
    expect(done).to_have_text([f"{STEPS[0]}, done"])
    assert look_faults(page) == []

    other = console.open("", size=NARROW)
    other.get_by_role("button", name="Hide").click()
    expect(other.get_by_role("region", name="Start here")).to_have_count(0)
    other.reload()
    other.get_by_role("heading", name="Webhooks from tools").wait_for()
    expect(other.get_by_role("region", name="Start here")).to_have_count(0)

    address = steps.locator("code").first.inner_text()
    console.send("POST", address.removeprefix(console.origin), {"event_type": "email_sent", "lead_email": "ann@example.com"})
    expect(done).to_have_text([f"{step}, done" for step in STEPS[:3]])
    console.send("POST", "/team/v1/invitations", {"email": "mira@example.com", "name": "Mira", "role": "operator", "grants": []})
    page.reload()
    page.get_by_role("heading", name="Webhooks from tools").wait_for()
    expect(steps).to_have_count(0)


@on_sqlite
def test_former_addresses__lead_to_the_screens_that_have_new_ones(console: Console) -> None:
    for former, present in (("inbox", "webhooks"), ("outgoing", "endpoints")):
        page = console.open(f"/{former}{OF}")
        page.wait_for_url(f"**/console/*/{present}")


@on_sqlite
def test_scope__is_in_the_address_and_comes_back_with_it(many: Console) -> None:
    many.send("POST", "/admin/v1/clients", {"client_id": "beta", "name": "Beta"})
    page = many.open("")
    page.wait_for_url("**/console/all/overview")
    press(page, "g c")
    page.get_by_text("These belong to one client.").wait_for()
    assert look_faults(page) == []
    page.locator("#main").get_by_role("button", name="Beta").click()
    page.get_by_text("Beta has no contacts yet").wait_for()
    page.go_back()
    page.get_by_text("These belong to one client.").wait_for()
    expect(page.locator(".side .client")).to_have_text("All clients")

    # A new tab begins where the last choice was; a former address names its own.
    many.go(page, "")
    expect(page.locator(".side .client")).to_have_text("Beta")
    many.go(page, f"/contacts/3{OF}")
    page.locator("h1", has_text="P002").wait_for()
    expect(page.locator(".side .client")).not_to_have_text("Beta")


@on_sqlite
def test_each_screen__sets_the_title_focuses_its_heading_and_is_announced(console: Console, subtests: pytest.Subtests) -> None:
    page = console.open(OF)
    page.locator("#main h1").wait_for()
    expect(page.locator("#main h1")).not_to_be_focused()
    links = page.get_by_role("navigation", name="Screens").get_by_role("link")
    names = [name.strip() for name in links.all_inner_texts()]
    assert {"Replies", "Tasks", "Contacts", "Bin", "Webhooks", "Settings"} <= {*names}
    for name in [*names[1:], "Team", "Keys", "Audit log", "Erasure", names[0]]:
        with subtests.test(screen=name):
            page.locator(".side nav, nav.tabs").get_by_role("link", name=name, exact=True).first.click()
            heading = page.locator("#main h1")
            expect(page).to_have_title(re.compile(rf"^(\(\d+\) )?{name} · Touchbase$"))
            expect(heading).to_be_focused()
            expect(page.locator(".shell > [aria-live]")).to_have_text(name)
    press(page, "g c")
    expect(page.locator("#main h1")).to_be_focused()
    columns = page.get_by_role("button", name="Columns", exact=True)
    columns.focus()
    press(page, "g r")
    page.wait_for_url("**/replies")
    page.go_back()
    expect(columns).to_be_focused()


def test_overview__names_what_broke_and_each_button_lands_on_its_field(many: Console) -> None:
    many.send("POST", f"/admin/v1/clients/{CLIENT}/connections", {"channel": "crm", "tool": "pipedrive", "secrets": ["ann:sesame"]})
    endpoint = {"url": "https://hooks.example.com/x", "description": "Replies to the CRM", "disabled": True}
    many.send("POST", "/public/v2/webhook-endpoints", endpoint)
    many.send("POST", "/admin/v1/clients", {"client_id": "kestrel-freight", "name": "Kestrel Freight"})
    for path in (f"crm-webhook/{CLIENT}", "emailcampaign-webhook/kestrel-frieght"):
        with contextlib.suppress(urllib.error.HTTPError):
            many.send("POST", f"/public/{path}", {"event": "updated.deal", "meta": {"object": "deal", "action": "updated"}})
    # Refusals are stored a moment later.
    while len(many.send("GET", "/team/v1/attention")["data"]) < 3:
        time.sleep(0.05)
    page = many.open("/all/overview")
    page.get_by_role("heading", name="Needs you (3)").wait_for()
    assert look_faults(page) == []
    refused = page.locator(".attention li", has=page.get_by_role("link", name="Enter secret"))
    refused.get_by_role("button", name="Snooze").click()
    page.get_by_role("button", name="3 hours").click()
    page.get_by_role("heading", name="Needs you (2)").wait_for()
    page.locator("summary", has_text="1 snoozed").click()
    refused.get_by_role("button", name="Wake").wait_for()
    assert look_faults(page) == []
    refused.get_by_role("button", name="Wake").click()
    page.get_by_role("heading", name="Needs you (3)").wait_for()

    # The list is one stop: Tab passes the two controls of one row, arrows change the row.
    page.get_by_role("button", name="Snooze").first.focus()
    press(page, "ArrowDown", "ArrowDown", "ArrowUp", "Tab")
    expect(page.locator(".attention li").nth(1).locator("a.button")).to_be_focused()
    press(page, "Tab")
    expect(page.locator(".attention li :focus")).to_have_count(0)

    page.get_by_role("link", name="Enter secret").click()
    expect(page.get_by_role("textbox", name="The tool")).to_be_focused()
    page.go_back()
    page.get_by_role("link", name="Open endpoint").click()
    page.get_by_role("button", name="Resume").wait_for()
    page.go_back()
    page.get_by_role("link", name="Show address").click()
    page.locator("#main").get_by_text("kestrel-frieght").first.wait_for()


def test_refused_status__is_an_item_whose_button_opens_the_set_with_the_status_filled_in(many: Console) -> None:
    chosen = {"statuses": ["contacted", "Interested"], "transitions": {}}
    many.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {"contact_statuses": chosen}})
    reply = {"event_type": "reply_received", "lead_email": "p001@many.example", "email_account": "us@example.net"}
    many.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", {**reply, "timestamp": "2026-11-20T09:00:00Z"})
    wait_until_read(many.origin)
    page = many.open("/all/overview")
    expect(page.locator(".attention")).to_contain_text('1 webhook of Instantly: the client\'s set refuses the status "replied"')
    assert look_faults(page) == []

    page.get_by_role("link", name="Add the status").click()
    name = page.get_by_role("dialog", name="Add a status").get_by_role("textbox", name="Name")
    expect(name).to_have_value("replied")
    expect(name).to_be_focused()
    assert look_faults(page) == []
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("link", name="Add the status")).to_have_count(0)


@on_sqlite
@pytest.mark.parametrize("late", ["/admin/v1/reports/", "/team/v1/attention", "/team/v1/counters"])
def test_overview_of_all_clients__moves_nothing_when_a_part_comes_late(many: Console, late: str) -> None:
    many.send("POST", "/admin/v1/clients", {"client_id": "kestrel-freight", "name": "Kestrel Freight"})
    with contextlib.suppress(urllib.error.HTTPError):
        many.send("POST", "/public/emailcampaign-webhook/kestrel-frieght", {})
    while not many.send("GET", "/team/v1/attention")["data"]:
        time.sleep(0.05)  # Refusals are stored a moment later.
    page = many.open("/all/contacts")
    page.add_init_script(
        "localStorage.setItem('touchbase-first-steps', 'hidden'); window.moved = []; "
        "new PerformanceObserver(list => moved.push(...list.getEntries().filter(each => !each.hadRecentInput).map(each => each.value)))"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    held: list[Any] = []
    is_held = True
    page.route(lambda url: late in url, lambda request: held.append(request) if is_held else request.continue_())
    early = "/team/v1/attention" if "reports" in late else "/admin/v1/reports/"
    with page.expect_response(lambda response: early in response.url):
        page.goto(f"{many.origin}/console/all/overview")
    page.evaluate(DRAWN)
    assert held

    is_held = False
    for request in held:
        request.continue_()
    page.get_by_role("heading", name="Needs you (1)").wait_for()
    expect(page.locator(".skeleton, [aria-busy]")).to_have_count(0)
    settle(page)

    assert sum(page.evaluate("moved")) < 0.002, page.evaluate("moved")


@on_sqlite
@pytest.mark.parametrize("scope", ["ours", "all"])
@pytest.mark.parametrize("late", ["/team/v1/deliveries/newest", "/team/v1/users", "/team/v1/attention", "/admin/v1/refusals"])
def test_first_visit__has_the_first_steps_from_when_the_overview_is_drawn(start: Callable[..., Console], late: str, scope: str) -> None:
    console = start()
    for name in ("ours", "theirs"):
        console.send("POST", "/admin/v1/clients", {"client_id": name, "name": name})
    page = console.open(f"/{scope}/reports")
    page.add_init_script(
        "localStorage.removeItem('touchbase-first-steps'); window.moved = []; "
        "new PerformanceObserver(list => moved.push(...list.getEntries().filter(each => !each.hadRecentInput).map(each => each.value)))"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    held: list[Any] = []
    is_held = True
    page.route(lambda url: late in url, lambda request: held.append(request) if is_held else request.continue_())
    with page.expect_response(lambda response: "/admin/v1/clients" in response.url):
        page.goto(f"{console.origin}/console/{scope}/overview")
    while not held:
        page.evaluate(DRAWN)

    is_held = False
    for request in held:
        request.continue_()
    expect(page.get_by_role("region", name="Start here")).to_be_visible()
    expect(page.locator(".skeleton, [aria-busy]")).to_have_count(0)
    settle(page)

    assert sum(page.evaluate("moved")) < 0.002, page.evaluate("moved")


@on_sqlite
def test_what_is_not_there__is_not_to_be_tried_again(console: Console) -> None:
    page = console.open(f"/history{OF}&change=gone")
    expect(page.get_by_role("alert")).to_contain_text("there is no change 'gone'")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)

    page.route("**/team/v1/changes/**", lambda route: route.fulfill(status=500, body="{}"))
    console.go(page, f"/history{OF}&change=late")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@on_sqlite
def test_empty_list_of_webhooks__has_none_to_choose(start: Callable[..., Console]) -> None:
    console = start()
    page = console.open("/webhooks")
    expect(page.get_by_text("Choose a webhook")).to_be_hidden()
    assert look_faults(page) == []
    console.send("POST", "/public/emailcampaign-webhook/default", {"event_type": "email_sent", "lead_email": "ann@example.com"})
    expect(page.get_by_text("Choose a webhook")).to_be_visible()


def test_silent_tool__leads_to_its_webhooks_alone(console: Console) -> None:
    other = {"what": "answered", "by": {"who": "bob@other.example"}}
    console.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", other)
    silence = {"kind": "silent_connection", "severity": "warning", "client_id": CLIENT, "title": "Nothing from instantly for 27 hours"}
    silence |= dict.fromkeys(("count", "since", "last_at", "target_id")) | {"next": "", "channel": "email_campaign", "tool": "instantly"}

    def add_silence(route: Any) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={"data": [silence, *response.json()["data"]], "next_cursor": None})

    page = console.open(f"/contacts{OF}")
    page.route("**/team/v1/attention?*", add_silence)
    console.go(page, OF)
    page.locator(".attention li", has_text="Nothing from Instantly").get_by_role("link", name="Look").click()
    page.wait_for_url("**tool=instantly")
    page.locator(".calls .strong").first.wait_for()
    settle(page)

    assert set(page.locator(".calls .strong").all_inner_texts()) == {"Instantly"}


@on_sqlite
def test_type__is_inter_at_the_browsers_size(console: Console) -> None:
    page = console.open(OF)

    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "16px"
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "14px"
    assert page.evaluate("[...document.fonts].filter((each) => each.status === 'loaded').map((each) => each.family)[0]") == "Inter Variable"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).fontWeight") == "600"

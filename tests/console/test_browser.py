"""The console in a real Chromium, from the first screen to the last key press."""

from __future__ import annotations

import urllib.error
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.console.conftest import (
    CLIENT,
    NARROW,
    TOO_WIDE,
    WIDE,
    Console,
    axe_faults,
    dark_faults,
    escape,
    first_key,
    forced_faults,
    look_faults,
    press,
    resize,
    settle,
    wait_until_read,
)
from tests.console.seed import sender

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
"""For what does not depend on the engine."""

OF = f"?client={CLIENT}"
SCREENS = {
    "overview": f"{OF}",
    "reports": f"/reports{OF}&by=day&compare=previous",
    "reports of all clients": "/reports?client=all",
    "contacts": f"/contacts{OF}",
    "contacts that match": f"/contacts{OF}&contact_status[in]=replied&q=a",
    "no contact matches": f"/contacts{OF}&q=zzzz",
    "contact": f"/contacts/3{OF}",
    "no such contact": f"/contacts/999999{OF}",
    "companies": f"/companies{OF}",
    "company": f"/companies/3{OF}",
    "no such company": f"/companies/999999{OF}",
    "no imports": "/imports?client=new-one",
    "no suppressions": "/suppressions?client=new-one",
    "no companies": "/companies?client=new-one",
    "duplicates": f"/duplicates{OF}",
    "no duplicates": "/duplicates?client=new-one&of=companies",
    "imports": f"/imports{OF}",
    "suppressions": f"/suppressions{OF}",
    "replies": f"/replies{OF}",
    "no reply matches": f"/replies{OF}&tool=nothing",
    "inbox": f"/webhooks{OF}",
    "call": f"/webhooks/3{OF}",
    "problems": f"/webhooks{OF}&tab=problems",
    "refused": f"/webhooks{OF}&tab=refused",
    "clients": f"/clients{OF}",
    "client": f"/clients/{CLIENT}{OF}",
    "client's tool": f"/clients/{CLIENT}{OF}&tool=crm/hubspot",
    "words": f"/clients/{CLIENT}{OF}&words=email_campaign/instantly",
    "no such client": f"/clients/<b>{OF}",
    "client before its first call": "/clients/new-one?client=new-one",
    "keys": f"/keys{OF}",
    "settings": f"/settings{OF}",
    "statuses": f"/settings{OF}&tab=statuses",
    "custom fields": f"/settings{OF}&tab=fields",
    "no settings": "/settings?client=new-one",
    "no contacts": "/contacts?client=new-one",
    "no replies": "/replies?client=new-one",
    "no calls": "/webhooks?client=new-one",
    "nothing yet": "?client=new-one",
    "no endpoints": "/endpoints?client=new-one",
    "new endpoint": f"/endpoints/new{OF}",
    "erasure": f"/erasure{OF}&person=3",
    "nowhere": "/nowhere",
    "all clients": "/all/overview",
    "replies of all clients": "/all/replies",
    "replies that match": f"/replies{OF}&q=a&contact_status=replied",
    "webhooks of all clients": "/all/webhooks",
    "refused of all clients": "/all/webhooks?tab=refused",
    "a client to choose": "/all/contacts",
    "do not contact of all clients": "/all/suppressions",
    "bin of all clients": "/all/bin",
    "erasure of all clients": "/all/erasure",
    "duplicates of all clients": "/all/duplicates",
    "tasks": f"/tasks{OF}",
    "team": "/team",
    "bin": f"/bin{OF}",
    "history": f"/history{OF}",
    "history of all clients": "/all/history",
    "help": "/all/help?page=how-to/import-a-list",
    "pages of the help": "/all/help?q=restore",
    "audit log": "/audit",
}
COUNT = "document.querySelectorAll('.grid-rows [role=row]').length"


@on_sqlite
def test_every_screen__does_not_move_while_it_loads_and_has_nothing_that_axe_finds(console: Console, subtests: pytest.Subtests) -> None:
    watch = "window.moved = 0; new PerformanceObserver((list) => list.getEntries().forEach((each) => window.moved += each.value))"
    page = console.open(OF, held=200)
    page.add_init_script(f"{watch}.observe({{type: 'layout-shift', buffered: true}})")
    for name, path in SCREENS.items():
        with subtests.test(screen=name):
            console.go(page, path)
            assert page.evaluate("window.moved") < 0.005
            assert look_faults(page) + forced_faults(page) == []


def button(name: str) -> Callable[[Any], None]:
    """Press the first button of this name on the screen."""
    return lambda page: page.locator("#main").get_by_role("button", name=name).first.click()


def reply(*keys: str) -> Callable[[Any], None]:
    """Choose the first reply, and press keys."""

    def show(page: Any) -> None:
        press(page, "j")
        page.locator(".pane .letter").first.wait_for()
        press(page, *keys)

    return show


OVERLAYS: dict[str, tuple[str, Callable[[Any], None]]] = {
    "a reply": (f"/replies{OF}", reply()),
    "snooze": (f"/replies{OF}", reply("h")),
    "label": (f"/replies{OF}", lambda page: (reply()(page), page.locator(".pane .acts").get_by_role("button", name="Label").click())),
    "block of a reply": (f"/replies{OF}", reply("b")),
    "filter of replies": (f"/replies{OF}", button("Filter")),
    "note": (f"/contacts/3{OF}", lambda page: press(page, "n")),
    "task": (f"/contacts/3{OF}", lambda page: press(page, "t")),
    "status of a contact": (f"/contacts/3{OF}", button("Status:")),
    "block of a contact": (f"/contacts/3{OF}", button("Block")),
    "source of a value": (f"/contacts/3{OF}", lambda page: page.locator(".field").first.hover()),
    "other acts of a contact": (f"/contacts/3{OF}", button("Other acts")),
    "new contact": (f"/contacts{OF}", lambda page: press(page, "c")),
    "new client": (f"/clients{OF}", button("New client")),
    "what is done to a client": (f"/clients/{CLIENT}{OF}", button("Manage")),
    "connection": (f"/clients/{CLIENT}{OF}", button("Add a connection")),
    "new key": (f"/keys{OF}", button("New key")),
    "report link": (f"/reports{OF}", button("Share")),
    "invitation": ("/team", button("Invite")),
    "addresses to block": (f"/suppressions{OF}", button("Block addresses")),
    "addresses to check": (f"/suppressions{OF}", button("Check addresses")),
    "new status": (f"/settings{OF}&tab=statuses", button("Add a status")),
    "new field": (f"/settings{OF}&tab=fields", button("Define a field")),
    "export": (f"/contacts{OF}", button("Export")),
    "shortcuts": (f"/contacts{OF}", lambda page: press(page, "?")),
    "palette": (
        f"/contacts{OF}",
        lambda page: (press(page, "Control+k"), page.keyboard.type("an"), page.wait_for_selector("li:has-text('@')")),
    ),
    "the call of the API": (f"/contacts{OF}", lambda page: page.get_by_label("The API call for this view").click()),
    "filter": (f"/contacts{OF}", lambda page: page.get_by_role("button", name="Filter").click()),
    "statuses": (f"/contacts{OF}", lambda page: page.get_by_role("button", name="Status").first.click()),
    "columns": (f"/contacts{OF}", lambda page: page.get_by_label("Columns").click()),
    "views": (f"/contacts{OF}", lambda page: page.get_by_label("Views").click()),
    "selected": (f"/contacts{OF}", lambda page: press(page, "j", "x")),
    "status of a row": (f"/contacts{OF}", lambda page: (press(page, "j", "s"), page.locator(":popover-open .entry").first.wait_for())),
    "why": (f"/contacts/3{OF}", lambda page: page.get_by_role("button", name="of Status").click()),
    "editing": (f"/contacts/3{OF}", lambda page: page.get_by_label("Change First name").click()),
}


@on_sqlite
def test_every_overlay__has_nothing_that_axe_finds(console: Console, subtests: pytest.Subtests) -> None:
    page = console.open(OF)
    for name, (path, show) in OVERLAYS.items():
        with subtests.test(overlay=name):
            console.go(page, path)
            show(page)
            page.locator("dialog[open], :popover-open, .bulk, .editor, .note-form, .pane .letter, .field:hover").first.wait_for()
            rows = "" if name == "selected" else ".grid-rows"  # as on the screen without an overlay
            faults = axe_faults(page, without=rows) + dark_faults(page, without=rows) + forced_faults(page, without=rows)
            resize(page, NARROW)
            faults += [f"narrow: {fault}" for fault in axe_faults(page, without=rows)]
            resize(page, WIDE)
            assert faults == []


@on_sqlite
def test_client_before_its_first_call__has_no_error_and_says_what_to_do(console: Console) -> None:
    page = console.open("?client=new-one")
    page.get_by_text("No emails in this time").wait_for()
    assert page.get_by_role("alert").count() == 0
    done = console.send("GET", "/team/v1/conversations?state=done&limit=1")["data"]
    assert done, "of another client"

    console.go(page, "/replies?client=new-one")
    page.get_by_text("No reply yet").wait_for()
    expect(page.locator(".copy-line code")).to_have_text(f"{console.origin}/public/emailcampaign-webhook/new-one")


HOSTILE = [
    "<script>window.pwned = 1; alert(1)</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "javascript:window.pwned=1",
    "\u202e\u2067ABC\u2066 moc.elpmaxe\u202c",
    "\U0001d541\U0001d586 \U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 " + "e" + "\u0301" * 40,
    "{{constructor.constructor('window.pwned=1')()}}",
    "W" * 200,
    "__proto__",
    "constructor",
]


def test_hostile_data__is_shown_as_text_and_breaks_nothing(console: Console, subtests: pytest.Subtests) -> None:
    ids = []
    for number, text in enumerate(HOSTILE):
        custom = [{"field_name": text[:190], "field_value": text}, {"field_name": "Long", "field_value": "<b>x</b>" * 1250}]
        body = dict.fromkeys(("first_name", "last_name", "origin"), text[:200])
        body["linkedin_url"] = f"https://www.linkedin.com/in/{text[:150]}"
        body |= {"email": f"h{number}@hostile.example", "contact_status": text[:60], "contact_custom_fields_input": custom}
        ids.append(console.send("POST", "/public/v2/contacts", body)["id"])
    console.send(
        "POST",
        f"/public/emailcampaign-webhook/{CLIENT}",
        {"event_type": HOSTILE[0], HOSTILE[1]: HOSTILE, "lead_email": "h1@hostile.example"},
    )
    console.send("PATCH", f"/admin/v1/clients/{CLIENT}", {"name": HOSTILE[0]})
    wait_until_read(console.origin)
    newest = console.send("GET", f"/admin/v1/deliveries?client={CLIENT}&limit=1")["data"][0]["id"]
    paths = [
        "",
        f"/contacts{OF}&sort=-id&cols=name,email,contact_status,origin,linkedin_url,cf.Long,cf.constructor",
        f"/contacts{OF}&q={HOSTILE[0]}&{HOSTILE[0]}=1",
    ]
    paths += [f"/contacts/{each}{OF}" for each in ids] + [
        f"/webhooks{OF}",
        f"/webhooks/{newest}{OF}",
        f"/webhooks{OF}&tab=problems",
        f"/webhooks/<script>{OF}",
    ]
    page = console.open(OF)
    for path in paths:
        with subtests.test(path=path[:60]):
            console.go(page, path)
            for size in (NARROW, WIDE):
                resize(page, size)
                assert page.evaluate(TOO_WIDE) == []
            assert page.evaluate("window.pwned") is None
            assert page.locator("#app script, #app img, #app b b, a[href^='javascript']").count() == 0
    console.go(page, f"/contacts/{ids[0]}{OF}")
    assert HOSTILE[0] in page.locator("h1").inner_text()


def test_contacts__are_found_filtered_sorted_and_the_view_is_in_the_address(console: Console) -> None:
    page = console.open(f"/contacts{OF}")
    page.get_by_label("Search contacts").fill("chen")
    page.wait_for_url("**q=chen**")
    settle(page)
    names = page.locator(".grid-rows .strong").all_inner_texts()
    assert names
    assert all("Chen" in each for each in names)

    page.get_by_label("Search contacts").fill("")
    page.get_by_role("button", name="Status").first.click()
    page.get_by_role("button", name="replied").click()
    page.wait_for_url("**contact_status[in]=replied**")
    escape(page)
    page.get_by_role("button", name="Last reply").click()
    page.wait_for_url("**sort=-last_reply_received**")
    settle(page)
    statuses = set(page.locator(".grid-rows .status").all_inner_texts())

    other = console.open(page.url.partition("/console")[2])
    assert statuses == {"Replied"}
    assert other.locator(".grid-rows .strong").all_inner_texts() == page.locator(".grid-rows .strong").all_inner_texts()
    assert other.locator("[aria-sort=descending]").inner_text() == "Last reply"


def test_unknown_filter_in_an_address__is_said_in_the_words_of_the_api(console: Console) -> None:
    page = console.open(f"/contacts{OF}&contact_statos=new")

    assert "the nearest is" in page.get_by_role("alert").inner_text() or "contact_status" in page.get_by_role("alert").inner_text()


def test_bulk_status__is_set_and_undone(console: Console) -> None:
    page = console.open(f"/contacts{OF}&sort=id")
    before = page.locator(".grid-rows .status, .grid-rows .absent").first.inner_text()
    page.locator(".grid-rows input[type=checkbox]").nth(0).check()
    page.locator(".grid-rows input[type=checkbox]").nth(1).check()
    page.get_by_role("button", name="Set status").click()
    page.locator(":popover-open").get_by_role("button", name="bounced").click()
    page.get_by_text("2 contacts set to “Bounced”.").wait_for()
    assert [each["contact_status"] for each in console.send("GET", "/public/v2/contacts?limit=2")["data"]] == ["bounced"] * 2

    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.", exact=True).wait_for()
    expect(page.locator(".grid-rows .status, .grid-rows .absent").first).to_have_text(before)


def test_record__is_changed_and_the_change_is_undone(console: Console) -> None:
    page = console.open(f"/contacts/3{OF}")
    first = console.send("GET", "/public/v2/contacts/3")["first_name"]
    page.get_by_label("Change First name").click()
    page.get_by_label("First name", exact=True).fill("Zoë")
    page.keyboard.press("Enter")
    page.get_by_text("First name changed.").wait_for()
    page.locator("h1", has_text="Zoë").wait_for()

    press(page, "u")
    page.locator("h1", has_text=first).wait_for()

    page.get_by_label("Change Email").click()
    page.get_by_label("Email", exact=True).fill("not an address")
    page.keyboard.press("Enter")
    expect(page.locator(".wrong")).to_contain_text("email")
    page.locator(".story li").nth(1).wait_for()


def test_addresses_of_a_contact__are_added_made_the_first_and_removed(console: Console) -> None:
    number = console.send("POST", "/public/v2/contacts", {"first_name": "Several", "email": "one@several.example"})["id"]
    other = console.send("POST", "/public/v2/contacts", {"email": "other@several.example"})["id"]
    page = console.open(f"/contacts/{number}{OF}")
    shown = page.locator(".emails li .text")

    def add(email: str) -> None:
        page.get_by_label("Another email").fill(email)
        page.keyboard.press("Enter")

    page.get_by_role("button", name="Add an email").click()
    add("other@several.example")
    expect(page.locator(".emails .wrong")).to_contain_text(f"id {other}")
    assert page.get_by_role("link", name="Show that contact").get_attribute("href").split("?")[0].endswith(f"/contacts/{other}")
    add("two@several.example")
    page.get_by_text("Address added.").wait_for()
    page.get_by_label("Make two@several.example the first").click()
    page.get_by_text("It is the first address now.").wait_for()
    expect(shown).to_have_text(["two@several.example first", "one@several.example"])
    assert console.send("GET", f"/public/v2/contacts/{number}")["email"] == "two@several.example"

    page.get_by_label("Remove one@several.example").click()
    page.get_by_text("Address removed.").wait_for()
    assert "emails" not in console.send("GET", f"/public/v2/contacts/{number}")
    page.get_by_role("button", name="Undo").last.click()
    page.get_by_text("Undone.", exact=True).wait_for()
    page.get_by_label("Make one@several.example the first").wait_for()
    assert console.send("GET", f"/public/v2/contacts/{number}")["emails"] == ["two@several.example", "one@several.example"]


def test_contacts_of_one_name__are_merged_and_parted_again(console: Console) -> None:
    name = {"first_name": "Twice", "last_name": "There"}
    one, two = (console.send("POST", "/public/v2/contacts", {**name, "email": f"{n}@twice.example"})["id"] for n in "ab")
    page = console.open(f"/contacts/{one}{OF}")
    page.get_by_role("button", name="Merge…").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    page.get_by_text("is part of this contact now").wait_for()
    page.get_by_role("button", name="Merge…").wait_for(state="detached")

    page.get_by_role("button", name="Undo").click()
    page.wait_for_url(f"**/contacts/{two}")
    page.get_by_text("b@twice.example").first.wait_for()


def test_inbox__shows_a_call_as_it_arrives_with_its_body_and_meaning(console: Console) -> None:
    page = console.open(f"/webhooks{OF}")
    reply = {"event_type": "reply_received", "timestamp": "2026-11-25T10:00:00Z", "workspace": "w", "campaign_name": "Live"}
    person = {"campaign_id": "c9", "lead_email": "live@example.com", "reply_text": "hello there"}
    console.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", reply | person)

    page.get_by_text("live@example.com").first.click()
    page.get_by_text("hello there").wait_for()
    page.locator(".said", has_text="Email replied").wait_for()
    press(page, "r")
    page.get_by_text("The webhook is read again").wait_for()

    page.locator(".said").get_by_role("link", name="Contact").click()
    page.locator("h1", has_text="live@example.com").wait_for()


@on_sqlite
def test_refused_call__shows_the_id_of_its_body_and_is_received_after_all(console: Console) -> None:
    send = console.send
    send("POST", f"/admin/v1/clients/{CLIENT}/connections", {"channel": "email_campaign", "tool": "instantly", "secrets": ["right-secret"]})
    person = {"event_type": "reply_received", "timestamp": "2026-11-25T10:00:00Z", "workspace": "w", "campaign_id": "c9"}
    with pytest.raises(urllib.error.HTTPError, match="401"):
        send("POST", f"/public/emailcampaign-webhook/{CLIENT}?token=old-secret", person | {"lead_email": "late@example.com"})
    page = console.open(f"/webhooks{OF}&tab=refused")
    while not (stored := send("GET", "/admin/v1/refusals?cause=not_verified")["data"]):  # they are stored once a second
        page.wait_for_timeout(50)
    console.go(page, f"/webhooks{OF}&tab=refused")

    page.get_by_text("1 stored body").click()
    page.get_by_text(stored[0]["body_id"]).wait_for()
    page.get_by_role("button", name="Receive").click()
    page.get_by_role("button", name="Show it").click()
    page.get_by_text("late@example.com").first.wait_for()


@on_sqlite
def test_keyboard_alone__leads_from_the_overview_to_a_changed_contact(console: Console) -> None:
    page = console.open(OF)
    press(page, "g c")
    page.wait_for_url("**/console/*/contacts**")
    settle(page)
    name = page.locator(".grid-rows .strong").nth(1).inner_text()
    press(page, "j", "j", "Enter")
    page.locator("h1", has_text=name).wait_for()
    press(page, "Control+k")
    page.keyboard.type("webhooks")
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/*/webhooks**")
    page.locator(".calls a").first.wait_for()
    press(page, "j")
    page.wait_for_url("**/console/*/webhooks/**")
    press(page, "?")
    page.get_by_role("dialog").get_by_text("Replay the webhook").wait_for()


def test_thousands_of_contacts__scroll_to_the_last_with_a_few_on_the_page(start: Callable[..., Console]) -> None:
    console = start()
    send = sender(console.origin, CLIENT)
    for part in range(3):
        send(
            "POST",
            "/public/v2/contacts/batch",
            {"commands": [{"op": "create", "body": {"email": f"p{part * 1000 + n:05}@many.example"}} for n in range(1000)]},
        )
    page = console.open(f"/contacts{OF}&sort=email")
    page.locator(".total", has_text="3,000 contacts").wait_for()

    page.locator(".grid").hover()
    for _ in range(400):
        page.evaluate("document.querySelector('.grid').scrollBy(0, 3000)")
        settle(page)
        assert page.evaluate(COUNT) < 60
        if page.get_by_text("p02999@many.example").count():
            break
    page.get_by_text("p02999@many.example").first.wait_for()
    page.keyboard.press("Home")
    page.get_by_text("p00000@many.example").first.wait_for()


def test_signing_in__with_a_key_shows_what_the_key_permits(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    key = first_key(console.server)
    page = console.open()
    page.get_by_label("API key").fill(f"{key[:-1]}{'0' if key[-1] != '0' else '1'}")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("invalid API key")
    assert axe_faults(page) == []

    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("navigation").get_by_text("Webhooks").wait_for()
    console.go(page, "/replies")
    page.get_by_text("Paste the address of a client").wait_for()
    expect(page.locator(".copy-line"), "of no client").to_have_count(0)
    assert "tb_" not in page.evaluate("JSON.stringify({...localStorage, ...sessionStorage}) + document.cookie")

    page.get_by_label("Sign out", exact=False).click()
    page.get_by_label("API key").wait_for()
    page.reload()
    page.get_by_label("API key").wait_for()


def test_read_only_key__shows_contacts_without_any_way_to_change_them(start: Callable[..., Console]) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    console.server.post("/admin/v1/clients", {"client_id": "ours", "name": "Ours"}, **admin)
    _, made = console.server.post("/admin/v1/keys", {"name": "reader", "client_id": "ours", "scopes": ["records:read"]}, **admin)
    console.server.post("/public/v2/contacts", {"email": "jane@example.com"}, **admin, **{"X-Client-Id": "ours"})
    page = console.open("/contacts")
    page.get_by_label("API key").fill(made["key"])
    page.keyboard.press("Enter")
    page.get_by_text("jane@example.com").first.click()
    page.locator("h1", has_text="jane@example.com").wait_for()

    page.get_by_text("Read only: your key has no scope to write.").wait_for()
    settle(page)
    assert page.get_by_label("Change", exact=False).count() == 0
    console.go(page, "/webhooks")
    page.get_by_text("Webhooks need an administrator").wait_for()

    console.server.get(f"/admin/v1/keys/{made['key_id']}", "DELETE", **admin)
    console.go(page, "/contacts")
    page.get_by_label("API key").wait_for()

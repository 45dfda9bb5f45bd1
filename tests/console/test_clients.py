"""The console's clients: addresses with their light, sample calls, connections, words of tools, and a client's life, in a real Chromium."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.conftest import Databases
from tests.console.conftest import CLIENT, Console, axe_faults, escape, first_key, look_faults, settle, wait_until_read

from touchbase.adapters.registry import load_adapters
from touchbase.connections.models import ConnectionSettings
from touchbase.encryption.keys import encode_key, new_key
from touchbase.loading.requests import SOURCES as SOURCES_OF_HISTORY

pytestmark = pytest.mark.slow
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
"""For what does not depend on the engine."""
SOURCES = Path(__file__).parents[2] / "console" / "src" / "clients"
HERE = f"/clients/{CLIENT}?client={CLIENT}"
PATHS = (
    "/clients",
    "/clients?name=zzz",
    "/clients/ours",
    "/clients/ours?tool=crm/hubspot",
    "/clients/ours?words=crm/generic",
    "/clients/theirs",
)
HOSTILE = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


@pytest.fixture
def empty(start: Callable[..., Console], monkeypatch: pytest.MonkeyPatch) -> Console:
    """A server that encrypts secrets, with one client that has no calls."""
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", encode_key(new_key()))
    console = start()
    console.send("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
    return console


def client(console: Console, client_id: str = CLIENT) -> Any:
    return console.send("GET", f"/admin/v1/clients/{client_id}")


def connections(console: Console) -> list[dict[str, Any]]:
    return list(console.send("GET", f"/admin/v1/clients/{CLIENT}/connections")["data"])


@on_sqlite
def test_cells__are_listed_below_the_clients_once_there_are_some(
    start: Callable[..., Console], engine_url: str, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", encode_key(new_key()))
    console = start()
    without = console.open("/clients")
    assert without.get_by_role("heading", name="Databases").count() == 0
    for command in (
        ("add", "eu", "--database", databases.cells(1)[0], "--home", engine_url),
        ("drain", "eu", "--database", engine_url),
    ):
        subprocess.run([sys.executable, "-m", "touchbase", "databases", *command], check=True, cwd=tmp_path, capture_output=True)
    while (
        len(console.send("GET", "/admin/v1/databases")["data"]) < 2 or not console.send("GET", "/admin/v1/databases")["data"][1]["answers"]
    ):
        without.wait_for_timeout(50)

    page = console.open("/clients")
    table = page.get_by_role("region", name="Databases, and whether they answer")
    table.wait_for()
    assert [row.split("\t") for row in table.get_by_role("row").all_inner_texts()] == [
        ["Database", "Number", "Clients", "New clients", "Answers"],
        ["home", "0", "0", "Yes", "Yes"],
        ["eu", "1", "0", "No, it is draining", "Yes"],
    ]
    assert look_faults(page) == []


def test_new_client__gets_addresses_and_its_light_turns_green_with_a_sample_that_is_erased(start: Callable[..., Console]) -> None:
    console = start()
    page = console.open("/clients")
    page.get_by_role("button", name="New client").click()
    page.get_by_label("Name", exact=True).fill("Alder Freight")
    page.get_by_label("Id", exact=True).fill("alder")
    page.keyboard.press("Enter")
    page.get_by_text("/public/crm-webhook/alder").wait_for()
    handle = console.send("GET", "/admin/v1/clients/alder")["handle"]
    page.wait_for_url(f"**/console/*/clients/{handle}**")
    page.get_by_label("Tool", exact=True).select_option("email_campaign/smartlead")
    page.get_by_text("Waiting for the first webhook of Smartlead").wait_for()
    page.get_by_text("LEAD_CATEGORY_UPDATED", exact=False).wait_for()

    page.get_by_role("button", name="Send a sample webhook").click()
    page.locator(".lamp.on").wait_for()
    page.locator(".sample-result", has_text="applied").wait_for()
    found = console.send("GET", "/admin/v1/deliveries?client=alder&limit=1")["data"][0]
    assert found["tool"] == "smartlead"

    page.get_by_role("button", name="Erase it").click()
    page.get_by_text("contact is erased, with what it said", exact=False).wait_for()
    left = console.send("GET", f"/admin/v1/deliveries/{found['id']}")
    assert left["body"] is None
    assert left["body_removed"]["why"] == "erased"


@on_sqlite
def test_sample_of_every_tool__is_applied_as_that_tool(empty: Console, subtests: pytest.Subtests) -> None:
    samples = (SOURCES / "samples.ts").read_text(encoding="utf-8").partition("const SAMPLES")[2]
    campaign, _, crm = samples.partition("\n  crm: {")
    tools = [("email_campaign", each) for each in re.findall(r"^    (\w+): \(email", campaign, re.M)]
    tools += [("crm", each) for each in re.findall(r"^    (\w+): \(email", crm, re.M)]
    assert len(tools) > 12
    page = empty.open(HERE)
    for channel, tool in tools:
        with subtests.test(channel=channel, tool=tool):
            empty.go(page, f"{HERE}&tool={channel}/{tool}")
            page.get_by_role("button", name="Send a sample webhook").click()
            page.locator(".sample-result", has_text="applied").wait_for()
            assert empty.send("GET", f"/admin/v1/deliveries?client={CLIENT}&limit=1")["data"][0]["tool"] == tool


def test_connection__is_added_with_a_secret_that_is_shown_once_then_changed_and_removed(empty: Console) -> None:
    page = empty.open(HERE)
    page.get_by_role("button", name="Add a connection").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Tool", exact=True).select_option("email_campaign/instantly")
    form.get_by_label("Secret", exact=True).select_option("generate")
    form.get_by_role("button", name="Connect").click()
    page.get_by_text("This is the only time", exact=False).wait_for()
    secret = page.locator(".once code").first.inner_text()
    assert secret.startswith("tbs_")
    escape(page)
    page.get_by_text("Secret set").wait_for()
    page.reload()
    page.get_by_text("Secret set").wait_for()
    assert secret not in page.content()

    page.get_by_label("Change Instantly").click()
    form.get_by_label("Time zone", exact=True).fill("Nowhere/City")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("zone")
    form.get_by_label("Time zone", exact=True).fill("Europe/Berlin")
    form.get_by_role("button", name="Save").click()
    page.get_by_text("times of Europe/Berlin", exact=False).wait_for()
    assert connections(empty)[0]["secret"] == "set"

    page.get_by_label("Activity of Instantly").click()
    page.get_by_text("It has never been silent.").wait_for()
    escape(page)
    page.get_by_label("Remove Instantly").click()
    form.get_by_role("button", name="Remove").click()
    page.get_by_text("No connection is needed").wait_for()
    assert connections(empty) == []


@on_sqlite
def test_every_setting_of_a_connection__has_a_field_and_what_is_typed_is_stored(empty: Console) -> None:
    page = empty.open(HERE)
    form = page.get_by_role("dialog")
    fields: set[str] = set()
    for tool in ("email_campaign/generic", "email_campaign/mailgun", "crm/copper", "crm/gohighlevel", "crm/hubspot"):
        page.get_by_role("button", name="Add a connection").click()
        form.get_by_label("Tool", exact=True).select_option(tool)
        settle(page)
        fields |= set(form.locator("[data-setting]").evaluate_all("(all) => all.map((each) => each.dataset.setting)"))
        assert form.locator("[data-setting]:not(:has(input, select, button, p))").count() == 0
        escape(page)
    assert fields == {each.name for each in dataclasses.fields(ConnectionSettings)}

    page.get_by_role("button", name="Add a connection").click()
    form.get_by_label("Tool", exact=True).select_option("crm/hubspot")
    form.get_by_label("Access token", exact=True).select_option("paste")
    form.get_by_label("The token", exact=True).fill("pat-eu1-first")
    settle(page)
    for summary in form.locator("summary").all():
        summary.click()
    form.get_by_label("Property that statuses", exact=False).fill(" touchbase_status ")
    form.get_by_label("Greatest age", exact=False).fill("120")
    form.get_by_label("Accept HubSpot", exact=False).check()
    form.get_by_role("button", name="Add a row to what its ids stand for").click()
    form.get_by_label("Id, row 1").fill("2-17")
    form.get_by_label("Stands for, row 1").fill("company")
    form.get_by_role("button", name="Add a row to stages of deals").click()
    form.get_by_label("Stage, row 1").fill("Closed lost")
    form.get_by_role("button", name="Add a row to stages of deals").click()
    form.get_by_label("Stage, row 2").fill("won")
    form.get_by_label("Status, row 2").fill("customer")
    form.get_by_label("The stage of a deal", exact=False).check()
    assert axe_faults(page) == []
    form.get_by_role("button", name="Connect").click()
    page.get_by_text("fetches records", exact=False).wait_for()
    [stored] = connections(empty)
    assert stored["access_token"] == "set"
    expected = {
        "written_property": "touchbase_status", "signature_max_age": 120, "allow_v1_signatures": True, "objects": {"2-17": "company"},
        "deal_labels": {"Closed lost": None, "won": "customer"}, "deals_set_status": True, "silence_alarm": True,
    }  # fmt: skip
    assert {name: stored["settings"][name] for name in expected} == expected

    page.get_by_label("Change HubSpot").click()
    expect(form.get_by_label("Stands for, row 1")).to_have_value("company")
    assert "pat-eu1" not in page.content()
    form.get_by_role("button", name="Remove row 1 of what its ids stand for").click()
    form.get_by_label("Property that statuses", exact=False).fill("email")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("no property for a status")
    form.get_by_label("Property that statuses", exact=False).fill("")
    form.get_by_label("Access token", exact=True).select_option("remove")
    form.get_by_role("button", name="Save").click()
    page.get_by_text("The connection is changed", exact=False).wait_for()
    [stored] = connections(empty)
    assert (stored["access_token"], stored["settings"]["objects"], stored["settings"]["written_property"]) == ("not set", {}, None)


def category(console: Console, label: str, email: str) -> None:
    body = {"event_type": "LEAD_CATEGORY_UPDATED", "sl_email_lead_id": 5, "sl_lead_email": email, "lead_email": email}
    console.send("POST", f"/public/emailcampaign-webhook/{CLIENT}", body | {"lead_category": {"new_name": label}, "campaign_id": 7})
    wait_until_read(console.origin)


def test_words__are_mapped_by_drag_and_by_keyboard_and_count_for_later_calls(empty: Console) -> None:
    category(empty, "Hot Lead", "a@words.example")
    empty.send("POST", "/public/v2/contacts", {"email": "b@words.example", "contact_status": "meeting"})
    page = empty.open(f"{HERE}&words=email_campaign/smartlead")
    word = page.locator(".word:has(.cut:text-is('Hot Lead'))")
    word.drag_to(page.get_by_label("Words that mean meeting"))
    page.get_by_text("“Hot Lead” means “meeting”.").wait_for()
    assert connections(empty)[0]["settings"]["status_labels"] == {"Hot Lead": "meeting"}
    category(empty, "Hot Lead", "c@words.example")
    assert empty.send("GET", "/public/v2/contacts?email=c@words.example")["data"][0]["contact_status"] == "meeting"

    page.get_by_role("button", name="Undo").click()
    page.get_by_text("Undone.", exact=True).wait_for()
    page.get_by_label("Words as they are").locator(".cut", has_text="Hot Lead").wait_for()
    assert connections(empty)[0]["settings"]["status_labels"] == {}
    choice = page.get_by_label("Status for the word Hot Lead")
    choice.focus()
    page.keyboard.press("ArrowDown")
    page.get_by_label("Words that set no status").locator(".cut", has_text="Hot Lead").wait_for()
    page.get_by_text("“Hot Lead” sets no status.").wait_for()
    expect(choice).to_be_focused()
    assert connections(empty)[0]["settings"]["status_labels"] == {"Hot Lead": None}


@on_sqlite
def test_word_that_is_moved_before_the_one_before_it_is_stored__takes_nothing_back(empty: Console) -> None:
    for number, label in enumerate(("Hot Lead", "Cold Lead")):
        category(empty, label, f"p{number}@words.example")
    page = empty.open(f"{HERE}&words=email_campaign/smartlead")
    held: list[Any] = []
    page.route("**/connections", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/connections")):
        page.get_by_label("Status for the word Hot Lead").select_option(label="Sets no status")
    page.get_by_label("Status for the word Cold Lead").select_option(label="Sets no status")
    page.get_by_label("Words that set no status").locator(".cut", has_text="Cold Lead").wait_for()
    for route in held:
        route.continue_()

    for label in ("Hot Lead", "Cold Lead"):
        page.get_by_text(f"“{label}” sets no status.").wait_for()
    assert connections(empty)[0]["settings"]["status_labels"] == {"Hot Lead": None, "Cold Lead": None}


def test_client__is_renamed_suspended_resumed_given_a_new_id_and_deleted(empty: Console) -> None:
    page = empty.open(HERE)

    def manage(entry: str) -> Any:
        page.get_by_role("button", name="Manage").click()
        page.locator(":popover-open").get_by_role("button", name=entry).click()
        return page.get_by_role("dialog")

    dialog = manage("Rename")
    dialog.get_by_label("Name", exact=True).fill(HOSTILE)
    dialog.get_by_role("button", name="Rename").click()
    page.locator("h1", has_text="<script>").wait_for()
    manage("Suspend").get_by_role("button", name="Suspend").click()
    page.get_by_text("The client is suspended.", exact=True).wait_for()
    page.get_by_text("Its webhooks are stored, and applied when it is resumed.", exact=False).wait_for()
    assert client(empty)["state"] == "suspended"
    manage("Resume").get_by_role("button", name="Resume").click()
    page.get_by_text("The client is active again.", exact=False).wait_for()
    dialog = manage("Give it a new id")
    dialog.get_by_label("New id", exact=True).fill("renewed")
    dialog.get_by_role("button", name="Give a new id").click()
    page.get_by_text(f"Its former id {CLIENT} is valid until", exact=False).wait_for()
    page.get_by_text("/public/crm-webhook/renewed").wait_for()

    dialog = manage("Delete")
    expect(dialog.get_by_role("button", name="Delete permanently")).to_be_disabled()
    dialog.get_by_label("Type its id", exact=False).fill("renewed")
    dialog.get_by_role("button", name="Delete permanently").click()
    page.get_by_text("It is being deleted", exact=False).wait_for()
    assert empty.server.get("/admin/v1/clients/renewed")[0] in (200, 404)
    assert empty.server.post("/public/v2/contacts", {"email": "a@x.example"}, **{"X-Client-Id": "renewed"})[0] == 404
    assert page.evaluate("window.pwned") is None


def test_administrator_of_one_client__sees_that_client_only_and_screens_have_nothing_that_axe_finds(
    start: Callable[..., Console], subtests: pytest.Subtests
) -> None:
    console = start("--auth", "api-key")
    admin = {"Authorization": f"Bearer {first_key(console.server)}"}
    for name in ("ours", "theirs"):
        console.server.post("/admin/v1/clients", {"client_id": name, "name": name.title()}, **admin)
    console.server.post("/admin/v1/clients/ours/connections", {"channel": "crm", "tool": "generic"}, **admin)
    _, made = console.server.post("/admin/v1/keys", {"name": "local", "client_id": "ours", "scopes": ["admin"]}, **admin)
    console.server.post("/public/v2/contacts", {"email": "a@x.example", "contact_status": HOSTILE[:60]}, **admin, **{"X-Client-Id": "ours"})
    page = console.open("/clients")
    page.get_by_label("API key").fill(made["key"])
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Ours").wait_for()
    settle(page)
    assert page.get_by_text("Theirs").count() == 0
    assert page.get_by_role("button", name="New client").count() == 0
    for path in (
        "/clients",
        "/clients?name=zzz",
        "/clients/ours",
        "/clients/ours?tool=crm/hubspot",
        "/clients/ours?words=crm/generic",
        "/clients/theirs",
    ):
        with subtests.test(path=path):
            console.go(page, path)
            assert look_faults(page) == []
    console.go(page, "/clients/theirs")
    expect(page.get_by_role("alert")).to_contain_text("there is no client")
    console.go(page, "/clients/ours")
    page.get_by_label("Change Another CRM").click()
    page.get_by_role("dialog").wait_for()
    assert axe_faults(page) == []
    assert page.evaluate("window.pwned") is None


def test_history_of_a_campaign_tool__is_loaded_from_its_connection(empty: Console) -> None:
    body = {"channel": "email_campaign", "tool": "lemlist", "access_token": "zq401token", "settings": {"api_base": "https://127.0.0.1:9"}}
    empty.send("POST", f"/admin/v1/clients/{CLIENT}/connections", body)
    page = empty.open(f"/clients/{CLIENT}")
    page.get_by_label("Load the history of lemlist").click()
    page.get_by_role("dialog").get_by_role("button", name="Load history").click()
    page.get_by_text("Job 1 loads it.").wait_for()
    page.get_by_role("button", name="Show it").click()
    page.wait_for_url("**/imports/1**")
    page.locator("h1", has_text="Load of history").wait_for()
    assert axe_faults(page) == []


def test_tools_of_the_console__are_those_with_an_adapter() -> None:
    source = (SOURCES.parent / "tool-names.ts").read_text(encoding="utf-8")
    adapters = load_adapters()
    for channel, name in (("email_campaign", "CAMPAIGN"), ("crm", "CRM")):
        table = source.partition(f"const {name}: Record<string, string> = {{")[2].partition("};")[0]
        assert sorted(re.findall(r"(\w+): '", table)) == load_adapters([channel]).tools(channel)
    rows = (SOURCES / "setting-table.ts").read_text(encoding="utf-8")
    fetched = rows.partition("export const FETCHED = [")[2].partition("]")[0]
    assert re.findall(r"'(\w+)'", fetched) == [each for each in adapters.tools("crm") if adapters.fetcher("crm", each)]
    assert re.findall(r"'(\w+)'", rows.partition("export const LOADED = [")[2].partition("]")[0]) == [*SOURCES_OF_HISTORY]
    timed = rows.partition("export const TIMED")[2].partition("\n")[0].partition("= {")[2]
    for channel in ("email_campaign", "crm"):
        named = timed.partition(f"{channel}: [")[2].partition("]")[0]
        assert re.findall(r"'(\w+)'", named) == [
            each for each in load_adapters([channel]).tools(channel) if adapters.has_window(channel, each)
        ]

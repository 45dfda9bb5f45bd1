"""Commands about connections: connect, list, change and disconnect, without a server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.connections.silent import fall_silent
from tests.outgoing.unsent import miss_a_push

from touchbase.common.timestamps import from_text
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.sql.commands import store_delivery
from touchbase.stores import open_store

HUBSPOT = ("--client", "acme", "--channel", "crm", "--tool", "hubspot")
SECRET = "a-secret-of-ours"


@pytest.fixture
def acme(store: Run) -> Run:
    """A store with the client acme."""
    assert store("clients", "add", "acme").exit_code == 0
    return store


def listed(run: Run) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(run("connections", "list", "--client", "acme", "--json").output)
    return document


def test_connections_add__connects_a_tool_without_showing_its_secret(acme: Run) -> None:
    created = acme("connections", "add", *HUBSPOT, "--secret", SECRET, "--public-url", "https://hooks.example.com/")
    table = acme("connections", "list", "--client", "acme")

    assert created.exit_code == 0
    assert "hubspot is connected on crm; its secret is set" in created.output
    assert "https://hooks.example.com/public/crm-webhook/acme" in created.output
    assert "x-hubspot-signature-v3" in created.output
    assert table.output.splitlines()[1].split()[:4] == ["acme", "hubspot", "crm", "set"]
    assert [(first["secret"], first["secret_count"]) for first in listed(acme)] == [("set", 1)]
    assert SECRET not in created.output + table.output + json.dumps(listed(acme))


def test_connections_add__prints_a_generated_secret_once(acme: Run) -> None:
    output = acme("connections", "add", *HUBSPOT, "--generate-secret").output

    assert "(it is shown only once)" in output
    assert [first["secret"] for first in listed(acme)] == ["set"]


def test_connections_add__reads_a_secret_from_standard_input(acme: Run) -> None:
    acme("connections", "add", *HUBSPOT, "--secret-file", "-", "--secret", "the-other-one", stdin=f"{SECRET}\n")

    assert [first["secret_count"] for first in listed(acme)] == [2]


def test_connections_add__retains_the_secret_until_no_secret_is_given(acme: Run) -> None:
    first = acme("connections", "add", *HUBSPOT)
    acme("connections", "add", *HUBSPOT, "--secret", SECRET)
    remaining = acme("connections", "add", *HUBSPOT, "--setting", "create_unknown=false")
    taken = acme("connections", "add", *HUBSPOT, "--no-secret")

    assert ["not set" in result.output for result in (first, remaining, taken)] == [True, False, True]


def test_connection_settings__are_set_one_by_one(acme: Run) -> None:
    values = [
        "status_property.contact=hs_lead_status", "status_property.company=null", "status_labels.Open Deal=open", "objects.2-17=contact",
        "create_unknown=false", 'deal_labels={"won": "customer"}', "deals_set_status=true",
    ]  # fmt: skip

    acme("connections", "add", *HUBSPOT, *(part for first in values for part in ("--setting", first)))

    (connection,) = listed(acme)
    assert connection["settings"] == {
        "status_property": {"contact": "hs_lead_status", "company": None}, "status_labels": {"Open Deal": "open"},
        "objects": {"2-17": "contact"},
        "create_unknown": False, "linkedin_reply_counts": None,
        "unknown_bounces": None, "deals_set_status": True, "deal_labels": {"won": "customer"},
        "time_zone": None, "fields": {}, "events": {},
        "api_base": None, "api_user": None, "location_id": None, "allow_v1_signatures": False, "written_property": None,
        "signature_max_age": None, "silence_alarm": True,
    }  # fmt: skip


def test_connection_setting__without_a_value_returns_to_its_default(acme: Run) -> None:
    acme(
        "connections",
        "add",
        *HUBSPOT,
        *("--setting", "objects.1=ignore", "--setting", "objects.2=contact", "--setting", "create_unknown=true"),
    )

    acme("connections", "add", *HUBSPOT, "--setting", "objects.1=", "--setting", "create_unknown=")

    settings = listed(acme)[0]["settings"]
    assert (settings["objects"], settings["create_unknown"]) == ({"2": "contact"}, None)


def test_connections_remove__removes_the_connection(acme: Run) -> None:
    acme("connections", "add", *HUBSPOT)

    first, again = acme("connections", "remove", *HUBSPOT), acme("connections", "remove", *HUBSPOT)

    assert (first.exit_code, again.exit_code) == (0, 1)
    assert "no tool 'hubspot' is connected" in again.output
    assert listed(acme) == []


@pytest.mark.parametrize(
    ("more", "status", "says"),
    [
        (["--secret", "short"], 2, "--secret: must have at least 8 characters"),
        (["--secret", "x" * 8, "--secret", "y" * 8, "--generate-secret"], 2, "at most 2 secrets"),
        (["--secret", SECRET, "--no-secret"], 2, "--no-secret cannot be combined"),
        (["--secret-file", "missing"], 1, "cannot read missing"),
        (["--setting", "status_property"], 2, "NAME=VALUE"),
        (["--setting", "colour=red"], 2, "NAME one of status_property"),
        (["--setting", "create_unknown=perhaps"], 2, "--setting create_unknown: must be true or false, not a text"),
        (["--setting", "status_labels=[1]"], 2, "--setting status_labels: must be an object, not a list"),
        (["--setting", 'status_labels={"Lost": 1}', "--setting", "api_user=1"], 2, "--setting status_labels.Lost: must be a text, not an"),
        (["--setting", "objects.1=person"], 2, "--setting objects.1: "),
        (["--setting", "fields.email=a"], 2, "is for the tool 'generic'"),
        (["--setting", "status_property.Lead=stage"], 2, "hubspot has no kind of record 'Lead'; there are contact, company"),
        (["--setting", "time_zone=Kolkata"], 2, "--setting time_zone: 'Kolkata' is not an IANA time zone"),
        (["--setting", "deals_set_status=true"], 2, "--setting deal_labels: "),
    ],
)
def test_connections_add__rejects_invalid_options(acme: Run, more: list[str], status: int, says: str) -> None:
    result = acme("connections", "add", *HUBSPOT, *more)

    assert (result.exit_code, "Traceback" in result.output) == (status, False)
    assert says in result.output
    assert listed(acme) == []


def test_channel_option__is_required_only_for_a_tool_on_both_channels(acme: Run) -> None:
    first = acme("connections", "add", "--client", "acme", "--tool", "hubspot")
    both = [acme("connections", verb, "--client", "acme", "--tool", "generic") for verb in ("add", "remove")]
    connected = listed(acme)
    gone = acme("connections", "remove", "--client", "acme", "--tool", "hubspot")

    assert (first.exit_code, "hubspot is connected on crm" in first.output) == (0, True)
    assert [(item.exit_code, "generic is on both channels: give --channel" in item.output) for item in both] == [(2, True)] * 2
    assert [(item["channel"], item["tool"]) for item in connected] == [("crm", "hubspot")]
    assert (gone.output, listed(acme)) == ("hubspot is no longer connected on crm\n", [])


def test_connections_add__names_an_unknown_tool_or_client(acme: Run) -> None:
    tool = acme("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspott")
    client = acme("connections", "add", "--client", "nobody", "--channel", "crm", "--tool", "hubspot")

    assert (tool.exit_code, client.exit_code) == (2, 1)
    assert "--tool: no crm tool is called 'hubspott'; there are activecampaign" in tool.output
    assert "there is no client 'nobody'" in client.output


TOKEN = "a-token-that-nobody-may-see"


def test_access_token__is_set_shown_as_set_and_removed(acme: Run) -> None:
    created = acme("connections", "add", *HUBSPOT, "--access-token", TOKEN)
    row = acme("connections", "list", "--client", "acme").output.splitlines()[1]
    remaining = acme("connections", "add", *HUBSPOT, "--setting", "create_unknown=false")
    shown = listed(acme)
    acme("connections", "add", *HUBSPOT, "--no-access-token")

    assert "fetched with its access token" in created.output
    assert row.split()[:8] == ["acme", "hubspot", "crm", "not", "set", "set", "idle", "0"]
    assert [(item["access_token"], item["fetching"]["state"]) for item in shown] == [("set", "idle")]
    assert [(first["access_token"], first["fetching"]) for first in listed(acme)] == [("not set", None)]
    assert TOKEN not in created.output + row + remaining.output + json.dumps(shown)


def test_access_token__is_read_from_standard_input(acme: Run) -> None:
    result = acme("connections", "add", *HUBSPOT, "--access-token-file", "-", stdin=f"{TOKEN}\n")

    assert result.exit_code == 0
    assert [first["access_token"] for first in listed(acme)] == ["set"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--access-token", "x", "--no-access-token"), "give one of"),
        (("--access-token", ""), "1 to 4000 characters"),
        (("--access-token", "two words"), "--access-token: "),
        (("--setting", "api_base=http://crm.example.com"), "TOUCHBASE_FETCH_ALLOWED_ORIGINS"),
    ],
)
def test_access_token__that_is_invalid_is_rejected(acme: Run, options: tuple[str, ...], expected: str) -> None:
    result = acme("connections", "add", *HUBSPOT, *options)

    assert result.exit_code != 0
    assert expected in result.output


def test_api_base__accepts_an_origin_allowed_by_the_operator(acme: Run) -> None:
    base = "http://127.0.0.1:9999"

    result = acme("connections", "add", *HUBSPOT, "--setting", f"api_base={base}", "--fetch-allowed-origins", base)

    assert result.exit_code == 0


def test_preview__applies_the_clients_connection_settings(acme: Run) -> None:
    acme("connections", "add", *HUBSPOT, "--setting", "status_labels.Open=warm")
    body = json.dumps([{
        "eventId": 7, "portalId": 1, "subscriptionType": "contact.propertyChange", "objectId": 1, "propertyName": "hs_lead_status",
        "propertyValue": "OPEN",
    }])  # fmt: skip

    plain = acme("preview", "--channel", "crm", "-", stdin=body).output
    decided = acme("preview", "--channel", "crm", "--connection", "acme", "-", stdin=body).output
    nobody = acme("preview", "--channel", "crm", "--connection", "nobody", "-", stdin=body)

    assert [json.loads(output)["events"][0]["status"] for output in (plain, decided)] == ["OPEN", "warm"]
    assert nobody.exit_code == 1
    assert "there is no client 'nobody'" in nobody.output


def test_connections_add__prints_the_address_with_the_current_client_id(acme: Run) -> None:
    acme("clients", "rotate-id", "acme", "--to", "newid")

    created = acme("connections", "add", *HUBSPOT, "--secret", SECRET, "--public-url", "https://hooks.example.com/")
    changed = acme("connections", "add", *HUBSPOT, "--secret", SECRET, "--public-url", "https://hooks.example.com/")

    assert "https://hooks.example.com/public/crm-webhook/newid\n" in created.output
    assert "https://hooks.example.com/public/crm-webhook/newid\n" in changed.output


@pytest.mark.parametrize("option", ["--secret-file", "--access-token-file"])
def test_secret_file__that_is_not_utf8_is_rejected(acme: Run, option: str) -> None:
    result = acme("connections", "add", *HUBSPOT, option, "-", stdin=b"\xff" * 20)

    assert result.exit_code == 1
    assert "is no text file in UTF-8" in result.output
    assert listed(acme) == []


def test_connections_remove__of_an_unconnected_tool_says_what_to_do(acme: Run) -> None:
    result = acme("connections", "remove", *HUBSPOT)

    assert result.exit_code == 1
    assert "`touchbase connections list`" in result.output


def test_connections_add__does_not_offer_a_public_key_as_a_plain_secret(acme: Run) -> None:
    public_key = "MCowBQYDK2VwAyEAi2HR1srL4o18O8BRa7gVJY7G7bupbN3H9AwJrHCDiOg="
    place = ("--client", "acme", "--channel", "crm", "--tool", "gohighlevel")

    signed = acme("connections", "add", *place, "--secret", public_key, "--setting", "location_id=l1")
    either = acme("connections", "add", *place, "--secret", public_key, "--generate-secret")

    assert ["x-ghl-signature" in item.output for item in (signed, either)] == [True, True]
    assert ["the secret itself" in item.output for item in (signed, either)] == [False, True]


def test_connections_add__without_an_encryption_key_names_the_secret_option(run: Run, empty_postgres_url: str) -> None:
    for words in (("migrate",), ("clients", "add", "acme")):
        assert run(*words, "--database", empty_postgres_url, env={"TOUCHBASE_ENCRYPTION_KEY": ""}).exit_code == 0

    value = ("--secret", SECRET, "--database", empty_postgres_url)
    result = run("connections", "add", *HUBSPOT, *value, env={"TOUCHBASE_ENCRYPTION_KEY": ""})

    assert result.exit_code == 2
    assert "Error: --secret: cannot be stored, as this server has no encryption key" in result.output


def test_connections_list__covers_all_clients_and_show_prints_one(acme: Run) -> None:
    acme("clients", "add", "other")
    acme("connections", "add", *HUBSPOT, "--setting", "status_labels.Open=warm")
    acme("connections", "add", "--client", "other", "--tool", "instantly")

    everybodys = json.loads(acme("connections", "list", "--json").output)
    shown = json.loads(acme("connections", "show", "--client", "acme", "--tool", "hubspot", "--json").output)
    text = acme("connections", "show", "--client", "acme", "--tool", "hubspot").output
    missing = acme("connections", "show", "--client", "other", "--tool", "hubspot")

    assert [(everybody["client_id"], everybody["tool"]) for everybody in everybodys] == [("acme", "hubspot"), ("other", "instantly")]
    assert shown == everybodys[0]
    assert "    Open  warm\n" in text
    assert (missing.exit_code, "`touchbase connections list` shows all" in missing.output) == (1, True)


def test_former_connection_commands__work_and_are_hidden(acme: Run) -> None:
    created = acme("clients", "connect", "acme", "--tool", "hubspot", "--secret", SECRET)
    document = json.loads(acme("clients", "connections", "acme", "--json").output)
    removed = acme("clients", "disconnect", "acme", "--tool", "hubspot")

    assert "hubspot is connected on crm; its secret is set" in created.output
    assert [first["tool"] for first in document] == ["hubspot"]
    assert (removed.output, listed(acme)) == ("hubspot is no longer connected on crm\n", [])
    assert "connect" not in acme("clients", "--help").output.partition("Commands:")[2]


def test_connections_list__shows_calls_and_silences(acme: Run, tmp_path: Path) -> None:
    acme("connections", "add", *HUBSPOT)
    last = from_text("2026-11-20T09:00:00Z")

    async def stop_calling() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/touchbase.db")
        await fall_silent(store, 1, last)
        await store.close()

    asyncio.run(stop_calling())
    row = acme("connections", "list", "--client", "acme").output.splitlines()[1]
    (shown,) = listed(acme)
    silences = acme("connections", "silences", "--client", "acme", "--tool", "hubspot").output
    none = acme("connections", "silences", "--client", "acme", "--tool", "attio")

    assert "2026-11-20 09:00" in row
    assert (shown["calls"]["per_day"], shown["calls"]["silent_since_time"]) == (96.0, "2026-11-20T09:00:00Z")
    assert silences.splitlines()[1].split() == ["2026-11-20", "09:00", "2026-11-21", "09:00", "-", "96.0", "900"]
    assert (none.exit_code, "`touchbase connections list` shows all" in none.output) == (1, True)


def test_connections_add_dry_run__says_what_stored_webhooks_would_become(acme: Run, tmp_path: Path) -> None:
    body = b'{"kind": "person.updated", "data": {"mail": "ann@example.com", "plan": "Gold"}}'
    asyncio.run(store_webhook(f"sqlite:///{tmp_path}/touchbase.db", body))
    acme("worker", "--once")
    chosen = ("--setting", "fields.event=kind", "--setting", "fields.email=data.mail", "--setting", "fields.custom.Plan=data.plan")
    tool = ("--client", "acme", "--channel", "crm", "--tool", "generic")

    tried = acme("connections", "add", *tool, *chosen, "--dry-run", "--since", "1970-01-01")
    as_json = json.loads(acme("connections", "add", *tool, *chosen, "--dry-run", "--since", "1970-01-01", "--json").output)
    refused = acme("connections", "add", *tool, "--setting", "fields.mail=data.mail", "--dry-run")
    with_secret = acme("connections", "add", *tool, *chosen, "--dry-run", "--generate-secret")
    wrong = acme("connections", "add", *tool, "--setting", "fields.email=data.post", "--dry-run", "--since", "1970-01-01")

    assert "1  unrecognised -> applied, 1 events" in tried.output
    assert "custom field Plan Gold" in tried.output
    [delivery] = as_json["would"]["deliveries"]
    assert delivery["records"][0]["changed"]["custom field Plan"] == [None, "Gold"]
    assert (refused.exit_code, "--setting fields.mail" in refused.output) == (2, True)
    assert "finds nobody in this body: it has nothing usable at data.post" in wrong.output
    assert (with_secret.exit_code, "leave out secrets" in with_secret.output) == (2, True)
    assert listed(acme) == []


async def store_webhook(url: str, body: bytes) -> None:
    """Store a webhook of a CRM, as a server that received it."""
    store = await open_store(url)
    try:
        await store.write(store_delivery(1, "crm", body_key("crm", "", "", body), b"{}", "", body, 5))
    finally:
        await store.close()


def test_pushes__are_listed_with_the_reason_the_tools_words_and_the_advice(acme: Run, tmp_path: Path) -> None:
    push = ("--client", "acme", "--tool", "lemlist")
    acme("connections", "add", *push, "--access-token", "a-token-of-ours")
    assert acme("endpoints", "add", "--client", "acme", "--kind", "blocklist", "--tool", "lemlist").exit_code == 0
    acme("suppressions", "add", "--client", "acme", "jane@example.com", "joe@example.com")
    empty = acme("connections", "pushes", *push)

    async def refuse() -> None:
        store = await open_store(f"sqlite:///{tmp_path}/touchbase.db")
        await miss_a_push(store, 1, 1, [1, 2], from_text("2026-11-20T09:00:00Z"))
        await store.close()

    asyncio.run(refuse())
    shown = acme("connections", "pushes", *push)
    again = acme("connections", "pushes", *push, "--retry")

    assert "lemlist has taken all that was pushed to it" in empty.output
    assert [line.split()[1:4] for line in shown.stdout.splitlines()[1:]] == [["evt_2", "waiting", "1"]]
    assert shown.stderr.splitlines() == [
        "evt_2: the tool answered 400. Read the tool's words, and correct the address here or put it on the list in the tool by hand; "
        "retry sends it again.",
        "  refused",
    ]
    assert again.output.split() == ["events", "1"]
    assert acme("connections", "pushes", *push, "--event", "evt_2").exit_code == 2

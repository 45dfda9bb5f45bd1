"""The do-not-contact lists over HTTP: put on, list, look up, remove, export."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from tests.do_not_contact.conftest import INSTALLATION, JANE, LIST, DoNotContact

from touchbase.auth.authentication import ADMIN, READ, WRITE, add_key
from touchbase.clients.sql.clients import find_client
from touchbase.do_not_contact.api import resource
from touchbase.sql.store import Store

NOW = "2026-11-20T09:30:00Z"
ENTRY = {
    "id": 1,
    "kind": "email",
    "value": JANE,
    "reason": "requested",
    "source": "api",
    "note": "",
    "since": NOW,
    "until": None,
    "active": True,
    "created_time": NOW,
    "updated_time": NOW,
    "tool": None,
    "delivery_id": None,
}
CLEAR = {"suppressed": False, "reason": None, "list": None, "kind": None, "value": None, "since": None, "until": None}


async def test_one_entry__is_stored_in_normal_form(dnc: DoNotContact) -> None:
    reply = await dnc.call.post(LIST, {"value": " Jane@EXAMPLE.com "})

    assert reply.status == 201
    assert reply.headers["location"] == f"{LIST}/1"
    created = {"data": [{"outcome": "created", "entry": ENTRY, "errors": []}], "created": 1, "updated": 0, "unchanged": 0, "invalid": 0}
    assert reply.json() == created
    assert (await dnc.call.get(f"{LIST}/1")).json() == ENTRY
    assert await dnc.entries() == [ENTRY]


@pytest.mark.parametrize("path", [LIST, INSTALLATION])
async def test_saving_an_entry_again__changes_nothing_and_other_values_replace_it(dnc: DoNotContact, path: str) -> None:
    first: dict[str, Any] = {"value": JANE, "reason": "legal", "note": "letter", "until": "2027-01-01T00:00:00Z"}
    await dnc.add(first, path=path)
    dnc.call.clock.move(5)

    again = await dnc.call.post(path, first)
    changed = await dnc.call.post(path, {**first, "note": "phone", "until": None, "source": "person"})

    assert again.status == changed.status == 200
    assert again.json()["data"][0]["outcome"] == "unchanged"
    assert changed.json()["data"][0]["outcome"] == "updated"
    result = {**ENTRY, "reason": "legal", "note": "phone", "source": "person", "updated_time": "2026-11-20T09:30:05Z"}
    assert await dnc.entries(path=path) == [result]


async def test_invalid_entry_among_others__is_reported_in_its_place(dnc: DoNotContact) -> None:
    created = await dnc.add({"value": "not an address@"}, {"value": JANE}, {"value": "x", "kind": "linkedin_url"}, {"value": JANE.upper()})

    assert [item["outcome"] for item in created["data"]] == ["invalid", "created", "invalid", "created"]
    assert [item["errors"][0]["pointer"] for item in created["data"] if item["errors"]] == ["/entries/0/value", "/entries/2/value"]
    assert (created["created"], created["invalid"]) == (2, 2)
    assert await dnc.listed() == {JANE: "requested"}


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/value"]),
        ({"entries": []}, ["/entries"]),
        ({"entries": [{"value": "a@b.co"}], "value": "c@d.co"}, ["/value"]),
        ({"value": "no address"}, ["/value"]),
        ({"value": "a@b.co", "reason": "dislike"}, ["/reason"]),
        ({"value": "a@b.co", "source": "event"}, ["/source"]),
        ({"value": "a@b.co", "until": "2026-01-01T00:00:00Z"}, ["/until"]),
        ({"value": "a@b.co", "since": "2027-01-01T00:00:00Z", "until": "later"}, ["/until", "/since"]),
        ({"value": "a@b.co", "kinds": "email"}, ["/kinds"]),
        ({"value": "a@b.co\0"}, ["/value"]),
        ({"entries": [{"value": "a@b.co"}] * 1001}, ["/entries"]),
    ],
)
async def test_wrong_body__is_refused_naming_the_member(dnc: DoNotContact, body: dict[str, Any], pointers: list[str]) -> None:
    reply = await dnc.call.post(LIST, body)

    assert reply.status == 422
    assert [fault["pointer"] for fault in reply.problem["errors"]] == pointers
    assert await dnc.entries() == []


async def test_list_of_a_thousand_entries__is_stored_at_once(dnc: DoNotContact) -> None:
    created = await dnc.add(*({"value": f"p{n}@example.com"} for n in range(1000)))

    assert created["created"] == 1000
    assert [item["entry"]["value"] for item in created["data"]] == [f"p{n}@example.com" for n in range(1000)]


@pytest.mark.parametrize("path", [LIST, INSTALLATION])
async def test_entries__are_filtered_and_come_in_pages(dnc: DoNotContact, path: str) -> None:
    until = "2026-11-20T10:00:00Z"
    await dnc.add({"value": "b.example", "reason": "competitor"}, {"value": JANE, "until": until}, path=path)
    dnc.call.clock.move(1)
    await dnc.add({"value": "https://www.linkedin.com/in/Jane/", "source": "import"}, path=path)
    dnc.call.clock.move(3600)

    async def values(query: str) -> list[str]:
        return [entry["value"] for entry in await dnc.entries(query, path)]

    linkedin = "linkedin.com/in/jane"
    first = (await dnc.call.get(f"{path}?limit=2")).json()
    second = (await dnc.call.get(f"{path}?limit=2&cursor={first['next_cursor']}")).json()
    assert [item["value"] for item in first["data"] + second["data"]] == ["b.example", JANE, linkedin]
    assert second["next_cursor"] is None
    assert await values("?kind=domain") == ["b.example"]
    assert await values("?value=JANE@example.com") == [JANE]
    assert await values("?value=linkedin.com/in/jane") == [linkedin]
    assert await values("?reason=competitor") == ["b.example"]
    assert await values("?source=import") == [linkedin]
    assert await values("?active=true") == ["b.example", linkedin]
    assert await values("?active=false") == [JANE]
    assert [entry["active"] for entry in await dnc.entries(path=path)] == [True, False, True]
    assert (await dnc.call.get(f"{path}?value=none")).problem["errors"][0]["pointer"] == "?value"
    assert (await dnc.call.get(f"{path}?cursor={first['next_cursor'][:-2]}")).status == 422


@pytest.mark.parametrize("path", [LIST, INSTALLATION])
async def test_removed_entry__is_gone_and_can_be_put_on_again(dnc: DoNotContact, path: str) -> None:
    await dnc.add({"value": JANE}, path=path)

    assert (await dnc.call("DELETE", f"{path}/1")).status == 204

    assert (await dnc.call("DELETE", f"{path}/1")).status == 404
    assert (await dnc.call.get(f"{path}/1")).status == 404
    assert await dnc.entries(path=path) == []
    assert (await dnc.check({"email": JANE}))[0]["suppressed"] is False
    assert (await dnc.add({"value": JANE}, path=path))["created"] == 1
    assert (await dnc.check({"email": JANE}))[0]["suppressed"] is True


async def test_check__says_for_each_item_why_and_by_which_list(dnc: DoNotContact) -> None:
    await dnc.add({"value": JANE, "reason": "legal"}, {"value": "rival.example", "reason": "competitor"}, {"value": "linkedin.com/in/joe"})
    await dnc.add({"value": "shared.example", "reason": "customer"}, {"value": JANE, "reason": "other"}, path=INSTALLATION)

    result = await dnc.check(
        {"email": "JANE@example.com"},
        {"email": "any@mail.rival.example"},
        {"linkedin_url": "https://de.linkedin.com/in/Joe?x=1", "email": "joe@else.example"},
        {"domain": "https://shared.example/about"},
        {"email": "free@else.example"},
        {"email": "broken@", "domain": "rival.example"},
        {},
    )

    assert [(item["reason"], item["list"], item["kind"], item["value"]) for item in result] == [
        ("legal", "client", "email", JANE),
        ("competitor", "client", "domain", "rival.example"),
        ("requested", "client", "linkedin_url", "linkedin.com/in/joe"),
        ("customer", "installation", "domain", "shared.example"),
        (None, None, None, None),
        ("competitor", "client", "domain", "rival.example"),
        (None, None, None, None),
    ]
    assert result[4] == {**CLEAR, "errors": []}
    assert [error["pointer"] for item in result for error in item["errors"]] == ["/items/5/email", "/items/6"]


async def test_entry_that_is_over__leaves_the_one_of_the_other_list_in_force(dnc: DoNotContact) -> None:
    await dnc.add({"value": JANE, "until": "2026-11-20T10:00:00Z"})
    await dnc.add({"value": "example.com", "reason": "legal"}, path=INSTALLATION)

    before = await dnc.reasons({"email": JANE})
    dnc.call.clock.move(1800)

    assert (before, await dnc.reasons({"email": JANE})) == (["requested"], ["legal"])


async def test_file_for_tools__has_the_active_entries_of_all_pages(dnc: DoNotContact, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "EXPORT_PAGE", 2)
    await dnc.add({"value": "over@example.com", "until": "2026-11-20T09:30:01Z"})
    await dnc.add(*({"value": f"p{n}@example.com", "note": '=1+1, "x"'} for n in range(5)))
    dnc.call.clock.move(2)

    reply = await dnc.call.get(f"{LIST}?format=csv")

    assert reply.status == 200
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(reply.body.decode(), newline="")))
    assert rows[0] == ["kind", "value", "reason", "source", "since", "until", "note"]
    assert rows[1:] == [["email", f"p{n}@example.com", "requested", "api", NOW, "", '\'=1+1, "x"'] for n in range(5)]
    over = await dnc.call.get(f"{LIST}?format=csv&active=false")
    assert over.body.splitlines()[1:] == [f"email,over@example.com,requested,api,{NOW},2026-11-20T09:30:01Z,".encode()]
    assert (await dnc.call("HEAD", f"{LIST}?format=csv")).body == b""


async def test_clients_list__is_of_no_effect_for_another_and_cannot_be_read_by_it(dnc: DoNotContact) -> None:
    await dnc.add({"value": JANE}, x_client_id="other")

    assert await dnc.entries() == []
    assert await dnc.reasons({"email": JANE}) == [None]
    assert (await dnc.call.get(f"{LIST}/1")).status == (await dnc.call("DELETE", f"{LIST}/1")).status == 404
    assert (await dnc.call.get(f"{LIST}/1", x_client_id="other")).status == 200


async def test_installations_list__needs_a_key_of_no_client(store: Store, make_client: Any) -> None:
    call = make_client(store, auth="api-key")
    everything = await add_key(store, None, [ADMIN, READ, WRITE], "all", 1)
    our = await call("PUT", "/admin/v1/clients/ours", {"settings": {}}, authorization=f"Bearer {everything}")
    assert our.status == 201
    client = await store.read(find_client("ours"))
    assert client is not None
    number = client.number
    ours = await add_key(store, number, [ADMIN, READ, WRITE], "ours", 1)
    reading = await add_key(store, number, [READ], "reading", 1)

    refused = await call.get(INSTALLATION, authorization=f"Bearer {ours}")
    written = await call.post(LIST, {"value": JANE}, authorization=f"Bearer {reading}")
    checked = await call.post(f"{LIST}/check", {"items": [{"email": JANE}]}, authorization=f"Bearer {reading}")

    assert (refused.status, written.status, checked.status) == (403, 403, 200)
    assert (await call.get(INSTALLATION, authorization=f"Bearer {everything}")).status == 200


async def test_repeated_request_with_a_key__gets_the_first_response_without_addresses(dnc: DoNotContact, execute_sql: Any) -> None:
    first = await dnc.call.post(LIST, {"value": JANE, "note": "canary"}, idempotency_key="k1")
    again = await dnc.call.post(LIST, {"value": JANE, "note": "canary"}, idempotency_key="k1")

    assert (first.status, again.status) == (201, 201)
    assert first.json()["data"][0]["entry"]["value"] == JANE
    assert again.json()["data"][0]["entry"] == {**ENTRY, "value": None, "note": ""}
    stored = await execute_sql("SELECT response FROM idempotency_key")
    assert b"canary" not in bytes(stored[0][0])

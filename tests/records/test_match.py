"""POST .../match: what is known about many people or companies at once, in one client and in all."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.examples import examples

from touchbase.auth.service import add_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.records.api.match_schemas import MAX_ITEMS
from touchbase.records.sql.lookup import MAX_LOOKUPS
from touchbase.sql.store import Store
from touchbase.stores import open_store
from touchbase.web import Dependencies

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
UNKNOWN = {"id": None, "contact_status": None, "last_campaign_email_sent": None, "last_reply_received": None, "suppressed": None}


async def match(call: ApiClient, *items: object, path: str = CONTACTS, **headers: str) -> Any:
    reply = await call.post(f"{path}/match", {"items": list(items)}, **headers)
    assert reply.status == 200, reply
    return reply.json()["data"]


async def test_match__says_what_is_known_in_the_order_of_the_items(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com", "contact_status": "won"})
    await call.post(CONTACTS, {"linkedin_url": "linkedin.com/in/john"})

    result = await match(
        call, {"email": "JANE@Example.com"}, {"email": "other@example.com"}, {"linkedin_url": "https://de.linkedin.com/in/John/?x=1"},
        {"email": "jane@example.com", "linkedin_url": "linkedin.com/in/elsewhere"}, {"email": None, "linkedin_url": "linkedin.com/in/john"},
    )  # fmt: skip

    jane, john = {**UNKNOWN, "id": 1, "contact_status": "won"}, {**UNKNOWN, "id": 2}
    assert result == [jane, UNKNOWN, john, jane, john]


async def test_match__says_who_must_not_be_contacted_and_why(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com", "linkedin_url": "linkedin.com/in/jane"})
    listed = [{"value": "jane@example.com", "reason": "unsubscribed"}, {"value": "blocked.example", "reason": "competitor"}]
    await call.post("/public/v2/suppressions", {"entries": listed})

    people = await match(
        call, {"email": "jane@example.com"}, {"linkedin_url": "linkedin.com/in/jane"}, {"email": "new@mail.blocked.example"},
        {"email": "free@example.com"}, {"email": "nonsense"},
    )  # fmt: skip
    firms = await match(call, {"domain": "blocked.example"}, {"domain": "example.com"}, path=COMPANIES)

    assert [person["suppressed"] for person in people] == ["unsubscribed", "unsubscribed", "competitor", None, None]
    assert [firm["suppressed"] for firm in firms] == ["competitor", None]


async def test_match__covers_the_addresses_of_the_record_where_the_item_names_others(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com", "linkedin_url": "linkedin.com/in/jane"})
    await call.post("/public/v2/suppressions", {"value": "jane@example.com", "reason": "unsubscribed"})

    [result] = await match(call, {"email": "jane@new.example", "linkedin_url": "linkedin.com/in/jane"})

    assert (result["id"], result["suppressed"]) == (None, "unsubscribed")
    assert result["error"]["detail"] == "contact 1 has this linkedin_url, and another email; send one of them"


async def test_match__shows_the_dates_of_mails_and_replies(call: ApiClient, execute_sql: Any) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})
    await execute_sql("UPDATE contact SET last_sent_us = ?, last_reply_us = ?", call.clock.now, call.clock.now + 1_000_000)

    [result] = await match(call, {"email": "jane@example.com"})

    assert result["last_campaign_email_sent"] == "2026-11-20T09:30:00Z"
    assert result["last_reply_received"] == "2026-11-20T09:30:01Z"


async def test_match__of_a_profile_with_a_former_address_finds_whom_an_upsert_finds(call: ApiClient) -> None:
    profile = "linkedin.com/in/jane"
    number = (await call.post(CONTACTS, {"email": "old@example.com", "linkedin_url": profile, "external_id": "7"})).json()["id"]
    await call.patch(f"{CONTACTS}/{number}", {"email": "new@example.com"})

    items = [{"email": email, "linkedin_url": profile} for email in ("old@example.com", "new@example.com", "joe@example.com")]
    result = await match(call, *items, {**items[2], "external_id": "7"})

    assert [entry.get("id") for entry in result] == [number, number, None, number]
    assert result[2]["error"]["code"] == "ambiguous"
    for item, element in zip(items, result, strict=False):
        upsert = await call.post(f"{CONTACTS}?on_duplicate=return", item)
        assert (upsert.status, upsert.json().get("id")) == ((200, number) if "error" not in element else (409, None))


async def test_match__reports_wrong_items_at_their_places(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})
    await call.post(CONTACTS, {"linkedin_url": "linkedin.com/in/john"})

    result = await match(
        call, {"email": "nonsense"}, {}, 7, {"email": 7}, {"domain": "example.com"}, {"crm_id": "1"}, {"linkedin_url": "n/a"},
        {"email": "jane@example.com", "linkedin_url": "linkedin.com/in/john"}, {"email": "jane@example.com"},
    )  # fmt: skip

    codes = [item["error"]["code"] if "error" in item else None for item in result]
    assert codes == ["email", "required", "type", "type", "unknown", "unknown", "no_identity", "ambiguous", None]
    assert "contacts 1 and 2" in result[7]["error"]["detail"]
    assert [item["id"] for item in result] == [None] * 8 + [1]


async def test_match__of_companies(call: ApiClient) -> None:
    await call.post(COMPANIES, {"domain": "example.com", "company_status": "target"})

    result = await match(call, {"domain": "https://www.Example.com/x"}, {"domain": "other.example"}, {"domain": "no"}, path=COMPANIES)

    assert result[:2] == [
        {"id": 1, "company_status": "target", "suppressed": None}, {"id": None, "company_status": None, "suppressed": None},
    ]  # fmt: skip
    assert result[2]["error"]["code"] == "domain"


@pytest.mark.parametrize(("items", "code"), [([], "too_short"), ([{}] * (MAX_ITEMS + 1), "too_long"), (None, "required")])
async def test_match__limits_the_items(sqlite_call: ApiClient, items: Any, code: str) -> None:
    reply = await sqlite_call.post(f"{CONTACTS}/match", {} if items is None else {"items": items})

    assert (reply.status, [(error["pointer"], error["code"]) for error in reply.problem["errors"]]) == (422, [("/items", code)])


async def test_match__of_an_administrator_names_the_clients_that_have_it(call: ApiClient) -> None:
    for client in ("acme", "other"):
        await call.post(CONTACTS, {"email": "jane@example.com", "contact_status": client}, x_client_id=client)
        await call.post(COMPANIES, {"domain": "example.com"}, x_client_id=client)
    await call.post(CONTACTS, {"linkedin_url": "linkedin.com/in/jane"}, x_client_id="acme")

    data = await match(call, {"email": "jane@example.com"}, {"email": "no@example.com"}, {}, path="/admin/v1/contacts")
    both = await match(call, {"email": "jane@example.com", "linkedin_url": "linkedin.com/in/jane"}, path="/admin/v1/contacts")
    firms = await match(call, {"domain": "example.com"}, path="/admin/v1/companies")

    assert [(item["client_id"], item["contact_status"]) for item in data[0]["clients"]] == [("acme", "acme"), ("other", "other")]
    assert (data[1], data[2]["clients"], data[2]["error"]["code"]) == ({"clients": []}, [], "required")
    assert [item["client_id"] for item in both[0]["clients"]] == ["acme", "acme", "other"]
    assert [item["client_id"] for item in firms[0]["clients"]] == ["acme", "other"]


async def test_match__stays_within_the_client_of_the_key(store: Store, make_client: MakeClient) -> None:
    unlocked = make_client(store)
    for client in ("acme", "other"):
        await unlocked.post(CONTACTS, {"email": f"{client}@example.com"}, x_client_id=client)
    call = make_client(store, auth="api-key")
    number = (await store.write(ensure_client("acme", 1))).number
    keys = {}
    for name, scopes, client in (("one", ["admin"], number), ("all", ["admin"], None), ("reader", ["records:read"], number)):
        keys[name] = {"authorization": f"Bearer {await add_key(store, client, scopes, name, call.clock())}"}
    items = [{"email": "acme@example.com"}, {"email": "other@example.com"}]

    own = await match(call, *items, **keys["reader"])
    first_match = await match(call, *items, path="/admin/v1/contacts", **keys["one"])
    everything = await match(call, *items, path="/admin/v1/contacts", **keys["all"])
    refused = await call.post("/admin/v1/contacts/match", {"items": items}, **keys["reader"])

    assert [item["id"] is not None for item in own] == [True, False]
    assert [len(item["clients"]) for item in first_match] == [1, 0]
    assert [len(item["clients"]) for item in everything] == [1, 1]
    assert (refused.status, refused.problem["code"]) == (403, "insufficient_scope")


async def test_match__refuses_too_many_lookups(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await call.post(CONTACTS, {"email": "jane@example.com"})
    monkeypatch.setattr("touchbase.records.sql.lookup.MAX_LOOKUPS", 1)

    reply = await call.post("/admin/v1/contacts/match", {"items": [{"email": "a@example.com"}, {"email": "b@example.com"}]})

    assert MAX_LOOKUPS >= MAX_ITEMS
    assert (reply.status, reply.problem["errors"][0]["code"]) == (422, "too_many")


KEYS = st.fixed_dictionaries(
    {},
    optional={
        "email": st.sampled_from(["a@example.com", "A@Example.com", "b@example.com", "nonsense", "", None]),
        "linkedin_url": st.sampled_from(["linkedin.com/in/aaa", "https://www.linkedin.com/in/AAA/", "linkedin.com/in/bbb", "n/a", None]),
    },
)


@given(st.lists(KEYS, max_size=5), st.lists(KEYS, min_size=1, max_size=20))
@settings(max_examples=examples(60), deadline=None)
def test_any_item__finds_what_a_filtered_list_finds(people: list[dict[str, Any]], items: list[dict[str, Any]]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(f"sqlite:///{folder}/s.db")
            try:
                call = ApiClient(Dependencies(store=store, clock=Clock()), Clock())
                for person in people:
                    await call.post(CONTACTS, person)
                result = await match(call, *items)
                for item, answer in zip(items, result, strict=True):
                    owners = dict[str, list[dict[str, Any]]]()
                    for name, value in item.items():
                        listed = await call.get(f"{CONTACTS}?{name}={value}") if value and value.strip() else None
                        if listed is not None and listed.status == 200:
                            owners[name] = listed.json()["data"]
                    ids = {contact["id"] for contacts in owners.values() for contact in contacts}
                    # An address of nobody beside the profile of a contact that has another address is another person's.
                    is_another = owners.get("email") == [] and any(contact.get("email") for contact in owners.get("linkedin_url", ()))
                    if len(ids) > 1 or is_another:
                        assert answer["error"]["code"] in ("ambiguous", "email", "no_identity")
                    else:
                        assert answer["id"] == next(iter(ids), None) or answer["error"]["code"] in ("email", "no_identity")
            finally:
                await store.close()

    asyncio.run(run())

"""Order does not matter for what was fetched either: thin calls, campaign calls and fetched records in any order, repetition and split."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.enrichment.fake_tool_api import ADAPTERS
from tests.examples import examples

from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND, to_text
from touchbase.consistency.service import Verified, verify
from touchbase.history.sql import get_history
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count()
TYPES = {
    "hubspot": ("contact", "company:company"), "attio": ("people", "company:companies"), "zoho": ("Leads", "company:Accounts"),
    "copper": ("person", "company:company"), "monday": ("item", "company:item"), "folk": ("person", "company:company"),
}  # fmt: skip


@dataclass(frozen=True)
class Told:
    """One call or fetched record, as it is kept, at its own time of receipt."""

    tool: str
    at: int
    body: str
    query: str = ""
    fetched: str = ""

    @property
    def channel(self) -> str:
        return "crm" if self.tool else "email_campaign"


def thin(tool: str, number: int, what: str, kind: str, at: int) -> Told:
    """A call that says only that an object was made or changed."""
    created, company = what == "created", kind == "company"
    if tool == "hubspot":
        action = "creation" if created else "restore"
        body: Any = [{"eventId": at, "portalId": 1, "occurredAt": at // 1000, "subscriptionType": f"{kind}.{action}", "objectId": number}]
    elif tool == "attio":
        body = {"event_type": f"record.{what}", "id": {"workspace_id": "w", "object_id": "o", "record_id": str(number)}}
    elif tool == "zoho":
        module = "Accounts" if company else "Leads"
        body = {
            "server_time": at // 1000,
            "channel_id": "1",
            "module": module,
            "operation": "insert" if created else "update",
            "ids": [str(number)],
        }
    elif tool == "copper":
        body = {"ids": [number], "type": "company" if company else "person", "event": "new" if created else "update", "subscription_id": 1}
    elif tool == "monday":
        event = "create_pulse" if created else "restore_pulse"
        body = {"event": {"boardId": 5, "type": event, "triggerTime": to_text(at), "triggerUuid": f"{at}", "pulseId": number}}
    else:
        source = "https://api.folk.app/v1/webhooks/w"
        word = "company" if company else "person"
        body = {"id": f"e{at}", "type": f"{word}.{what}", "createdAt": to_text(at), "source": source, "data": {"id": str(number)}}
    query = {"attio": f"object={'companies' if company else 'people'}", "monday": f"object={kind}"}.get(tool, "")
    return Told(tool, at, json.dumps(body), query)


def full_record(tool: str, number: int, kind: str, owner: str | None, status: str | None, at: int) -> Told:
    """The object's record as the tool told it: with its e-mail address (or domain), if it has one yet."""
    reported, time, company = str(number), to_text(at), kind == "company"
    body: Any
    if tool == "hubspot":
        body = {"id": reported, "properties": {"domain" if company else "email": owner, "lifecyclestage": status, "lastmodifieddate": time}}
    elif tool == "attio":
        name = "domains" if company else "email_addresses"
        values = {
            name: [{"domain" if company else "email_address": owner, "active_from": time}],
            "status": [{"value": status, "active_from": time}],
        }
        body = {"id": {"record_id": reported}, "values": values}
    elif tool == "zoho":
        body = {
            "id": reported,
            "Website" if company else "Email": owner,
            "Account_Status" if company else "Lead_Status": status,
            "Modified_Time": time,
        }
    elif tool == "copper":
        mails = [{"email": owner}] if owner else []
        body = {
            "id": number,
            **({"email_domain": owner} if company else {"emails": mails}),
            "status": status,
            "date_modified": at // SECOND,
        }
    elif tool == "monday":
        column = {
            "id": "a",
            "type": "link" if company else "email",
            "text": "",
            "value": json.dumps({"url" if company else "email": owner}),
        }
        stage = {"id": "s", "type": "status", "text": status, "value": json.dumps({"changed_at": time})}
        body = {"id": reported, "state": "active", "updated_at": time, "column_values": [column, stage]}
    else:
        body = {"id": reported, **({"domain": owner} if company else {"emails": [owner]}), "customFieldValues": {"g": {"Status": status}}}
    return Told(tool, at, json.dumps(body), fetched=TYPES[tool][int(company)])


def mail(email: str, what: str, at: int) -> Told:
    """A campaign tool mails somebody, or they answer."""
    body = {
        "event_type": what,
        "timestamp": to_text(at),
        "workspace": "w",
        "campaign_id": "c",
        "lead_email": email,
        "email_account": "u@e.net",
    }
    return Told("", at, json.dumps(body))


def owner_of(number: int, kind: str) -> str:
    return f"{number}.example" if kind == "company" else f"{number}@example.com"


def told_of(tool: str, drawn: tuple[str, int, str, bool, str | None], step: int) -> Told:
    what, number, kind, is_known, status = drawn
    at = NOON + step * SECOND
    if what in ("email_sent", "reply_received"):
        return mail(owner_of(number, "contact"), what, at)
    # People and companies of one tool have ids of their own.
    number += 10 if kind == "company" else 0
    if what == "whole":
        return full_record(tool, number, kind, owner_of(number, kind) if is_known else None, status, at)
    return thin(tool, number, what, kind, at)


facts = st.tuples(
    st.sampled_from(["created", "updated", "whole", "whole", "email_sent", "reply_received"]), st.integers(1, 2),
    st.sampled_from(["contact", "contact", "company"]), st.booleans(), st.sampled_from([None, "lead", "customer"]),
)  # fmt: skip


async def receive(store: Store, client: int, calls: list[Told], batch: int) -> None:
    worker = InboxWorker(store, ADAPTERS.translate, lambda: NOON + 100 * SECOND, batch_size=batch)
    for first in range(0, len(calls), batch):
        for call in calls[first : first + batch]:
            headers = json.dumps({"x-touchbase-fetched": call.fetched} if call.fetched else {}).encode()
            key = b"%016d" % next(COUNT)
            tool = call.tool or "instantly"
            await store.write(store_delivery(client, call.channel, key, headers, call.query, call.body.encode(), call.at, tool, True))
        await worker.drain()


async def snapshot(store: Store, client: int) -> list[Any]:
    """The records, and of their histories what does not name a delivery."""
    observed: list[Any] = []
    for kind in (CONTACT_TYPE, COMPANY_TYPE):
        for listed in await store.read(list_records(Listing(kind, client, 200))):
            record = await store.read(find_record(client, kind, listed.id))
            values = msgspec.to_builtins(record)
            of_the_store = ("client", "id", "created_us", "updated_us", "status_entry_key", "status_cause", "stamps", "custom_fields")
            plain = {name: value for name, value in values.items() if name not in of_the_store}
            plain["custom"] = sorted(
                (custom_field.name, custom_field.value, custom_field.stamped_us) for custom_field in record.custom_fields
            )
            # What has no time of its own counts once for each time that it is told.
            history = await store.read(get_history(client, kind.kind, listed.id))
            plain["timeline"] = sorted({(event.occurred_us, event.event, event.status) for event in history}, key=str)
            observed.append(plain)
    return sorted(observed, key=lambda first: str(first.get("email_key") or first.get("domain")))


@pytest.mark.slow_on_postgresql
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tool=st.sampled_from(sorted(TYPES)), drawn=st.lists(facts, min_size=1, max_size=9), data=st.data())
async def test_projection__is_equal_for_any_order_of_thin_webhooks_and_fetched_records(
    store: Store, tool: str, drawn: list[tuple[str, int, str, bool, str | None]], data: st.DataObject
) -> None:
    calls = [told_of(tool, item, step) for step, item in enumerate(drawn)]
    again = data.draw(st.lists(st.sampled_from(calls), max_size=3))
    shuffled = data.draw(st.permutations([*calls, *again]))
    first, second = [(await store.write(ensure_client(f"client-{next(COUNT)}", NOON))).number for _ in range(2)]

    await receive(store, first, calls, batch=20)
    await receive(store, second, shuffled, batch=data.draw(st.integers(1, 4)))

    assert await snapshot(store, second) == await snapshot(store, first)
    assert [str(item) for client in (first, second) async for item in verify(store, client, Verified())] == []


async def test_convergence_cases__create_records_of_every_tool(store: Store) -> None:
    for tool in TYPES:
        client = (await store.write(ensure_client(tool, NOON))).number
        calls = [
            thin(tool, 1, "created", "contact", NOON), full_record(tool, 1, "contact", "1@example.com", "lead", NOON + 1),
            thin(tool, 11, "created", "company", NOON), full_record(tool, 11, "company", "11.example", "customer", NOON + SECOND),
        ]  # fmt: skip
        await receive(store, client, calls, batch=2)

        assert [(item.get("email"), item.get("domain"), item["status"]) for item in await snapshot(store, client)] == [
            (None, "11.example", "customer"), ("1@example.com", None, "lead"),
        ]  # fmt: skip

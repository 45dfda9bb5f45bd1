"""API writes among webhooks: each stands at its own time, whatever comes before or after it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CONTACT, Event, Translation
from touchbase.history.sql import get_history
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.records.api.resource_type import company_out, contact_out
from touchbase.records.api.schemas import CompanyRequest, ContactRequest
from touchbase.records.create import create_record, creation_of
from touchbase.records.models import Company, Contact
from touchbase.records.operations import update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, find_united, list_records
from touchbase.records.sql.status_moves import counts_of
from touchbase.records.timelines import explain
from touchbase.records.writes import RecordUpdate, new_write_key
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count(1)
ANN, BOB = "ann@example.com", "bob@example.com"


def at(step: int) -> int:
    return NOON + step * SECOND


@dataclass(frozen=True)
class Call:
    """One webhook call, received at its own time."""

    events: Sequence[dict[str, Any]]
    received: int


@dataclass(frozen=True)
class Post:
    """A contact created with `on_duplicate=update`."""

    step: int
    body: dict[str, Any]


@dataclass(frozen=True)
class Patch:
    """A change of the contact that the first `Post` of this address made or met."""

    step: int
    email: str
    changes: dict[str, Any]
    custom: dict[str, str | None] = field(default_factory=dict)
    clear: bool = False


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are our own events."""
    return Translation("test", [Event(**item) for item in msgspec.json.decode(request.body)])


class World:
    """One client, its calls and its API writes, carried out as they come."""

    def __init__(self, store: Store, client: Client) -> None:
        self.store = store
        self.client = client
        self.ids: dict[str, int] = {}

    @classmethod
    async def begin(cls, store: Store) -> World:
        created = cls(store, await store.write(ensure_client(f"client-{next(COUNT)}", NOON)))
        for domain in ("one.example", "two.example"):
            await create_record(store, creation_of(COMPANY_TYPE, CompanyRequest(domain), created.client, at(-9)), created.client)
        return created

    async def run(self, *steps: Call | Post | Patch) -> World:
        for step in steps:
            if isinstance(step, Call):
                await self.receive(step)
            elif isinstance(step, Post):
                requested = msgspec.convert(step.body, ContactRequest)
                created = await create_record(
                    self.store, creation_of(CONTACT_TYPE, requested, self.client, at(step.step), "update"), self.client
                )
                self.ids.setdefault(str(requested.email), created.record.id)
            else:
                await self.patch(step)
        return self

    async def receive(self, call: Call) -> None:
        body = msgspec.json.encode(call.events)
        channel = "crm" if any("." in first_event["event"] for first_event in call.events) else "email_campaign"
        key = body_key(channel, str(next(COUNT)), "", body)
        await self.store.write(store_delivery(self.client.number, channel, key, b"{}", "", body, call.received))
        await InboxWorker(self.store, read, lambda: at(100)).drain()

    async def patch(self, step: Patch) -> Contact:
        number = self.ids[step.email]
        number = await self.store.read(find_united(self.client.number, CONTACT, number)) or number
        changes = dict(step.changes)
        if "email" in changes:
            changes["email_key"] = changes["email"]
        if changes.get("company_id"):
            changes["company_id"] = (await self.companies())[changes["company_id"] - 1]
        key = new_write_key()
        return await self.store.write(
            update_contact(RecordUpdate(self.client.number, number, changes, step.custom, at(step.step), key, step.clear))
        )

    async def companies(self) -> list[int]:
        return sorted(company.id for company in await self.store.read(list_records(Listing(COMPANY_TYPE, self.client.number, 9))))

    async def shown(self) -> list[Any]:
        """All records and timelines as callers see them, but for ids and the times of our own writes; each adds up and is verified."""
        observed: list[Any] = []
        client = self.client.number
        for kind in (CONTACT_TYPE, COMPANY_TYPE):
            for listed in await self.store.read(list_records(Listing(kind, client, 99))):
                record: Contact | Company = await self.store.read(find_record(client, kind, listed.id))
                out = (contact_out if kind is CONTACT_TYPE else company_out)(record, True, self.client.settings)  # type: ignore[operator]
                values = {name: value for name, value in msgspec.to_builtins(out).items() if name not in ("id", "updated_time")}
                reported = await explain(record, await self.store.read(get_history(client, kind.kind, record.id)))
                observed.append(
                    [values, [(e.event, e.occurred_us, e.tool, [msgspec.to_builtins(c) for c in created]) for e, created in reported]]
                )
                assert added_up(reported) == {**held(values), **{name: None for name in added_up(reported) if name not in held(values)}}
        assert [str(item) async for item in verify(self.store, client, Verified())] == []
        return _unnumbered(observed, await self.companies())


def held(values: dict[str, Any]) -> dict[str, Any]:
    """What a record shows, as a timeline names it."""
    derived = ("previous_status", "status_changed_at", "contact_custom_fields", "company_custom_fields")
    custom = values.get("contact_custom_fields") or values.get("company_custom_fields") or {}
    own = {name: str(value) for name, value in values.items() if name not in derived and value not in (None, "")}
    return own | custom


def added_up(reported: Sequence[Any]) -> dict[str, str | None]:
    """What the changes of a timeline come to; each must begin where the one before has ended."""
    sums: dict[str, str | None] = {}
    for _, changes in reversed(reported):
        for change in changes:
            assert change.previous == sums.get(change.field), change
            sums[change.field] = change.value
    return sums


def _unnumbered(observed: list[Any], companies: list[int]) -> list[Any]:
    """Companies by their order in place of their ids, as each client has its own."""
    for values, reported in observed:
        if values.get("company_id"):
            values["company_id"] = companies.index(values["company_id"])
        for change in (change for *_, changes in reported for change in changes if change["field"] == "company_id"):
            for name in ("value", "previous"):
                change[name] = change[name] and companies.index(int(change[name]))
    return sorted(observed, key=lambda first: msgspec.json.encode(first[1]).decode())


def event(name: str, step: int, email: str | None = ANN, **more: Any) -> dict[str, Any]:
    return {"event": name, "occurred_us": at(step), "email": email, **more}


def crm(name: str, step: int, email: str | None = ANN, second: str = "", **more: Any) -> dict[str, Any]:
    """An event of a CRM, which has one object of each person, and with `second` another one."""
    return event(name, step, email, object_type="person", object_id=f"{1 if email != BOB else 2}{second}", **more)


async def the_same(store: Store, *orders: Sequence[Call | Post | Patch]) -> Any:
    """What all these orders of the same calls and writes come to."""
    shown = [await (await (await World.begin(store)).run(*order)).shown() for order in orders]
    for item in shown[1:]:
        assert item == shown[0]
    return shown[0]


def ann(shown: list[Any]) -> dict[str, Any]:
    [values] = [values for values, _ in shown if "last_reply_received" in values]
    return dict(values)


NEW = Post(1, {"email": ANN})


async def test_email_removed_by_patch__stays_removed_after_an_older_webhook(store: Store) -> None:
    call, gone = Call([crm("contact.updated", 2)], at(2)), Patch(3, ANN, {"email": None})

    shown = await the_same(store, [NEW, call, gone], [NEW, gone, call], [NEW, call, gone, call, call])

    assert "email" not in ann(shown)


async def test_email_removed_by_patch__returns_with_a_newer_webhook(store: Store) -> None:
    call, newer = Call([crm("contact.updated", 2)], at(2)), Call([crm("contact.updated", 5)], at(5))

    shown = await the_same(store, [NEW, call, Patch(3, ANN, {"email": None}), newer], [NEW, newer, call, Patch(3, ANN, {"email": None})])

    assert ann(shown)["email"] == ANN


async def test_email_removed_by_patch__stays_removed_after_a_merge(store: Store) -> None:
    calls = [
        Call([event("email_sent", 1, linkedin_url="linkedin.com/in/ann")], at(1)),
        Call([crm("contact.updated", 2, None, linkedin_url="linkedin.com/in/ann")], at(2)),
    ]
    gone = Patch(4, ANN, {"email": None})

    shown = await the_same(store, [NEW, *calls, gone], [NEW, calls[0], gone, calls[1]], [NEW, gone, *calls[::-1], *calls])

    assert "email" not in ann(shown)


async def test_patch_of_an_equal_status__outranks_an_older_event_and_a_reply(store: Store) -> None:
    calls = [Call([crm("contact.status_changed", 2, status="lead")], at(9)), Call([event("email_replied", 4)], at(9))]
    writes = [Post(1, {"email": ANN, "contact_status": "Prospect"}), Patch(3, ANN, {"status": "Prospect"})]

    shown = await the_same(store, [*writes, *calls], [writes[0], *calls, writes[1]], [*calls, *writes])

    assert ann(shown)["contact_status"] == "Prospect"


async def test_custom_field_removed_by_patch__stays_removed_after_an_older_webhook(store: Store) -> None:
    call = Call([crm("contact.updated", 2, custom={"plan": "pro", "seats": "3"})], at(9))
    first, every = Patch(3, ANN, {}, {"plan": None}), Patch(4, ANN, {}, {"size": "9"}, clear=True)

    shown = await the_same(store, [NEW, call, first], [NEW, first, call], [call, NEW, first])
    cleared = await the_same(store, [NEW, call, every], [NEW, every, call], [call, NEW, every, call])

    assert ann(shown)["contact_custom_fields"] == {"seats": "3"}
    assert ann(cleared)["contact_custom_fields"] == {"size": "9"}


async def test_api_write__outranks_an_earlier_received_event_with_a_future_time(store: Store) -> None:
    call = Call([crm("contact.status_changed", 50, status="lead", fields={"first_name": "A."})], at(2))
    writes = [NEW, Patch(3, ANN, {"status": "won", "first_name": "Ann"})]

    shown = await the_same(store, [NEW, call, writes[1]], [*writes, call], [call, *writes])

    assert (ann(shown)["contact_status"], ann(shown)["previous_status"], ann(shown)["first_name"]) == ("won", "lead", "Ann")


async def test_future_events_of_one_webhook__stay_in_the_order_of_the_tool(store: Store) -> None:
    call = Call([crm("contact.status_changed", step, status=word) for step, word in ((60, "second"), (50, "first"))], at(2))

    shown = await the_same(store, [NEW, call], [call, NEW])

    assert (ann(shown)["contact_status"], ann(shown)["previous_status"]) == ("second", "first")


async def test_future_event__takes_the_place_of_its_earlier_receipt(store: Store) -> None:
    said = [crm("contact.status_changed", 50, status="lead", fields={"first_name": "A."}, custom={"plan": "pro"})]
    first, again = Call(said, at(2)), Call(said, at(9))
    writes = [NEW, Patch(5, ANN, {"status": "won", "first_name": "Ann"}, {"plan": None})]

    shown = await the_same(store, [NEW, first, writes[1], again], [again, *writes, first], [first, again, first, *writes])

    assert (ann(shown)["contact_status"], ann(shown)["first_name"], ann(shown)["contact_custom_fields"]) == ("won", "Ann", {})


async def test_timeline_of_two_crm_objects__adds_up_to_their_shared_record(store: Store) -> None:
    calls = [
        Call([crm("contact.updated", 2, fields={"last_name": "Lee"}, custom={"phone": "1"})], at(2)),
        Call(
            [crm("contact.updated", 4, second="9", fields={"last_name": None, "first_name": "A."}, custom={"phone": None, "plan": "pro"})],
            at(4),
        ),
    ]
    patch = Patch(3, ANN, {"first_name": "Ann"}, {}, clear=True)

    shown = await the_same(store, [NEW, calls[0], patch, calls[1]], [NEW, patch, *calls[::-1]], [*calls, NEW, patch])

    assert (ann(shown)["last_name"], ann(shown)["contact_custom_fields"]) == ("Lee", {"plan": "pro"})


async def test_email_removed_twice__stays_removed_after_a_webhook_of_between(store: Store) -> None:
    """The late webhook made the address the first one again, and the second request removed it."""
    webhook = Call([crm("contact.updated", 8, BOB)], at(7) + 1)
    writes = [Post(2, {"email": BOB}), Patch(7, BOB, {"email": None}), Patch(8, BOB, {"email": None, "status": "new"})]

    shown = await the_same(store, [webhook, *writes], [*writes, webhook], [*writes[:2], webhook, *writes[2:]])

    assert [(values.get("email"), values.get("emails")) for values, _ in shown if "contact_status" in values] == [(None, None)]


async def test_post_of_an_existing_record__has_the_result_of_a_post_that_came_first(store: Store) -> None:
    sent, replied = Call([event("email_sent", 1, first_name="A.")], at(1)), Call([event("email_replied", 7)], at(7))
    post = Post(4, {"email": ANN, "contact_status": "Prospect", "first_name": "Ann", "contact_custom_fields_input": [PLAN]})

    shown = await the_same(store, [post, sent, replied], [sent, post, replied], [replied, sent, post])

    values = ann(shown)
    assert (values["contact_status"], values["previous_status"], values["first_name"]) == ("replied", "Prospect", "Ann")
    assert (values["origin"], values["contact_custom_fields"]) == ("test", {"plan": "pro"})


async def test_origin__comes_from_the_earliest_event_unless_a_request_sets_it(store: Store) -> None:
    call, named = Call([event("email_sent", 4)], at(4)), Post(5, {"email": ANN, "origin": "fair"})

    before = await the_same(store, [NEW, call], [call, NEW])
    requested = await the_same(store, [NEW, call, named], [call, NEW, named], [NEW, named, call])

    assert (ann(before)["origin"], ann(requested)["origin"]) == ("", "fair")


async def test_reply_after_resubscription__replaces_only_a_status_that_a_reply_may_replace(store: Store) -> None:
    label = Call([event("lead_status_changed", 2, status="interested")], at(2))
    remaining = [
        Call([event(name, step)], at(step)) for step, name in ((3, "email_unsubscribed"), (4, "email_resubscribed"), (5, "email_replied"))
    ]

    held = await the_same(store, [NEW, label, *remaining], [NEW, *remaining, label], [*remaining[::-1], label, NEW])
    moved = await the_same(store, [NEW, *remaining], [*remaining[::-1], NEW])

    assert (ann(held)["contact_status"], ann(moved)["contact_status"]) == ("interested", "replied")


PLAN = {"field_name": "plan", "field_value": "pro"}
emails = st.sampled_from([ANN, BOB])
campaign_events = st.builds(
    event,
    st.sampled_from(["email_sent", "email_replied", "email_unsubscribed", "email_resubscribed", "lead_status_changed", "email_bounced"]),
    st.integers(0, 12),
    emails,
    first_name=st.sampled_from([None, "Ann", "Bo"]),
    status=st.sampled_from(["interested", "custom:Hot"]),
    kind=st.just("hard"),
)
crm_events = st.builds(
    crm,
    st.sampled_from(["contact.updated", "contact.status_changed"]),
    st.integers(0, 12),
    emails,
    status=st.sampled_from(["lead", "customer"]),
    fields=st.sampled_from([{}, {"last_name": "Lee"}, {"last_name": None, "first_name": "Cy"}]),
    custom=st.sampled_from([{}, {"plan": "pro"}, {"plan": None, "seats": "3"}]),
    second=st.sampled_from(["", "", "9"]),
)
# A fact that is received twice is received at one time: of two receipts the earlier one counts, which is another test's.
calls = st.lists(
    st.builds(lambda first, when: Call([first], at(when)), st.one_of(campaign_events, crm_events), st.integers(1, 12)),
    max_size=5,
    unique_by=lambda call: msgspec.json.encode(call.events),
).map(lambda calls: [replace(call, received=call.received + place) for place, call in enumerate(calls)])
posted = st.fixed_dictionaries(
    {},
    optional={
        "contact_status": st.sampled_from(["new", "Prospect", "customer"]), "first_name": st.just("Anna"), "origin": st.just("fair"),
        "contact_custom_fields_input": st.just([PLAN]),
    },
)  # fmt: skip
patched = st.fixed_dictionaries(
    {},
    optional={
        "status": st.sampled_from(["new", "won", None]), "first_name": st.sampled_from(["Anne", None]),
        "last_name": st.sampled_from(["Li", None]), "company_id": st.sampled_from([1, 2, None]),
        "origin": st.sampled_from(["web", None]),
        "email": st.none(),
    },
)  # fmt: skip
customs = st.dictionaries(st.sampled_from(["plan", "seats"]), st.sampled_from(["basic", None]), max_size=2)


@pytest.mark.slow_on_postgresql
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    webhooks=calls,
    people=st.lists(st.tuples(emails, posted), min_size=1, max_size=2, unique_by=lambda drawn: drawn[0]),
    again=st.tuples(posted, st.booleans()),
    changes=st.lists(st.tuples(st.integers(0, 1), patched, customs, st.booleans()), max_size=4),
    data=st.data(),
)
async def test_any_interleaving_of_writes_and_webhooks__gives_the_same_records_and_timelines(
    store: Store,
    webhooks: list[Call],
    people: list[tuple[str, dict[str, Any]]],
    again: tuple[dict[str, Any], bool],
    changes: list[tuple[int, dict[str, Any], dict[str, str | None], bool]],
    data: st.DataObject,
) -> None:
    writes: list[Post | Patch] = [Post(2, {"email": email, **more}) for email, more in people]
    if again[1]:
        writes.append(Post(4, {"email": people[0][0], **again[0]}))
    writes += [Patch(6 + n, people[first % len(people)][0], *remaining) for n, (first, *remaining) in enumerate(changes)]
    more = data.draw(st.lists(st.sampled_from(webhooks), max_size=3)) if webhooks else []
    order: list[Call | Post | Patch] = [*writes]
    for call in [*webhooks, *more]:
        order.insert(data.draw(st.integers(0, len(order))), call)

    note(f"writes {writes}, calls {webhooks}, in the order {order}")
    await the_same(store, [*writes, *webhooks], order)


OLD = {
    # A contact that an earlier version has made through the API: no entry of its creation, and entries with what arrival had changed.
    "contact": {
        "client": 1, "id": 1, "created_us": at(1), "updated_us": at(9), "email": ANN, "email_key": ANN, "first_name": "Anne", "from_api": 1,
        "initial_status": "New", "status": "lead", "previous_status": "Warm", "status_changed_us": at(5), "status_entry_us": at(5),
        "status_entry_key": "+000000055000000:k2",
        "status_cause": "status", "status_path": f'{{"{at(1)}":"Warm","{at(5)}":"lead"}}',  # as the migration of reports fills it
        "stamps": '{"email":[1,1790000001000000,""],"first_name":[1,1790000003000000,"api:p:0"]}',
    },
    "custom_field": {
        "client": 1, "record_kind": 1, "record_id": 1, "name": "size", "id": 1, "value": "4", "updated_us": at(1), "priority": 1,
        "stamped_us": at(1), "stamp_key": "",
    },
    "changed": {
        "occurred_us": at(3), "key": "api:p:0", "event": "contact.updated", "effect": "status", "status": "Warm", "tool": "api",
        "channel": "api", "received_us": at(3), "via": 0,
        "detail": '{"changed":[["contact_status","Warm","New"],["first_name","Anne","Ann"]],"fields":{"first_name":"Anne"}}',
    },
    "ahead": {
        "occurred_us": at(60), "key": "k2", "event": "contact.status_changed", "effect": "status", "status": "lead", "tool": "test",
        "channel": "crm", "received_us": at(5), "via": 1, "detail": "{}",
    },
}  # fmt: skip


async def test_record_of_an_earlier_version__has_a_valid_history_and_accepts_new_events(store: Store, execute_sql: Any) -> None:
    client = await store.write(ensure_client("default", NOON))
    for table, row in OLD.items():
        full_row = row if table in ("contact", "custom_field") else row | {"client": 1, "record_kind": 1, "record_id": 1}
        name = table if table in ("contact", "custom_field") else "event"
        await execute_sql(f"INSERT INTO {name} ({', '.join(full_row)}) VALUES ({', '.join('?' for _ in full_row)})", *full_row.values())

    await execute_sql("INSERT INTO search_pending (client, record_kind, record_id) VALUES (1, 1, 1)")
    contact = OLD["contact"]
    for row in counts_of([(1, CONTACT, None, (contact["created_us"], contact["status_path"]))]):
        await execute_sql("INSERT INTO status_move VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *row)

    world = World(store, client)
    reported = await explain(await store.read(find_record(1, CONTACT_TYPE, 1)), await store.read(get_history(1, CONTACT, 1)))  # type: ignore[arg-type]
    assert [str(item) async for item in verify(store, 1, Verified())] == []
    assert [[(change.field, change.value, change.previous) for change in changes] for _, changes in reported] == [
        [("contact_status", "lead", "Warm")],
        [("contact_status", "Warm", "New"), ("first_name", "Anne", "Ann")],
    ]

    world.ids[ANN] = 1
    await world.run(Patch(6, ANN, {"status": "won"}), Call([event("email_sent", 2, first_name="A.")], at(8)), Post(9, {"email": ANN}))
    contact = await store.read(find_record(1, CONTACT_TYPE, 1))

    assert contact is not None
    assert (contact.status, contact.previous_status, contact.first_name, contact.origin) == ("won", "lead", "Anne", None)
    assert [str(item) async for item in verify(store, 1, Verified())] == []


async def test_address_removed_twice__is_not_opened_by_a_late_webhook(store: Store) -> None:
    sent = {"event": "email_sent", "occurred_us": at(0), "email": ANN, "kind": "hard"}
    early, late = (Call([sent | {"status": status}], at(1) + n) for n, status in enumerate(["interested", "custom:Hot"]))
    removed = [Patch(6, ANN, {"email": None}), Patch(7, ANN, {"status": "new", "email": None})]

    await the_same(store, [Post(2, {"email": ANN}), *removed, early, late], [late, early, Post(2, {"email": ANN}), *removed])

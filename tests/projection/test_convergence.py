"""Order does not matter: any order, any repetition and any split of the same calls give the same records."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.examples import examples

import touchbase.adapters.registry
from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.normalize import email_key, linkedin_key
from touchbase.common.timestamps import DAY, SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.deliveries.work import WorkReport
from touchbase.errors import Overloaded, UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import COMPANY, CONTACT, Event, Translation
from touchbase.history.last_writer_wins import SEVERAL, SINCE
from touchbase.history.sql import get_history
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import busy_clients, list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.timelines import explain
from touchbase.records.writes import Creation
from touchbase.sql.store import Store
from touchbase.stores import postgres, sqlite

NOON = 1_790_000_000 * SECOND
CLIENTS = itertools.count(1)
ExecuteSql = Callable[..., Awaitable[list[tuple[Any, ...]]]]

EMAILS = st.sampled_from(["ann@example.com", "bob@example.com", "cy@example.com"])
times = st.integers(1, 6).map(lambda step: NOON - DAY + step * SECOND)

campaign_events = st.builds(
    dict,
    event=st.sampled_from(
        ["email_sent", "email_sent", "email_opened", "email_replied", "linkedin_replied", "email_unsubscribed",
         "email_resubscribed", "email_spam_complaint", "lead_status_changed", "email_bounced"]
    ),
    occurred_us=times,
    email=EMAILS,
    first_name=st.sampled_from([None, "Ann", "Bob"]),
    status=st.sampled_from(["interested", "not_interested", "custom:Hot"]),
    kind=st.sampled_from(["hard", "soft"]),
)  # fmt: skip
# A LinkedIn address belongs to one person, as in life; a person may have several.
with_linkedin = st.builds(
    lambda campaign_event, more: campaign_event | {"linkedin_url": f"https://linkedin.com/in/{campaign_event['email'][:3]}{more}"},
    campaign_events,
    st.sampled_from(["", "", "-2"]),
)
only_linkedin = with_linkedin.map(lambda first: first | {"email": None})
crm_contacts = st.builds(
    dict,
    event=st.sampled_from(["contact.created", "contact.updated", "contact.status_changed", "contact.deleted"]),
    occurred_us=times,
    email=st.one_of(st.none(), EMAILS),
    object_type=st.just("partner"),
    object_id=st.sampled_from(["1", "2", "3"]),
    merged_into=st.sampled_from([None, None, "1", "2", "3"]),
    status=st.sampled_from(["lead", "customer"]),
    fields=st.sampled_from([{}, {"last_name": "Lee"}, {"last_name": None, "first_name": "Cy"}]),
    custom=st.sampled_from([{}, {"plan": "pro"}, {"plan": None, "seats": "3"}]),
)
crm_companies = st.builds(
    dict,
    event=st.sampled_from(["company.created", "company.updated", "company.status_changed", "company.deleted"]),
    occurred_us=times,
    domain=st.sampled_from([None, "example.com", "example.org"]),
    object_type=st.just("partner"),
    object_id=st.sampled_from(["1", "2", "3"]),
    merged_into=st.sampled_from([None, None, "1", "2", "3"]),
    status=st.sampled_from(["lead", "customer"]),
    name=st.sampled_from([None, "Example", "Ex"]),
)
bodies = st.one_of(campaign_events, with_linkedin, only_linkedin, crm_contacts, crm_companies)


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are our own events."""
    return Translation("test", [Event(**item) for item in msgspec.json.decode(request.body)])


async def receive(
    store: Store, client: int, calls: list[list[dict[str, Any]]], batch: int, sent: list[list[dict[str, Any]]] | None = None
) -> None:
    """Apply these calls in their order. Each has the time of receipt of its place in `sent`: of equal times the receipt decides."""
    received = {id(call): NOON - 1_000 + place for place, call in enumerate(calls if sent is None else sent)}
    worker = InboxWorker(store, read, lambda: NOON, batch_size=batch)
    for first in range(0, len(calls), batch):
        for call in calls[first : first + batch]:
            body = msgspec.json.encode(call)
            channel = "crm" if any("." in first_item["event"] for first_item in call) else "email_campaign"
            # A position in the key makes every repeat a delivery of its own, so that events are told apart by themselves.
            key = body_key(channel, str(next(CLIENTS)), "", body)
            await store.write(store_delivery(client, channel, key, b"{}", "", body, received[id(call)]))
        await worker.drain()


async def seed(store: Store, expected: list[str], client: int | None = None) -> int:
    """A client (a new one unless it is given) that has made these contacts through the API."""
    if client is None:
        client = (await store.write(ensure_client(f"client-{next(CLIENTS)}", NOON))).number
    for email in expected:
        contact = Contact(client, 0, NOON - 2 * DAY, NOON - 2 * DAY, email=email, email_key=email_key(email), status="New")
        await store.write(create_contact(Creation(contact)))
    return client


def change_of(change: Any, domains: dict[int, str]) -> dict[str, Any]:
    """A change of the timeline, a company named by its domain: its id differs from run to run."""
    plain: dict[str, Any] = msgspec.to_builtins(change)
    if change.field == "company_id":
        plain |= {name: domains.get(int(plain[name])) for name in ("value", "previous") if plain[name] is not None}
    return plain


async def snapshot(store: Store, client: int) -> list[Any]:
    """Everything but ids and the times of our own writes."""
    observed: list[Any] = []
    domains = {item.id: item.domain for item in await store.read(list_records(Listing(COMPANY_TYPE, client, 200)))}
    for kind in (CONTACT_TYPE, COMPANY_TYPE):
        for listed in await store.read(list_records(Listing(kind, client, 200))):
            record = await store.read(find_record(client, kind, listed.id))
            reported = await explain(record, await store.read(get_history(client, kind.kind, record.id)))
            plain = {
                name: value
                for name, value in msgspec.to_builtins(record).items()
                if name not in ("client", "id", "created_us", "updated_us", "custom_fields")
            }
            # These only say that histories have to be read, and stay where two objects turn out to be one by a merge.
            plain["stamps"] = {name: stamp for name, stamp in plain["stamps"].items() if name not in (SEVERAL, SINCE)}
            plain["company_id"] = domains.get(plain.get("company_id"))
            plain["custom"] = sorted((f.name, f.value, f.stamped_us) for f in record.custom_fields)
            plain["timeline"] = [(e.event, e.occurred_us, e.key, [change_of(c, domains) for c in changes]) for e, changes in reported]
            observed.append(plain)
    return sorted(observed, key=lambda first: (str(first.get("email_key") or first.get("domain")), str(first.get("linkedin_key"))))


def is_decided(calls: list[list[dict[str, Any]]]) -> bool:
    """Whether no campaign tool names an e-mail address that several objects have had and none has now: decision 33 does not hold it."""
    events = [first for call in calls for first in call]
    of_crm = [first_event for first_event in events if first_event["event"].startswith("contact.")]
    objects = joined([[first_event["object_id"], first_event["merged_into"] or first_event["object_id"]] for first_event in of_crm])
    claimed: dict[str, list[tuple[int, str]]] = {}
    for event_value in of_crm:
        if event_value["email"] and event_value["event"] != "contact.deleted":
            claimed.setdefault(objects[event_value["object_id"]], []).append((event_value["occurred_us"], event_value["email"]))
    now = set[str]()
    for entry in claimed.values():
        latest = {email for at, email in entry if at == max(entry)[0]}
        now |= latest if len(latest) == 1 else set()  # of equal times the receipts decide
    had = [email for item in claimed.values() for email in {email for _, email in item}]
    open_ones = {email for email in had if had.count(email) > 1} - now
    return not any(first_event.get("email") in open_ones for first_event in events if "." not in first_event["event"])


@pytest.mark.slow_on_postgresql
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.lists(st.lists(bodies, min_size=1, max_size=3), min_size=1, max_size=8),
    known_emails=st.lists(EMAILS, unique=True, max_size=1),
    data=st.data(),
)
async def test_any_order_repetition_and_split__gives_the_same_records(
    store: Store, calls: list[list[dict[str, Any]]], known_emails: list[str], data: st.DataObject
) -> None:
    assume(is_decided(calls))
    again = data.draw(st.lists(st.sampled_from(calls), max_size=4))
    shuffled = data.draw(st.permutations([*calls, *again]))
    first, second = await seed(store, known_emails), await seed(store, known_emails)

    await receive(store, first, calls, batch=50)
    await receive(store, second, shuffled, batch=data.draw(st.integers(1, 5)), sent=calls)

    ours, theirs = await snapshot(store, first), await snapshot(store, second)
    assert len(theirs) == len(ours)
    for mine, yours in zip(ours, theirs, strict=True):
        assert {name: (mine[name], yours[name]) for name in mine if mine[name] != yours[name]} == {}
    assert [*await differences(store, first), *await differences(store, second)] == []


NAMING = {"occurred_us": NOON - DAY, "object_type": "partner", "object_id": "1", "event": "contact.updated"}


@pytest.mark.parametrize("email", [{"email": "ann@example.com"}, {}], ids=["with an address", "waiting for one"])
async def test_event_in_two_deliveries__has_the_place_of_its_first_receipt(store: Store, email: dict[str, str]) -> None:
    ann, cy = ({**NAMING, **email, "fields": {"first_name": name}} for name in ("Ann", "Cy"))
    owner = {**NAMING, "email": "ann@example.com", "occurred_us": NOON - 2 * DAY}
    calls = [[owner, cy, ann], [ann]]
    one, other = await seed(store, []), await seed(store, [])

    await receive(store, one, calls, batch=1)
    await receive(store, other, calls[::-1], batch=1, sent=calls)

    assert [record["first_name"] for record in await snapshot(store, one)] == ["Ann"]
    assert await snapshot(store, other) == await snapshot(store, one)
    assert [*await differences(store, one), *await differences(store, other)] == []


async def test_waiting_event_in_two_deliveries__has_the_place_of_its_first_receipt(store: Store) -> None:
    calls = [[{**NAMING, "fields": {"first_name": "Ann"}}], [{**NAMING, "fields": {"first_name": "Ann"}}]]
    owner = [{**NAMING, "email": "ann@example.com", "occurred_us": NOON - 2 * DAY}]
    one, other = await seed(store, []), await seed(store, [])

    await receive(store, one, [*calls, owner], batch=1)
    await receive(store, other, [calls[1], calls[0], owner], batch=1, sent=[*calls, owner])

    assert await snapshot(store, other) == await snapshot(store, one)
    assert [*await differences(store, one), *await differences(store, other)] == []
    states = [each.state for each in sorted(await store.read(list_deliveries(9, other)), key=lambda each: (each.received_us, each.id))]
    assert states == ["applied", "ignored", "applied"]


async def test_profile_in_three_deliveries__has_the_place_of_its_first_receipt(store: Store) -> None:
    profile = {"event": "email_sent", "occurred_us": NOON - DAY, "linkedin_url": "https://linkedin.com/in/ann"}
    calls = [[profile], [{**profile, "email": "ann@example.com"}], [profile]]
    one, other = await seed(store, []), await seed(store, [])

    await receive(store, one, calls, batch=1)
    await receive(store, other, calls[::-1], batch=1, sent=calls)

    assert len(await snapshot(store, one)) == 1
    assert await snapshot(store, other) == await snapshot(store, one)


async def differences(store: Store, client: int) -> list[str]:
    """What `touchbase verify` finds."""
    return [str(item) async for item in verify(store, client, Verified(), page=2)]


def test_linkedin_key__recognises_the_linkedin_address_of_a_test_person() -> None:
    assert linkedin_key("https://linkedin.com/in/ann") == "linkedin.com/in/ann"


# Real adapters: the fixtures of all tools of both channels, their people and objects replaced by a few.


@dataclass(frozen=True)
class Recording:
    """One fixture's call, and what its adapter reads in it."""

    name: str
    channel: str = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    query: str = field(repr=False)
    body: Any = field(repr=False)
    """JSON as objects, anything else as text."""
    events: tuple[Event, ...] = field(default=(), repr=False)

    def about(self, person: int, second: int, company: int) -> Recording:
        """The same call about others of a few people, objects and companies."""
        written: dict[str, str] = {}
        emails = iter(f"{PEOPLE[fromkey]}@example.com" for fromkey in dict.fromkeys((person, second)))
        numbers = {kind: iter(dict.fromkeys((first, second, 0, 1, 2, 3))) for kind, first in ((CONTACT, person), (COMPANY, company))}
        for event in self.events:
            kind = event.about
            if event.email and event.email not in written:
                written[event.email] = next(emails, "cy@example.com")
            if event.linkedin_url:
                name = written.get(event.email or "", PEOPLE[person]).partition("@")[0]
                written.setdefault(event.linkedin_url, f"https://www.linkedin.com/in/{name}")
            if event.domain and kind == COMPANY:
                written.setdefault(event.domain, ("example.com", "example.org")[company])
            for object_id in (event.object_id, event.merged_into):
                if object_id and kind and object_id not in written:
                    written[object_id] = str(700 + next(numbers[kind], 9))
        created = replace(self, body=_rewritten(self.body, written))
        return replace(created, events=tuple(ADAPTERS.translate(created.request).events))

    @property
    def fact(self) -> str:
        """What no other call may be: the event's id, as that is a tool's own name for one fact."""
        return next((f"{self.name.partition(' ')[0]} {event.key}" for event in self.events if event.key), self.name)

    @property
    def request(self) -> WebhookRequest:
        body = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return WebhookRequest(self.channel, self.headers, self.query, body.encode())


def _rewritten(value: Any, written: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _rewritten(item, written) for name, item in value.items()}
    if isinstance(value, list):
        return [_rewritten(item, written) for item in value]
    if isinstance(value, int) and str(value) in written and not isinstance(value, bool):
        return int(written[str(value)])
    if isinstance(value, str):
        if value in written:
            return written[value]
        for old, new in written.items():
            value = value.replace(old, new) if "@" in old or "linkedin" in old else value
    return value


def _recordings() -> list[Recording]:
    results = []
    for file in sorted(Path(touchbase.adapters.registry.__file__).parent.glob("*/*/fixtures/*.json")):
        request = json.loads(file.read_text())["request"]
        headers = {name.lower(): value for name, value in request.get("headers", {}).items()}
        name, channel = f"{file.parts[-3]} {file.stem}", file.parts[-4]
        created = Recording(name, channel, headers, request.get("query", ""), request["text"] if "text" in request else request["body"])
        with suppress(UnrecognisedPayload):
            created = replace(created, events=tuple(ADAPTERS.translate(created.request).events))
        results.append(created)
    return results


PEOPLE = ("ann", "bob", "cy")
ADAPTERS = load_adapters()
RECORDINGS = _recordings()
few = st.integers(0, 2)
real_calls = st.lists(
    st.tuples(
        st.sampled_from([recording for recording in RECORDINGS if any(event.about for event in recording.events)]),
        few,
        few,
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=9,
    unique_by=lambda drawn: drawn[0].fact,
)


def claims(event: Event) -> list[str]:
    """The identities that an event names."""
    if event.about is None:
        return []
    results = [f"{event.about} {event.object_type} {item}" for item in (event.object_id, event.merged_into) if item]
    primary = None if event.event.endswith(".deleted") and event.object_id else event.email if event.about == CONTACT else event.domain
    return [*results, primary] if primary else results


def one_owner_each(calls: list[Recording]) -> bool:
    """Whether every LinkedIn address belongs to one person: two with different e-mail addresses keep no order (decision 4)."""
    events = [event for call in calls for event in call.events]
    profiles = [[*claims(event), str(event.linkedin_url or event.fields.get("linkedin_url"))] for event in events]
    people = joined([claims(event) for event in events])
    full = joined([claim for event, claim in zip(events, profiles, strict=True) if event.linkedin_url or event.fields.get("linkedin_url")])
    named = [{people.get(name, name) for name, at in full.items() if at == group and "@" in str(name)} for group in set(full.values())]
    return all(len(owners) <= 1 for owners in named)


def joined(groups: list[list[str]]) -> dict[str, str]:
    """Each name with one name of all those it is joined with, directly or by way of others."""
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for group in groups:
        for name in group[1:]:
            leader[find(name)] = find(group[0])
    return {name: find(name) for group in groups for name in group}


class Killed:
    """Breaks the turn of the inbox at one of its steps, as a crash would: by a failing engine, or by cancelling the worker."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps_left: int | None = None
        self.workers: list[asyncio.Task[Any]] = []
        self._cancels = False
        self._loop = asyncio.get_running_loop()
        for engine, error in ((sqlite, apsw.IOError), (postgres, ConnectionResetError)):
            monkeypatch.setattr(engine, "apply_batch", partial(self._counted, engine.apply_batch, error))

    def at(self, step: int, *, cancels: bool) -> None:
        self.steps_left, self._cancels = step, cancels

    def _counted(self, apply: Any, error: type[Exception], *arguments: Any) -> Generator[Any, Any, Any]:
        plan = apply(*arguments)
        answer = None
        try:
            while True:
                self._step(error)
                answer = yield plan.send(answer)
        except StopIteration as stop:
            self._step(error)
            return stop.value

    def _step(self, error: type[Exception]) -> None:
        if self.steps_left is None:
            return
        self.steps_left -= 1
        if self.steps_left >= 0:
            return
        self.steps_left = None
        if not self._cancels:
            raise error("killed")
        for worker in self.workers:
            self._loop.call_soon_threadsafe(worker.cancel)


async def work_through(store: Store, killed: Killed, workers: int, turn: int) -> None:
    """Apply all that waits; workers that are killed are started again."""
    while await store.read(busy_clients(LATER)):
        tasks = [
            asyncio.create_task(InboxWorker(store, ADAPTERS.translate, lambda: LATER, batch_size=turn).drain()) for _ in range(workers)
        ]
        killed.workers = tasks
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [item for item in ended if not isinstance(item, WorkReport | Overloaded | asyncio.CancelledError)] == []


async def keep(store: Store, client: int, call: Recording, at: int) -> int:
    request = call.request
    key = body_key(call.channel, str(next(CLIENTS)), "", request.body)
    delivery = await store.write(store_delivery(client, call.channel, key, msgspec.json.encode(call.headers), call.query, request.body, at))
    return delivery.id


LATER = NOON + 90 * DAY
turns = st.tuples(st.integers(1, 3), st.integers(1, 4), st.one_of(st.none(), st.integers(0, 14)), st.booleans())
"""Workers at the same time, deliveries in a turn, the step at which one is killed (None: nobody), and how."""


@pytest.mark.slow_on_postgresql
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=real_calls, known_emails=st.lists(EMAILS, unique=True, max_size=1), data=st.data())
async def test_any_order_of_real_webhooks_with_killed_workers__gives_the_same_records(
    store: Store, execute_sql: ExecuteSql, drawn: list[tuple[Recording, int, int, int]], known_emails: list[str], data: st.DataObject
) -> None:
    calls = [recording.about(*people) for recording, *people in drawn]
    assume(one_owner_each(calls))
    client = await seed(store, known_emails)
    stored = [await keep(store, client, call, LATER - 100 * SECOND + place) for place, call in enumerate(calls)]
    with pytest.MonkeyPatch.context() as monkeypatch:
        killed = Killed(monkeypatch)
        await work_through(store, killed, 1, 50)
        first = await snapshot(store, client)

        for table in ("event", "custom_field", "link", "pending_company_link", "status_move", "contact", "company"):
            await execute_sql(f"DELETE FROM {table} WHERE client = ?", client)
        await seed(store, known_emails, client)
        again = data.draw(st.lists(st.sampled_from(stored), max_size=4))
        waiting = data.draw(st.permutations([*stored, *again]))
        while waiting:
            size = data.draw(st.integers(1, 4))
            await store.write(replay_deliveries(client, sorted(set(waiting[:size])), 1))
            waiting = waiting[size:]
            workers, turn, step, cancels = data.draw(turns)
            killed.at(step if step is not None else 1_000, cancels=cancels)
            await work_through(store, killed, workers, turn)

    assert await snapshot(store, client) == first
    assert await differences(store, client) == []
    ended = {delivery.state for delivery in await store.read(list_deliveries(200, client))}
    assert ended <= {"applied", "ignored", "parked", "unrecognised"}


WORKER = """
import asyncio, os, signal, sys
from touchbase.adapters.registry import load_adapters
from touchbase.inbox.worker import InboxWorker
from touchbase.stores import open_store
from touchbase.stores import postgres
from touchbase.stores import sqlite

url, now, left = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def counted(apply, *arguments):
    global left
    plan, answer = apply(*arguments), None
    while True:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            answer = yield plan.send(answer)
        except StopIteration as stop:
            return stop.value

for engine in (sqlite, postgres):
    engine.apply_batch = lambda *arguments, apply=engine.apply_batch: counted(apply, *arguments)

async def work():
    store = await open_store(url)
    await InboxWorker(store, load_adapters().translate, lambda: now, batch_size=4).drain()
    await store.close()

asyncio.run(work())
"""


@pytest.mark.slow
async def test_worker_killed_by_the_system__leaves_no_partial_change(store: Store, engine_url: str, execute_sql: ExecuteSql) -> None:
    client = await seed(store, ["bob@example.com"])
    recordings = [recording for recording in RECORDINGS if any(event.about and not event.linkedin_url for event in recording.events)][::9]
    calls = [recording.about(place % 3, (place + 1) % 3, place % 2) for place, recording in enumerate(recordings)]
    assert one_owner_each(calls)
    stored = [await keep(store, client, call, LATER - 100 * SECOND + place) for place, call in enumerate(calls)]
    await InboxWorker(store, ADAPTERS.translate, lambda: LATER).drain()
    first = await snapshot(store, client)
    for table in ("event", "custom_field", "link", "pending_company_link", "status_move", "contact", "company"):
        await execute_sql(f"DELETE FROM {table} WHERE client = ?", client)
    await seed(store, ["bob@example.com"], client)
    await store.write(replay_deliveries(client, stored, 1))

    ended = []
    for steps in (0, 5, 8, 17, 25, 1_000_000):
        worker = await asyncio.create_subprocess_exec(sys.executable, "-c", WORKER, engine_url, str(LATER), str(steps))
        ended.append(await worker.wait())
        assert await differences(store, client) == []

    assert ended == [-signal.SIGKILL] * 5 + [0]
    assert await snapshot(store, client) == first

"""Replay of the recording: through the routes that all programs use, three weeks in a minute or two."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from random import Random
from typing import Any, Protocol

from touchbase.auth.users import INVITATION, INVITED, User, invite_user, new_link, new_user_id, use_link
from touchbase.clients.models import handle_of
from touchbase.clients.sql.clients import find_client
from touchbase.common.asgi import App, send_inner
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros, to_text
from touchbase.connections.silence import CallCounts, SilenceCheck
from touchbase.demo.recording import SILENT, WEEKS, RecordedCall, accounts, calls_of, people_of, setup_calls
from touchbase.errors import TouchbaseError
from touchbase.history.events import CONTACT, Author
from touchbase.notes.plans import create_note
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.models import TIMEOUT
from touchbase.records.writes import new_write_key
from touchbase.sql.store import Store

HOUR: Micros = 3_600 * SECOND
LONG_STEP: Micros = 2 * HOUR
"""The step of the first weeks; the last two days go by hours."""
CHECKS: Micros = 450 * SECOND
REFUSES: Micros = 30 * HOUR
"""How long the receiver of outgoing webhooks has refused."""
AT_ONCE = 128
"""Calls that are sent together."""
NOTES = (
    "Wants the numbers before Monday. @{name}, do you have the sheet?",
    "Called: in a meeting until 14:00.",
    "Knows us from the fair in Leeds. Not by LinkedIn, please.",
    "@{name} spoke to this company last year, ask before you answer.",
    "The colleague who decides is back on the 7th.",
    "Prefers German.",
)
"""What the people wrote on the newest conversations; `{name}` is a colleague."""
TEAM = (("Mira Hansen", "admin"), ("Ben Okafor", "operator"), ("Chloé Martin", "operator"))
"""The people of the agency, and their roles for all clients."""
STATUSES = tuple(
    {"name": name, "color": color, "group": group, "key": key, "closes": group == "lost"}
    for key, (name, color, group) in enumerate(
        (
            ("interested", "lime", "active"), ("meeting_booked", "violet", "won"), ("maybe_later", "amber", "active"),
            ("not_interested", "orange", "lost"), ("wrong_person", "grey", "lost"),
        ),
        1,
    )
)  # fmt: skip
"""The statuses that the agency's people set by a digit."""
Say = Callable[[str], None]
_OWN: ContextVar[Micros | None] = ContextVar("time of a request", default=None)


class DemoFailed(TouchbaseError):
    """The demo could not be made."""


class DemoClock:
    """The time of a request, if the task has one, else that up to which all has happened."""

    def __init__(self, now: Micros) -> None:
        self.now = now

    def __call__(self) -> Micros:
        """Return the time."""
        return _OWN.get() or self.now


class Drains(Protocol):
    """A worker that can be asked to do all that is due."""

    async def drain(self) -> object:
        """Do all that is due."""
        ...


class MadeUpReceiver:
    """A receiver of outgoing webhooks that is not there: it works until a time, and then refuses."""

    def __init__(self, clock: Clock, now: Micros) -> None:
        self._clock, self._refuses_from = clock, now - REFUSES
        self._chance = Random("receiver")  # noqa: S311

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        """Return the outcome of a request."""
        latency = self._chance.randint(28_000, 190_000)
        if self._clock() >= self._refuses_from:
            return ReceiverAnswer(latency, 503, {}, '{"error": "maintenance", "detail": "This integration is switched off."}')
        luck = self._chance.random()
        if luck < 0.02:
            return ReceiverAnswer(15_000_000, failure=TIMEOUT, error="no response within 15 seconds")
        return ReceiverAnswer(latency, 429, {}, '{"error": "too many requests"}') if luck < 0.05 else ReceiverAnswer(latency, 204)


@dataclass(slots=True)
class Filled:
    """Counts of the created records."""

    contacts: int = 0
    companies: int = 0
    calls: int = 0
    refused: int = 0
    expected: dict[str, int] = field(default_factory=dict)
    """States of deliveries that the calls are meant to have, and the number of repeats, under `repeat`."""


@dataclass(slots=True)
class RecordingReplay:
    """The running application, as far as the demo uses it."""

    app: App
    store: Store
    clock: DemoClock
    workers: Sequence[Drains]
    """In the order in which they are to run after calls."""
    jobs: Drains
    counts: CallCounts
    has_secrets: bool
    """Whether the store can encrypt secrets."""
    filled: Filled = field(default_factory=Filled)

    async def fill(self, contacts: int, say: Say) -> Filled:
        """Replay the demo; it ends at the clock's present, which is set again at the end."""
        now, coming = self.clock.now, list[RecordedCall]()
        self.clock.now = now - WEEKS - 3 * DAY
        for account in accounts():  # by the same requests as an administrator's, their names come last
            await self._ask("POST", "/admin/v1/clients", {"client_id": account["id"], "handle": handle_of(account["name"])}, self.clock.now)
        for call in setup_calls(now, has_secrets=self.has_secrets):
            await self._send(call)
        for account in accounts():
            firms, people = people_of(account, contacts)
            await self._batch(account["id"], "companies", [_company(firm) for firm in firms])
            await self._batch(account["id"], "contacts", [_contact(person) for person in people])
            self.filled.contacts += len(people)
            self.filled.companies += len(firms)
            coming += calls_of(account, people, now, has_secrets=self.has_secrets)
            say(f"{account['name']}: {len(people):,} contacts")
        coming.sort(key=attrgetter("at"))
        async for share in self._play(coming, now):
            say(f"three weeks of webhooks: {share:.0%}")
        await self.jobs.drain()
        await self._work(now)
        await self._team(now)
        for account in reversed(accounts()):  # a store without the names is not complete
            await self._disable_endpoints(account["id"], now - HOUR)
            await self._ask("PATCH", f"/admin/v1/clients/{account['id']}", {"name": account["name"]}, now)
        return self.filled

    async def _team(self, now: Micros) -> None:
        """Three people share the replies: each has some, some are snoozed, and most are still nobody's."""
        await self._ask("PUT", "/team/v1/statuses", {"data": STATUSES}, now)
        listed = (await self._ask("GET", "/team/v1/conversations?limit=200", None, now))["data"]
        people: list[User] = []
        for number, (name, role) in enumerate(TEAM):
            email = f"{name.split()[0].lower()}@agency.example"
            person = User(new_user_id(), email, name, role, INVITED, now, "Europe/London")
            _, link = new_link(person.id, INVITATION, now)
            await self.store.write(invite_user(person, link))
            await self.store.write(use_link(link.digest, (INVITATION,), now))
            people.append(person)
            await self._change(listed[number::5], {"assignee_id": person.id}, now)
        for days, conversation in enumerate(listed[4::9], 1):
            await self._change([conversation], {"snoozed_until": to_text(now + days * DAY)}, now)
        for number, (text, conversation) in enumerate(zip(NOTES, listed, strict=False)):
            writer, colleague = people[number % len(people)], people[(number + 1) % len(people)]
            client = await self.store.read(find_client(conversation["client_id"]))
            assert client is not None
            at, contact = now - (len(NOTES) - number) * HOUR, conversation["contact"]["id"]
            mentions = [colleague.id] if "{name}" in text else []
            said = text.format(name=colleague.name)
            note = create_note(client.number, CONTACT, contact, said, mentions, at, new_write_key(), Author(writer.id))
            await self.store.write(note)

    async def _change(self, conversations: list[dict[str, Any]], change: dict[str, str], at: Micros) -> None:
        named = [{"client_id": conversation["client_id"], "contact_id": conversation["contact"]["id"]} for conversation in conversations]
        if named:
            await self._ask("POST", "/team/v1/conversations/bulk", {"conversations": named, "change": change}, at)

    async def _batch(self, client: str, kind: str, bodies: list[dict[str, object]]) -> None:
        for begin in range(0, len(bodies), 1_000):
            commands = [{"op": "create", "body": body} for body in bodies[begin : begin + 1_000]]
            answer = await self._ask("POST", f"/public/v2/{kind}/batch", {"commands": commands}, self.clock.now, client)
            if answer["failed"]:
                raise DemoFailed(
                    f"{kind} of {client} were refused: {[result for result in answer['results'] if result['status'] >= 400][:3]}"
                )

    async def _play(self, coming: Sequence[RecordedCall], now: Micros) -> AsyncIterator[float]:
        """Advance three weeks; yield the passed share now and then."""
        silences, said, at, end = SilenceCheck(self.store, self.clock), 0, 0, now - WEEKS - DAY
        while end < now:
            is_near = end >= now - SILENT - 4 * HOUR
            step = HOUR if is_near else LONG_STEP
            begin, end = at, min(now, end + step)
            while at < len(coming) and coming[at].at <= end:
                at += 1
            for is_webhook, same_calls in groupby(coming[begin:at], lambda call: call.expected is not None):
                calls = [*same_calls]
                width = AT_ONCE if is_webhook else 1
                for first in range(0, len(calls), width):
                    await asyncio.gather(*map(self._send, calls[first : first + width]))
            if at > begin:
                await self._work(end)
            if is_near:
                await self._look_for_silence(silences, end - step, end)
            if 10 * at // max(1, len(coming)) > said:
                said = 10 * at // len(coming)
                yield at / len(coming)

    async def _work(self, at: Micros) -> None:
        """Apply received deliveries, and send the events that follow."""
        self.clock.now = at
        for worker in self.workers:
            await worker.drain()

    async def _look_for_silence(self, silences: SilenceCheck, begin: Micros, end: Micros) -> None:
        """Look often, as a server does: a silence counts only while no two checks are ten minutes apart."""
        await self.counts.flush(self.store)
        for at in range(begin + CHECKS, end + 1, CHECKS):
            self.clock.now = at
            await silences.run_if_due()
        self.clock.now = end

    async def _disable_endpoints(self, client: str, at: Micros) -> None:
        """Disable a client's endpoints, so that a server of this store sends nothing."""
        for endpoint in (await self._ask("GET", "/public/v2/webhook-endpoints", None, at, client))["data"]:
            if endpoint["state"] != "disabled":
                await self._ask("PATCH", f"/public/v2/webhook-endpoints/{endpoint['id']}", {"disabled": True}, at, client)

    async def _ask(self, method: str, path: str, value: Any, at: Micros, client: str = "") -> Any:
        """Send a request with a JSON body; return the value of the response."""
        body = b"" if value is None else json.dumps(value).encode()
        return json.loads(await self._send(RecordedCall(at, path, body, None, client, method)) or b"null")

    async def _send(self, call: RecordedCall) -> bytes:
        """Send a call at its time; return the body of the response. Raises `DemoFailed` for an error that is not expected."""
        path, _, query = call.target.partition("?")
        headers = [(b"content-type", call.media.encode()), (b"user-agent", b"touchbase-demo")]
        if call.client_id:
            headers.append((b"x-client-id", call.client_id.encode()))
        token = _OWN.set(call.at)
        try:
            status, body = await send_inner(self.app, call.method, path, query.encode(), headers, call.body)
        finally:
            _OWN.reset(token)
        if status >= (500 if call.expected is not None else 400):
            raise DemoFailed(f"{call.method} {call.target} answered {status}: {body.decode()[:500]}")
        if call.expected is not None:
            self.filled.calls += 1
            self.filled.refused += status >= 400
        if call.expected is not None and status < 400:
            self.filled.expected[call.expected] = self.filled.expected.get(call.expected, 0) + 1
        return body


def _company(firm: dict[str, Any]) -> dict[str, object]:
    """Return the body of a request for a company."""
    status = Random(firm["domain"]).choices(("target", "customer", "lost"), (8, 1, 1))[0]  # noqa: S311
    fields = _fields({"Industry": firm["industry"], "Employees": str(firm["employees"])})
    return {"domain": firm["domain"], "name": firm["firm"], "company_status": status, "company_custom_fields": fields}


def _contact(person: dict[str, Any]) -> dict[str, object]:
    """Return the body of a request for a contact; some are known without a LinkedIn address or some fields."""
    chance = Random(person["email"])  # noqa: S311
    fields = {"Title": person["title"], "Country": person["country"], "Score": str(person["score"])}
    return {
        "email": person["email"], "first_name": person["first"], "last_name": person["last"], "origin": person["source"],
        "company_id": person["domain"], "contact_status": "new", "linkedin_url": person["linkedin"] if chance.random() < 0.8 else None,
        "contact_custom_fields_input": _fields({name: value for name, value in fields.items() if chance.random() < 0.93}),
    }  # fmt: skip


def _fields(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"field_name": name, "field_value": value} for name, value in values.items()]


def is_of_the_demo(names: dict[str, str]) -> bool:
    """Return whether clients, by id, are the demo's."""
    return set(names) <= {account["id"] for account in accounts()}


def is_complete(names: dict[str, str]) -> bool:
    """Return whether the store has all of the demo."""
    return all(names.get(account["id"]) == account["name"] for account in accounts())

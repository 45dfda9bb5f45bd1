"""Fill a store with the demo: an agency with 12 clients and three weeks of calls, through the routes that all programs use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from random import Random
from typing import Protocol

from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.connections.silence import CallCounts
from touchbase.connections.silence_check import SilenceCheck
from touchbase.demo.agency import ACCOUNTS, SHARES, Account
from touchbase.demo.calls import HOUR, SILENT, WEEKS, Call, Change, calls_of
from touchbase.demo.front_door import DemoClock, DemoFailed, FrontDoor
from touchbase.demo.furnishing import (
    ENDPOINT_OF,
    add_endpoints,
    add_keys,
    import_leads,
    list_addresses,
    settle,
    stop_endpoint,
)
from touchbase.demo.people import Person, company_body, contact_body, firms, people
from touchbase.sql.store import Store

LONG_STEP: Micros = 2 * HOUR
"""The step of the first weeks; the last two days go by hours."""
CHECKS: Micros = 450 * SECOND
AT_ONCE = 128
"""Calls that are sent together."""
FEWEST = 6
"""Contacts of a client, whatever their number of all."""
Say = Callable[[str], None]


class Drains(Protocol):
    """A worker that can be asked to do all that is due."""

    async def drain(self) -> object:
        """Do all that is due."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """The running application, as far as the demo uses it."""

    door: FrontDoor
    store: Store
    clock: DemoClock
    workers: Sequence[Drains]
    """In the order in which they are to run after calls."""
    jobs: Drains
    calls: CallCounts
    has_secrets: bool
    """Whether the store can encrypt secrets."""


@dataclass(slots=True)
class Filled:
    """What was made."""

    contacts: int = 0
    companies: int = 0
    calls: int = 0
    refused: int = 0
    expected: dict[str, int] = field(default_factory=dict)
    """States of deliveries that the calls are meant to have, and the number of repeats, under `repeat`."""


async def fill(parts: Parts, contacts: int, say: Say) -> Filled:
    """Make the demo; `parts.clock` says when now is, and stands there again at the end."""
    now, made = parts.clock.now, Filled()
    chances = {each.id: Random(f"touchbase demo {each.id}") for each in ACCOUNTS}  # noqa: S311
    crowd: dict[str, list[Person]] = {}
    parts.clock.now = now - WEEKS - 3 * DAY
    for account in ACCOUNTS:
        await settle(parts.door, account, parts.clock.now, has_secrets=parts.has_secrets)
        crowd[account.id] = await _add_people(parts, account, contacts, chances[account.id], made)
        say(f"{account.name}: {len(crowd[account.id]):,} contacts")
    endpoint = await add_endpoints(parts.door, now - WEEKS) if parts.has_secrets else None
    coming = sorted(
        (each for account in ACCOUNTS for each in calls_of(account, crowd[account.id], chances[account.id], now)), key=attrgetter("at")
    )
    async for share in _play(parts, coming, now, made):
        say(f"three weeks of calls: {share:.0%}")
    await _finish(parts, crowd, chances, now, endpoint)
    return made


async def _add_people(parts: Parts, account: Account, contacts: int, chance: Random, made: Filled) -> list[Person]:
    count = max(FEWEST, round(account.contacts * contacts / SHARES))
    of = firms(chance, max(3, count // 7))
    found = [*people(chance, count, of)]
    await _batch(parts, account, "companies", [company_body(each, chance) for each in of])
    await _batch(parts, account, "contacts", [contact_body(each, chance) for each in found])
    made.contacts += len(found)
    made.companies += len(of)
    return found


async def _batch(parts: Parts, account: Account, kind: str, bodies: list[dict[str, object]]) -> None:
    for begin in range(0, len(bodies), 1_000):
        commands = [{"op": "create", "body": each} for each in bodies[begin : begin + 1_000]]
        answer = await parts.door.ask("POST", f"/public/v2/{kind}/batch", {"commands": commands}, parts.clock.now, account.id)
        if answer["failed"]:
            raise DemoFailed(f"{kind} of {account.id} were refused: {[each for each in answer['results'] if each['status'] >= 400][:3]}")


async def _play(parts: Parts, coming: Sequence[Call | Change], now: Micros, made: Filled) -> AsyncIterator[float]:
    """Let three weeks pass; yield the share that has passed, now and then."""
    silences, said, at, end = SilenceCheck(parts.store, parts.clock), 0, 0, now - WEEKS - DAY
    while end < now:
        is_near = end >= now - SILENT - 4 * HOUR
        step = HOUR if is_near else LONG_STEP
        begin, end = at, min(now, end + step)
        while at < len(coming) and coming[at].at <= end:
            at += 1
        for kind, some in groupby(coming[begin:at], type):
            each = [*some]
            await (_send(parts, each, made) if kind is Call else _change(parts, each))  # type: ignore[arg-type]
        if at > begin:
            await _work(parts, end)
        if is_near:
            await _look_for_silence(parts, silences, end - step, end)
        if 10 * at // max(1, len(coming)) > said:
            said = 10 * at // len(coming)
            yield at / len(coming)


async def _work(parts: Parts, at: Micros) -> None:
    """Apply what has come, and send what follows from it."""
    parts.clock.now = at
    for worker in parts.workers:
        await worker.drain()


async def _look_for_silence(parts: Parts, silences: SilenceCheck, begin: Micros, end: Micros) -> None:
    """Look often, as a server does: a silence counts only while no two checks are ten minutes apart."""
    await parts.calls.flush(parts.store)
    for at in range(begin + CHECKS, end + 1, CHECKS):
        parts.clock.now = at
        await silences.run_if_due()
    parts.clock.now = end


async def _send(parts: Parts, calls: Sequence[Call], made: Filled) -> None:
    for begin in range(0, len(calls), AT_ONCE):
        some = calls[begin : begin + AT_ONCE]
        await asyncio.gather(*(_send_one(parts, each, made) for each in some))


async def _send_one(parts: Parts, call: Call, made: Filled) -> None:
    target = f"/public/{call.channel}-webhook/{call.client_id}" + (call.query and f"?{call.query}")
    answer = await parts.door.send("POST", target, call.body, call.at)
    made.calls += 1
    if answer.status >= 500:
        raise DemoFailed(f"{target} answered {answer.status}: {answer.body.decode()[:500]}")
    if answer.status >= 400:
        made.refused += 1
    else:
        made.expected[call.expected] = made.expected.get(call.expected, 0) + 1


async def _change(parts: Parts, changes: Sequence[Change]) -> None:
    for each in changes:
        body = {"email": each.email, "contact_status": each.status}
        await parts.door.ask("PUT", "/public/v2/contacts?match=email", body, each.at, each.client_id)


async def _finish(parts: Parts, crowd: dict[str, list[Person]], chances: dict[str, Random], now: Micros, endpoint: int | None) -> None:
    """Add what does not come by calls, and name the clients: a store without the names is not complete."""
    for account in ACCOUNTS:
        await list_addresses(parts.door, account, crowd[account.id], chances[account.id], now)
    await add_keys(parts.door, now - 9 * DAY)
    await import_leads(parts.door, ACCOUNTS[0], crowd[ENDPOINT_OF][:120], now - 2 * HOUR)
    await parts.jobs.drain()
    await _work(parts, now)
    if endpoint is not None:
        await stop_endpoint(parts.door, endpoint, now - HOUR)
    for account in reversed(ACCOUNTS):
        await parts.door.ask("PATCH", f"/admin/v1/clients/{account.id}", {"name": account.name})


def is_of_the_demo(names: dict[str, str]) -> bool:
    """Return whether clients, by id, are those of the demo."""
    return set(names) <= {each.id for each in ACCOUNTS}


def is_complete(names: dict[str, str]) -> bool:
    """Return whether the store has all of the demo."""
    return all(names.get(each.id) == each.name for each in ACCOUNTS)

"""Helpers for tests of statuses over HTTP: changes, and the worker of their jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tests.house import NOON, House

from touchbase.common.timestamps import SECOND
from touchbase.jobs.runner import JobKind
from touchbase.jobs.worker import JobWorker
from touchbase.statuses.job import KINDS
from touchbase.statuses.models import SETTLED

CONTACTS, COMPANIES = "contacts", "companies"
ANN, BEN, EVE = "ann@example.com", "ben@example.com", "eve@example.com"


def worker(house: House, kinds: Sequence[JobKind] = KINDS) -> JobWorker:
    """A worker on the store of the client's application."""
    return JobWorker(house.call.parts.store, house.call.clock, kinds)


def at(house: House, seconds: int) -> None:
    """Set the clock, in seconds from the time at which the tests begin."""
    house.call.clock.now = NOON + seconds * SECOND


async def change(house: House, method: str, path: str, body: object = None, *, status: int = 202, many: str = CONTACTS) -> Any:
    """Send a request for statuses; return the body of its response."""
    reply = await house.request(method, f"/public/v2/statuses/{many}{path}", body)
    assert reply.status == status, reply.body
    return reply.json() if reply.body else None


async def rename(house: House, before: str, after: str, *, status: int = 202, many: str = CONTACTS) -> Any:
    """Ask for a rename; return the job."""
    return await change(house, "PATCH", f"/{quote(before, safe='')}", {"name": after}, status=status, many=many)


async def merge(house: House, before: str, into: str, *, status: int = 202, many: str = CONTACTS) -> Any:
    """Ask for a merge; return the job."""
    return await change(house, "POST", f"/{quote(before, safe='')}/merge", {"into": into}, status=status, many=many)


async def finish(house: House) -> None:
    """Run all due jobs to their ends, also those that look once more when no earlier request can write any longer."""
    await worker(house).drain()
    house.call.clock.now += SETTLED
    await worker(house).drain()


async def renamed(house: House, before: str, after: str, *, many: str = CONTACTS) -> Any:
    """Rename a status and run the job; return the job."""
    job = await rename(house, before, after, many=many)
    await finish(house)
    return await job_of(house, job["id"])


async def merged(house: House, before: str, into: str) -> Any:
    """Merge a status and run the job; return the job."""
    job = await merge(house, before, into)
    await finish(house)
    return await job_of(house, job["id"])


async def job_of(house: House, number: int) -> Any:
    """Get a job."""
    reply = await house.request("GET", f"/public/v2/jobs/{number}")
    assert reply.status == 200, reply.body
    return reply.json()


async def statuses(house: House, many: str = CONTACTS, query: str = "") -> dict[str, Any]:
    """The statuses by name."""
    reply = await house.request("GET", f"/public/v2/statuses/{many}?limit=200&{query}")
    assert reply.status == 200, reply.body
    return {item["name"]: item for item in reply.json()["data"]}


def sent(email: str, seconds: int) -> dict[str, Any]:
    """A sent mail."""
    return {"event": "email_sent", "email": email, "at": seconds, "key": f"sent {email} {seconds}"}


def reply(email: str, seconds: int) -> dict[str, Any]:
    """A reply."""
    return {"event": "email_replied", "email": email, "at": seconds, "key": f"reply {email} {seconds}"}


def bounce(email: str, seconds: int) -> dict[str, Any]:
    """A hard bounce."""
    return {"event": "email_bounced", "kind": "hard", "email": email, "at": seconds, "key": f"bounce {email} {seconds}"}


def unsubscribe(email: str, seconds: int) -> dict[str, Any]:
    """An unsubscribe."""
    return {"event": "email_unsubscribed", "email": email, "at": seconds, "key": f"unsubscribe {email} {seconds}"}


def resubscribe(email: str, seconds: int) -> dict[str, Any]:
    """A re-subscription."""
    return {"event": "email_resubscribed", "email": email, "at": seconds, "key": f"resubscribe {email} {seconds}"}


def label(email: str, word: str, seconds: int) -> dict[str, Any]:
    """A label that a person sets in a campaign tool."""
    return {"event": "lead_status_changed", "status": f"custom:{word}", "email": email, "at": seconds, "key": f"{word} {email} {seconds}"}

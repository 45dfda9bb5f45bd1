"""Helpers for tests of company links: the setting, and the workers that link."""

from __future__ import annotations

from typing import Any

from tests.house import House

from touchbase.company_links.job import KINDS
from touchbase.company_links.worker import CompanyLinker
from touchbase.jobs.worker import JobWorker

KIND = "contacts.link_companies"


async def link(house: House) -> None:
    """Link what is to be linked: follow the events, then run the jobs."""
    store, clock = house.call.parts.store, house.call.clock
    await CompanyLinker(store, clock, pause=0).drain()
    await JobWorker(store, clock, KINDS).drain()


async def turn(house: House, mode: str) -> None:
    """Set the setting, and link."""
    await house.call.settings(house.client_id, link_companies_by_email=mode)
    await link(house)


async def company_of(house: House, contact: int) -> int | None:
    """The company of a contact."""
    return (await house.get(contact)).get("company_id")


async def domains(house: House) -> dict[str, int]:
    """The ids of all companies by domain."""
    return {item["domain"]: item["id"] for item in await house.listed("companies")}


async def jobs(house: House) -> list[Any]:
    """The jobs that linked contacts, the newest first."""
    reply = await house.request("GET", f"/public/v2/jobs?kind={KIND}")
    assert reply.status == 200, reply.body
    return reply.json()["data"]


async def events(house: House, number: int, kind: str = "contact") -> list[tuple[str, Any, Any]]:
    """The logged events of a record: type, changes, cause."""
    reply = await house.request("GET", "/public/v2/events?limit=1000")
    assert reply.status == 200, reply.body
    results = [event for event in reply.json()["data"] if event["type"].startswith(kind) and event["data"]["record_id"] == number]
    return [(event["type"], event["data"]["changed"], event["data"]["cause"]) for event in results]

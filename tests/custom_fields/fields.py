"""Helpers for tests of custom fields over HTTP: contacts with fields, and changes carried out by the worker of jobs."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.asgi_client import Response
from tests.house import House

from touchbase.config import Settings
from touchbase.jobs.worker import JobWorker
from touchbase.workers import job_kinds

FIELDS = "/public/v2/custom-fields/contacts"


def path(name: str = "", end: str = "", of: str = "contacts") -> str:
    """The address of a field."""
    base = f"/public/v2/custom-fields/{of}"
    return f"{base}/{quote(name.replace('~', '~0').replace('/', '~1'), safe='')}{end}" if name else base


async def contact(house: House, email: str, **values: str) -> int:
    """Create a contact with custom fields; return its id."""
    return await house.contact(email=email, contact_custom_fields_input=inputs(**values))


def inputs(**values: str | None) -> list[dict[str, str | None]]:
    """Custom fields as requests have them."""
    return [{"field_name": name, "field_value": value} for name, value in values.items()]


async def values(house: House, number: int, of: str = "contacts") -> dict[str, Any]:
    """The custom fields of a record."""
    reply = await house.request("GET", f"/public/v2/{of}/{number}?structure=FLAT")
    assert reply.status == 200, reply.body
    body: dict[str, Any] = reply.json()["contact_custom_fields" if of == "contacts" else "company_custom_fields"]
    return body


async def listed(house: House, query: str = "", of: str = "contacts") -> list[Any]:
    """The list of custom fields."""
    reply = await house.request("GET", f"{path(of=of)}?{query}")
    assert reply.status == 200, reply.body
    item: list[Any] = reply.json()["data"]
    return item


async def uses(house: House, of: str = "contacts") -> dict[str, int]:
    """How many records have each field."""
    return {item["name"]: item["records"] for item in await listed(house, of=of)}


async def work(house: House) -> None:
    """Run all due jobs."""
    await JobWorker(house.call.parts.store, house.call.clock, job_kinds(Settings())).drain()


async def done(house: House, reply: Response) -> Any:
    """Run the job of a response to its end; return it."""
    assert reply.status == 202, reply.body
    await work(house)
    job = (await house.request("GET", f"/public/v2/jobs/{reply.json()['id']}")).json()
    assert job["state"] == "succeeded", job
    return job


async def rename(house: House, old: str, new: str, of: str = "contacts") -> Any:
    """Rename a field on all records."""
    return await done(house, await house.request("PATCH", path(old, of=of), {"name": new}))

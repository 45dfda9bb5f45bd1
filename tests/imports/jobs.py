"""Helpers for tests of imports over HTTP: uploads, and the worker of jobs as in the server."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from tests.asgi_client import ApiClient
from tests.files import FILES

from touchbase.imports.job import KINDS
from touchbase.jobs.runner import JobKind
from touchbase.jobs.worker import JobWorker

Rows = list[dict[str, str]]
ROWS = ("created", "updated", "unchanged", "duplicate_in_file", "invalid", "erased", "not_a_row")
"""Counts in which each row of a file is once."""
COUNTS = (*ROWS, "cells_left_out", "opt_outs_taken", "kept_opt_outs", "suppressed")


def worker(call: ApiClient, kinds: Sequence[JobKind] = KINDS, clock: Callable[[], int] | None = None) -> JobWorker:
    """A worker on the store of the client's application."""
    return JobWorker(call.parts.store, clock or call.clock, kinds, sandbox=FILES)


async def upload(call: ApiClient, data: bytes, path: str = "contacts/imports", **options: str | dict[str, Any]) -> dict[str, Any]:
    """Upload a file in pieces of 100 kB; return the job."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    query = "&".join(f"{name}={quote(value)}" for name, value in texts.items())
    pieces = [data[at : at + 100_000] for at in range(0, len(data), 100_000)]
    reply = await call.in_pieces("POST", f"/public/v2/{path}?{query}", pieces)
    assert reply.status == 201, reply
    job: dict[str, Any] = reply.json()
    assert reply.headers["location"] == f"/public/v2/jobs/{job['id']}"
    return job


async def finished(call: ApiClient, job: dict[str, Any]) -> dict[str, Any]:
    """Run all due jobs; return this one."""
    await worker(call).drain()
    body: dict[str, Any] = (await call.get(f"/public/v2/jobs/{job['id']}")).json()
    return body


async def imported(call: ApiClient, data: bytes, **options: str | dict[str, Any]) -> dict[str, Any]:
    """Import a file with its guessed mapping, or with options; return the counts that are not 0."""
    job = await finished(call, await upload(call, data, start="true", **options))
    assert job["state"] == "succeeded", job
    return counts(job)


def counts(job: dict[str, Any]) -> dict[str, int]:
    """The counts of a job that are not 0."""
    return {name: job["progress"][name] for name in COUNTS if job["progress"][name]}


async def bad_rows(call: ApiClient, job: dict[str, Any]) -> Rows:
    """The rows that an import refused."""
    reply = await call.get(f"/public/v2/jobs/{job['id']}/bad-rows")
    assert reply.status == 200, reply
    return list(csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig"))))


async def report(call: ApiClient, job: dict[str, Any], query: str = "") -> list[tuple[str, ...]]:
    """What became of each row: row, outcome, column, value and reason, without the ids of records."""
    reply = await call.get(f"/public/v2/jobs/{job['id']}/report{query}")
    assert reply.status == 200, reply
    lines = csv.DictReader(io.StringIO(reply.body.decode("utf-8-sig"), newline=""))
    return [(line["row"], line["outcome"], line["column"], line["value"], line["reason"]) for line in lines]


async def contacts(call: ApiClient, query: str = "") -> list[dict[str, Any]]:
    """The first contacts, oldest first, with their custom fields as an object."""
    reply = await call.get(f"/public/v2/contacts?structure=FLAT{query}")
    result: list[dict[str, Any]] = reply.json()["data"]
    return result

"""SIGKILL at random moments of an import and of an export: every good row is there once, and the counts and files are right."""

from __future__ import annotations

import asyncio
import csv
import io
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from fault_tests.calls import ApiClient
from fault_tests.check import Findings, check_integrity
from fault_tests.plan import Plan
from fault_tests.process import Process
from touchbase.clients.sql.clients import find_client
from touchbase.consistency import service as consistency_service
from touchbase.stores import open_store

IMPORT, EXPORT = (3, 0.4), (1, 0.05)
"""Kills of each job in a round, if it lasts so long, and the longest time before each in seconds."""
BAD, REPEATED = 40, 50
"""Every 40th row is bad, and every 50th repeats the one before."""


@dataclass
class File:
    """A file to import, and what must become of it."""

    text: str
    emails: set[str] = field(default_factory=set)
    bad: dict[int, str] = field(default_factory=dict)
    """The e-mail cell of each bad row, by its number."""
    repeated: int = 0


def run(plan: Plan, engine: str) -> None:
    """Upload a file, kill the server while it imports, start it again until the import ends; then the same with an export."""
    folder, rounds, rows = plan.new_folder(), plan.rounds_of(1, 20), plan.size_of(2_000, 10_000, 20_000)
    database, findings, kills = plan.new_store(engine, folder), Findings(), 0
    for number in range(rounds):
        client, file = f"import-{number}", file_of(rows)
        server = _start(plan, database)
        try:
            with closing(ApiClient(server.address, client)) as api:
                job = api.expect_ok("POST", "/public/v2/contacts/imports?start=true", file.text.encode(), Content_Type="text/csv")["id"]
            server, killed = _until_done(plan, server, database, client, job, findings, IMPORT)
            kills += killed
            with closing(ApiClient(server.address, client)) as api:
                _check_import(api, job, file, findings)
                job = api.expect_ok("POST", "/public/v2/contacts/exports?format=csv", {})["id"]
            server, killed = _until_done(plan, server, database, client, job, findings, EXPORT)
            kills += killed
            with closing(ApiClient(server.address, client)) as api:
                exported = api.call("GET", f"/public/v2/jobs/{job}/result").raw.decode("utf-8-sig")
            _once(Counter(row["email"] for row in csv.DictReader(io.StringIO(exported))), file.emails, "the exported file", findings)
        finally:
            server.kill()
        asyncio.run(_verify(database, client, findings))
    if database.startswith("sqlite"):
        check_integrity(database.removeprefix("sqlite:///"), findings)
    plan.report.add("import", engine, rounds, rounds * rows, findings, broken=plan.broken, kills=kills)


def file_of(rows: int) -> File:
    """Make a file with this many rows."""
    lines, file = ["email,first_name,Segment"], File("")
    for number in range(rows):
        email = f"person{number}@example.com"
        if number % BAD == 1:
            email = file.bad[number + 2] = f"person{number} at example.com"
        elif number % REPEATED == 2:
            email = f"person{number - 2}@example.com"
            file.repeated += 1
        else:
            file.emails.add(email)
        lines.append(f"{email},First {number},{number % 7}")
    file.text = "\n".join(lines)
    return file


def _start(plan: Plan, database: str) -> Process:
    return Process(database, plan.new_folder(), broken=plan.broken, injected=["quick-jobs:1"])


def _until_done(
    plan: Plan, server: Process, database: str, client: str, job: int, findings: Findings, most: tuple[int, float]
) -> tuple[Process, int]:
    """Kill and start the server until the job has ended; return the last server, and how often it was killed."""
    kills = 0
    while kills < most[0]:
        time.sleep(plan.rng.uniform(0.0, most[1]))
        if _state(server, client, job) not in ("queued", "running"):
            break
        server.kill()
        server, kills = _start(plan, database), kills + 1
    before, until = "", time.perf_counter() + plan.stall_limit
    while (now := str(_job(server, client, job))) and _state(server, client, job) in ("queued", "running"):
        if now != before:
            before, until = now, time.perf_counter() + plan.stall_limit
        if time.perf_counter() > until:
            findings.fault(f"job {job} of {client} never ends")
            break
        time.sleep(0.05)
    if (state := _state(server, client, job)) != "succeeded":
        findings.fault(f"job {job} of {client} is {state}")
    return server, kills


def _job(server: Process, client: str, job: int) -> dict[str, object]:
    api = ApiClient(server.address, client)
    try:
        shown: dict[str, object] = api.expect_ok("GET", f"/public/v2/jobs/{job}")
        return shown
    finally:
        api.close()


def _state(server: Process, client: str, job: int) -> object:
    return _job(server, client, job)["state"]


def _check_import(api: ApiClient, job: int, file: File, findings: Findings) -> None:
    """Compare the contacts, the counts and the file of bad rows with the file."""
    listed = api.call("GET", "/public/v2/contacts/export?format=csv").raw.decode("utf-8-sig")
    _once(Counter(row["email"] for row in csv.DictReader(io.StringIO(listed))), file.emails, "the contacts", findings)
    progress = api.expect_ok("GET", f"/public/v2/jobs/{job}")["progress"]
    expected = {"created": len(file.emails), "updated": 0, "unchanged": 0, "duplicate_in_file": file.repeated, "invalid": len(file.bad)}
    counted = {name: progress.get(name) for name in expected}
    if counted != expected:
        findings.fault(f"counted {counted}, and not {expected}")
    bad = api.call("GET", f"/public/v2/jobs/{job}/bad-rows").raw.decode("utf-8-sig")
    rows = Counter((int(row["row"]), row["email"]) for row in csv.DictReader(io.StringIO(bad)))
    _once(rows, set(file.bad.items()), "the bad rows", findings)
    api.close()


def _once(there: Counter[Any], expected: set[Any], where: str, findings: Findings) -> None:
    for item in expected:
        findings.exactly(there[item], f"{item} in {where}")
    for item in there.keys() - expected:
        findings.fault(f"{item} in {where} is of no row")


async def _verify(database: str, client_id: str, findings: Findings) -> None:
    store = await open_store(database, as_is=True)
    try:
        client = await store.read(find_client(client_id))
        assert client is not None, "the client itself is gone"
        async for difference in consistency_service.verify(store, client.number, consistency_service.Verified(), lambda: None):
            findings.fault(f"not what the kept events say: {difference}")
    finally:
        await store.close()

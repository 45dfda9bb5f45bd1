"""Concurrent equal webhooks: one delivery, one effect."""

from __future__ import annotations

import asyncio
import json
import time

from bench.load import Address

from fault_tests.check import Findings
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.verify import verify
from fault_tests.writers import body_of

EQUAL = 64
CLIENT = "duplicates"
SECONDS = 60
PROCESSES = {"sqlite": (), "postgresql": ("--workers", "2")}
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def run(plan: Plan, engine: str) -> None:
    """Send one body on all connections at once, its last byte held back until all are ready; on PostgreSQL to two processes."""
    folder = plan.new_folder()
    database, rounds = plan.new_store(engine, folder), plan.rounds_of(20, 1000)
    journal = Journal(CLIENT)
    server = Process(database, folder, *PROCESSES[engine], broken=plan.broken)
    try:
        asyncio.run(_rounds(server.address, journal, rounds))
        findings = Findings()
        verify(plan, server, database, journal, findings)
    finally:
        server.stop()
    if journal.acknowledged != rounds * EQUAL:
        findings.fault(f"only {journal.acknowledged} of {rounds * EQUAL} calls were answered with 2xx")
    plan.report.add("duplicates", engine, rounds, journal.acknowledged, findings, p99_ms(journal.seconds), plan.broken, equal_calls=EQUAL)


async def _rounds(address: Address, journal: Journal, rounds: int) -> None:
    lines = [await asyncio.open_connection(address.host, address.port) for _ in range(EQUAL)]
    for number in range(rounds):
        email = f"same{number}@example.com"
        journal.webhooks[email] = True
        async with asyncio.timeout(SECONDS):
            await _same_instant(lines, address, journal, json.dumps(body_of(email)).encode())
    for _, writer in lines:
        writer.close()
        await writer.wait_closed()


async def _same_instant(lines: list[Line], address: Address, journal: Journal, body: bytes) -> None:
    head = f"POST /public/emailcampaign-webhook/{CLIENT} HTTP/1.1\r\nHost: {address.host}\r\nContent-Type: application/json\r\n"
    message = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    for _, writer in lines:
        writer.write(message[:-1])
        await writer.drain()
    began = time.perf_counter()
    for _, writer in lines:
        writer.write(message[-1:])
    for status in await asyncio.gather(*(_status(reader) for reader, _ in lines)):
        journal.note(status, time.perf_counter() - began, "an equal webhook call")


async def _status(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    named = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
    await reader.readexactly(int(named.get(b"content-length", b"0")))
    return int(head.split()[1])

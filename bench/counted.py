"""Count what one operation costs, by what noise does not move: `python -m bench.counted`.

A server without sockets runs on a SQLite store in memory; requests come on 32 connections at once. For one request of each kind it counts
the calls of Python and C functions, and on the store the statements, changed rows and transactions; with `--instructions` also the
processor's instructions.
The committed table `counted.json` has the counts of today: more than 5 % more is an error, and `--write` replaces the table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
import uvloop

from bench.bodies import new_run
from bench.dataset_sample import address_of, webhook
from bench.files_of_request import InProcess
from bench.requests import shapes
from touchbase import app, fleet
from touchbase.config import Settings
from touchbase.inbox import translation
from touchbase.inbox.translator_pool import TranslatorPool
from touchbase.server.server import Server
from touchbase.storage.sqlite import writer

TABLE = Path(__file__).parent / "counted.json"
TOLERANCE = 0.05
CONNECTIONS = 32
ROUNDS = 8
TRIES = 3
"""Runs whose smallest counts are compared: now and then a group of commands is divided into two transactions."""
KNOWN = 1_000
"""Contacts of the store before the first operation."""
READS = {
    "match": b"/public/v2/contacts/match",
    "conversations": b"/team/v1/conversations?limit=50",
    "counters": b"/team/v1/counters?by_client=true",
    "attention": b"/team/v1/attention",
    "fields": b"/public/v2/custom-fields/contacts",
}
"""Reads of the console and of other programs, after the writes: a page has something to list then."""
OPERATIONS = ("create", "update", "patch", "get", "list", "receive", "apply", *READS)
MATCHED = 100
"""Keys of a match."""
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
"""The store's folder, where there is one: flushes to a disk would take most of the time."""


class Wire(asyncio.Transport):
    """A connection without a socket: it counts the responses that the server writes."""

    def __init__(self, on_response: Callable[[bytes], None]) -> None:
        super().__init__({"peername": ("127.0.0.1", 50_000), "sockname": ("127.0.0.1", 8000)})
        self._on_response = on_response

    def write(self, data: Any) -> None:
        self._on_response(bytes(data))

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass


class Served:
    """A server process's parts, and connections to it."""

    def __init__(self, application: app.Application, server: Server) -> None:
        self.application = application
        self._answered = asyncio.Event()
        self._refused = b""
        self._left = 0
        self._connections = []
        for _ in range(CONNECTIONS):
            connection: Any = server.config.http_protocol_class(config=server.config, server_state=server.server_state, app_state={})  # type: ignore[operator]
            connection.connection_made(Wire(self._on_response))
            self._connections.append(connection)

    def _on_response(self, data: bytes) -> None:
        if not data.startswith(b"HTTP/1.1 2"):
            self._refused = data
        self._left -= 1
        if self._refused or not self._left:
            self._answered.set()

    async def ask(self, requests: Iterator[bytes], rounds: int = ROUNDS) -> None:
        """Send a request on each connection, and wait for all responses."""
        for _ in range(rounds):
            self._left = CONNECTIONS
            self._answered.clear()
            for connection in self._connections:
                connection.data_received(next(requests))
            await self._answered.wait()
            if self._refused:
                raise RuntimeError(self._refused.decode())

    async def apply(self) -> None:
        """Apply all webhooks that wait."""
        worker: Any = self.application.worker
        await worker.drain()


def requests(name: str) -> Iterator[bytes]:
    """Yield the requests of an operation."""
    if name in ("receive", "apply"):
        return (_message("POST", b"/public/emailcampaign-webhook/default", body) for body in _webhooks())
    if name == "match":
        items = {"items": [{"email": address_of(str(number))} for number in range(MATCHED)]}
        return repeat(_message("POST", READS[name], json.dumps(items).encode()))
    if name in READS:
        return repeat(_message("GET", READS[name], b""))
    shape = shapes(KNOWN)[name]
    if name == "list":
        shape = replace(shape, path=shape.path.replace("replied", "new"))  # a full page
    return (_message(shape.method, path, body) for path, body in shape.requests(new_run()))


def _webhooks() -> Iterator[bytes]:
    run, now = new_run(), time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    for number in range(1_000_000):
        body = webhook("reply_received", address_of(str(number % KNOWN)), f"mail-{number}.{run}", now)
        yield body.encode()


def _message(method: str, path: bytes, body: bytes) -> bytes:
    length = b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body) if body else b""
    return b"%b %b HTTP/1.1\r\nhost: 127.0.0.1\r\n%b\r\n%b" % (method.encode(), path, length, body)


class Calls:
    """Counts calls of Python functions and of C functions, in all threads."""

    def __init__(self) -> None:
        self.seen = {"calls": 0, "c_calls": 0}
        threading.setprofile(self.note)

    def note(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self.seen["calls"] += 1
        elif event == "c_call":
            self.seen["c_calls"] += 1


class Statements:
    """Counts what SQLite does, on all connections that are opened from now on."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self._connections: list[apsw.Connection] = []
        apsw.connection_hooks.append(self._watch)

    def close(self) -> None:
        """Watch no further connections."""
        apsw.connection_hooks.remove(self._watch)

    def _watch(self, connection: apsw.Connection) -> None:
        self._connections.append(connection)
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, self._note)

    def _note(self, event: dict[str, Any]) -> None:
        self.seen["transactions" if event["sql"].startswith("COMMIT") else "statements"] += not event["sql"].startswith(("--", "BEGIN"))

    @property
    def rows(self) -> int:
        """Rows that were changed since the connections were opened."""
        return sum(map(_changes, self._connections))


def _changes(connection: apsw.Connection) -> int:
    while True:
        try:
            return connection.total_changes()
        except apsw.ConnectionClosedError:
            return 0
        except apsw.ThreadingViolationError:  # its thread is about to rest
            time.sleep(0.001)


async def measure(mark: Callable[[str], Awaitable[None]]) -> None:
    """Run each operation; `mark` is awaited before the first of them and after each."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        settings = Settings(database=f"sqlite:///{folder}/store.db", inbox_worker=False)
        async with app.assembled(settings) as application:
            server = app.make_application_server(application, None)
            server.config.load()
            served = Served(application, server)
            await served.ask(requests("create"), KNOWN // CONNECTIONS + 1)
            for name in OPERATIONS:
                waiting = iter([*islice(requests(name), CONNECTIONS * (ROUNDS + 2))])
                if name != "apply":
                    await served.ask(waiting, 2)  # caches are filled
                await mark("")
                await (served.apply() if name == "apply" else served.ask(waiting))
                await mark(name)


async def count() -> dict[str, dict[str, float]]:
    """Count calls, statements, rows and transactions of one operation each."""
    statements, counts = Statements(), {}
    calls = Calls()

    async def mark(name: str) -> None:
        if name:
            sys.setprofile(None)
            number = CONNECTIONS * (ROUNDS + 2 if name == "apply" else ROUNDS)
            observed = {**calls.seen, **statements.seen, "rows": statements.rows - before[0]}
            counts[name] = {key: round(value / number, 2) for key, value in sorted(observed.items())}
            return
        before[0] = statements.rows
        calls.seen.update(calls=0, c_calls=0)
        statements.seen.clear()
        sys.setprofile(calls.note)

    before = [0]
    try:
        await measure(mark)
    finally:
        threading.setprofile(None)
        statements.close()
    return counts


def instructions() -> dict[str, int]:
    """Return the thousands of instructions of one operation each; nothing without valgrind."""
    if shutil.which("valgrind") is None:
        print("instructions are not counted: there is no valgrind here", file=sys.stderr)
        return {}
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", sys.executable, "-m", "bench.counted", "--marks"]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        child: subprocess.Popen[str] = subprocess.Popen(command, text=True, env=environment, **pipes)
        thousands = {}
        assert child.stdin is not None
        assert child.stdout is not None
        for line in child.stdout:
            name = line.strip()
            subprocess.run(["callgrind_control", f"--dump={name}", str(child.pid)], check=True, capture_output=True)
            if name != "-":
                newest = max(Path(folder).glob("out.*"), key=lambda file: int(file.suffix[1:]))
                total = re.search(r"^(?:totals|summary): (\d+)", newest.read_text(), re.MULTILINE)
                assert total is not None
                thousands[name] = round(int(total[1]) / 1000 / CONNECTIONS / (ROUNDS + 2 if name == "apply" else ROUNDS))
            child.stdin.write("\n")
            child.stdin.flush()
        child.wait()
    return thousands


async def _marks() -> None:
    """Print each mark, and wait for a line after it."""

    async def mark(name: str) -> None:
        print(name or "-", flush=True)
        sys.stdin.readline()

    await measure(mark)


@asynccontextmanager
async def _not_running(*_: object) -> AsyncIterator[None]:
    yield


async def _none_started(*_: object) -> None:
    pass


def without_background() -> None:
    """Start no worker, indexer or maintenance: what they do between two requests depends on the time."""
    fleet.TranslatorPool = lambda: TranslatorPool(InProcess("translator"))  # type: ignore[misc, assignment]
    app.running = _not_running  # type: ignore[assignment]
    translation.load()  # before calls are counted
    app.run_all = _none_started  # type: ignore[assignment]
    # A batch that takes long would start again on a thread: its calls count twice, and its ids are skipped.
    writer.MAX_INLINE_SECONDS = writer.SLOW_FLUSH = math.inf


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.counted", description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the committed table")
    parser.add_argument("--instructions", action="store_true", help="count instructions too: ten minutes, needs valgrind")
    parser.add_argument("--marks", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    logging.disable()
    without_background()
    if options.marks:
        uvloop.run(_marks())
        return 0
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    counts: dict[str, dict[str, float]] = {}
    for _ in range(TRIES):
        for name, figures in uvloop.run(count()).items():
            smallest = counts.setdefault(name, figures)
            smallest.update((key, min(value, smallest.get(key, value))) for key, value in figures.items())
        if not options.write and not _worse(counts, table):
            break
    for name, thousands in (instructions() if options.instructions else {}).items():
        counts[name]["instructions"] = thousands
    for name, figures in counts.items():
        print(f"{name:8} " + "  ".join(f"{key} {value:g} ({table.get(name, {}).get(key, 0):g})" for key, value in figures.items()))
    if options.write:
        TABLE.write_text(json.dumps(counts, indent=1) + "\n")
    elif worse := _worse(counts, table):
        print(f"more than in {TABLE.name}: {', '.join(worse)}; python -m bench.counted --write takes it over", file=sys.stderr)
        return 1
    return 0


def _worse(counts: dict[str, dict[str, float]], table: dict[str, dict[str, float]]) -> list[str]:
    return [
        f"{name}: {key}"
        for name, figures in counts.items()
        for key, value in figures.items()
        if key in table.get(name, {}) and value > table[name][key] * (1 + TOLERANCE) + 0.3
    ]


if __name__ == "__main__":
    sys.exit(main())

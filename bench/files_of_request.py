"""Count the files of Touchbase that a request runs through: `python -m bench.files_of_request`.

A server with its inbox worker runs in this process, on a SQLite store in a temporary folder. A profile function records each file
under `src/touchbase` in which a function is called, from the bytes on the socket to the response: (1) for a contact created through
the API, (2) for a webhook received and then applied. The webhook is translated in this process and not in one of its own, so that
its files count. The first request of a kind also fills caches and looks up its client; the second one does not.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import touchbase
from bench.bodies import CREATE, new_run
from bench.dataset_sample import address_of, webhook
from touchbase import app, fleet
from touchbase.common.frames import pack, unpack
from touchbase.config import Settings
from touchbase.inbox.translator_pool import TranslatorPool
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.process import run_job
from touchbase.server.server import Server, listen

SOURCE = Path(touchbase.__file__).parent
WEBHOOK_PATH = "/public/emailcampaign-webhook/default"
SECONDS_TO_APPLY = 10.0

Files = dict[str, set[str]]
"""Names of the functions called in each file."""


class InProcess(Sandbox):
    """Runs tasks in this process."""

    def _exchange(self, job: bytes) -> bytes:
        try:
            return pack(run_job(unpack(job)))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)  # the limit of a sandbox process


@contextmanager
def recorded() -> Iterator[Files]:
    """Record the files whose functions are called in all threads."""
    files: Files = defaultdict(set)
    prefix = f"{SOURCE}/"

    def record(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(prefix):
            files[name.removeprefix(prefix)].add(frame.f_code.co_qualname)

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        yield files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[app.Application, int]]:
    """Run a server; yield its application and port."""
    # Without the setting, only the inbox worker runs: retention and fetching belong to no request.
    settings = Settings(database=f"sqlite:///{folder}/store.db", access_log=False, inbox_worker=False)
    async with app.assembled(settings) as application:
        server: Server = app.make_application_server(application, None)
        server.ticks = ()  # periodic functions belong to no request
        started = asyncio.Event()
        server.on_started = started.set
        listener = listen("127.0.0.1", 0)
        running = asyncio.gather(server.serve([listener]), application.worker.run())
        await started.wait()
        yield application, listener.getsockname()[1]
        server.stop()
        application.worker.stop()
        await running


async def post(port: int, path: str, body: str) -> None:
    """Send a `POST`; raises `RuntimeError` if its response is not 2xx."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write((head + body).encode())
    line = await reader.readline()
    writer.close()
    if not line.startswith(b"HTTP/1.1 2"):
        raise RuntimeError(f"{path}: {line!r}")


async def create(application: app.Application, port: int) -> None:
    """Create a contact."""
    _, body = next(CREATE.requests(new_run()))
    await post(port, CREATE.path, body.decode())


async def receive_and_apply(application: app.Application, port: int) -> None:
    """Receive a webhook about a contact, and wait until it is applied."""
    applied = asyncio.Event()
    worker: Any = application.worker
    on_report = worker._on_report

    def report(result: Any) -> None:
        on_report(result)
        if result.outcomes:
            applied.set()

    worker._on_report = report
    run = new_run()
    await post(port, WEBHOOK_PATH, webhook("reply_received", address_of(run), f"mail-1.{run}", "2026-01-01T00:00:00.000Z"))
    async with asyncio.timeout(SECONDS_TO_APPLY):
        await applied.wait()
    worker._on_report = on_report


async def measure(title: str, work: Callable[[app.Application, int], Awaitable[None]]) -> None:
    """Print the number of files, and the files."""
    results: list[Files] = []
    # Threads that exist already would not be recorded, so recording begins before the server.
    with tempfile.TemporaryDirectory() as folder, recorded() as files:
        async with serving(Path(folder)) as (application, port):
            for _ in range(2):
                files.clear()
                await work(application, port)
                results.append({file: set(names) for file, names in files.items()})
    first, second = results
    print(f"\n{title}: {len(first)} files; a second one: {len(second)}")
    for file, names in sorted((second | first).items()):
        print(f"  {file:52} {len(names):3} functions{'' if file in second else ', only for the first one'}")


def main() -> None:
    """Measure both, each on a store of its own."""
    fleet.TranslatorPool = lambda: TranslatorPool(InProcess("translator"))  # type: ignore[misc, assignment]
    fleet.periodic_tasks = lambda store: []
    logging.disable()
    asyncio.run(measure("create through the API", create))
    asyncio.run(measure("webhook received and applied", receive_and_apply))


if __name__ == "__main__":
    main()

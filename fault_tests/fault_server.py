"""A server with faults built in: `python -m fault_tests.fault_server volatile:FILE,no-sync serve ...` is `touchbase serve ...` with these.

- `volatile:FILE`: SQLite's files lie on a disk that holds what is not flushed in memory (`fault_tests.faulty_disk`), and fails when the
  switches in FILE say so.
- `point:NAME`: the process kills itself when it comes to this point (`fault_tests.crash_points`).
- `clock:FILE`: the clock is as many microseconds off as FILE says at the moment, or stands still where FILE says.
- `quick-jobs:SECONDS`: jobs work in steps of 50 rows, and belong to a dead worker for so many seconds.
- `quick-answers:SECONDS`: answers are sent at once, and one that belongs to a dead process is unknown after so many seconds.
- `quick-webhooks:SECONDS`: outgoing webhooks have so many seconds for a response, are repeated within fractions of it, and belong to a
  dead process for so many seconds; `quick-webhooks:SECONDS:LEASE` if these are others.
- the ways to break a promise in `fault_tests.mutants` and its modules for webhooks and the spool.

Nothing of this is in Touchbase itself: a server that is started as usual has no such points, and no setting leads there.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from fault_tests import crash_points, mutants
from fault_tests.faulty_disk import VolatileDisk
from fault_tests.shared_flag import CLOCK_STOPPED, SharedFlags
from touchbase import app
from touchbase.answering import worker as answering
from touchbase.cli import cli
from touchbase.common.timestamps import SECOND
from touchbase.conversations import answers
from touchbase.exports import job as exports
from touchbase.imports import job as imports
from touchbase.jobs import runner, worker
from touchbase.outgoing import dispatcher, http_client, line

JOB_ROWS = 50
"""Rows of a step of a job with `quick-jobs`."""


ENCRYPTION_KEY = base64.b64encode(bytes(range(32))).decode()
"""With `quick-webhooks`: endpoints have secrets."""
SENDER = "fault-sender"
"""Header with the id of the process that sends a webhook, with `quick-webhooks`."""


def volatile(path: str) -> None:
    """Simulate a disk that keeps unflushed writes of SQLite in memory only."""
    mutants.KEEP_ALIVE.append(VolatileDisk(SharedFlags(Path(path))))


def clock(path: str) -> None:
    """Shift the clock as the flags say."""
    flags, real = SharedFlags(Path(path)), app.clock

    def stepped() -> int:
        return flags.number if flags.on(CLOCK_STOPPED) else real() + flags.number

    mutants.replace(app, "assembled", partial(app.assembled, clock=stepped))


def quick_jobs(seconds: str) -> None:
    """Shorten the steps and the leases of jobs, so that a kill meets many moments and is soon over."""
    for module in (runner, worker):
        mutants.replace(module, "LEASE", int(float(seconds) * SECOND))
    mutants.replace(worker, "RENEW_SECONDS", float(seconds) / 4)
    mutants.replace(worker.JobWorker, "poll_seconds", 0.05)
    mutants.replace(imports, "BATCH", JOB_ROWS)
    mutants.replace(exports, "PAGE", JOB_ROWS)


def quick_answers(seconds: str) -> None:
    """Send answers at once, with short leases."""
    mutants.replace(answers, "UNDO_US", 0)
    mutants.replace(answering, "LEASE", int(float(seconds) * SECOND))
    mutants.replace(answering.AnswerWorker, "poll_seconds", 0.05)


def quick_webhooks(seconds: str) -> None:
    """Shorten the time-outs, retry schedule and leases of outgoing webhooks, and name the process in a header."""
    plain = http_client.WebhookClient.post

    async def named(client: http_client.WebhookClient, url: str, headers: Mapping[str, str], body: bytes) -> http_client.ReceiverAnswer:
        return await plain(client, url, {**headers, SENDER: str(os.getpid())}, body)

    mutants.replace(http_client.WebhookClient, "post", named)
    unit, lease = (float(part) for part in (seconds.split(":") * 2)[:2])
    os.environ["TOUCHBASE_ENCRYPTION_KEY"] = ENCRYPTION_KEY
    mutants.replace(http_client, "SECONDS", unit)
    mutants.replace(line, "SCHEDULE", tuple(int(part * unit * SECOND) for part in (0, 0.05, *[0.1] * 18)))
    mutants.replace(line, "FIRST_PROBE", int(0.05 * unit * SECOND))
    mutants.replace(line, "LONGEST_PROBE", int(0.2 * unit * SECOND))
    mutants.replace(dispatcher, "LEASE", int(lease * SECOND))
    mutants.replace(dispatcher, "MARGIN", int(0.1 * lease * SECOND))
    mutants.replace(dispatcher, "RENEW_SECONDS", lease / 4)


WAYS: dict[str, Callable[[str], None]] = {
    "volatile": volatile,
    "point": crash_points.die_at,
    "clock": clock,
    "quick-jobs": quick_jobs,
    "quick-answers": quick_answers,
    "quick-webhooks": quick_webhooks,
}


def main() -> None:
    """Install the faults, then run `touchbase`."""
    wanted, *arguments = sys.argv[1:]
    for word in wanted.split(","):
        name, _, argument = word.partition(":")
        if name in WAYS:
            WAYS[name](argument)
        else:
            mutants.MUTANTS[name]()
    cli(arguments, prog_name="touchbase")


if __name__ == "__main__":
    main()

"""Several processes: replaced when one dies, stopped together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from touchbase.server.supervisor import MAX_EARLY_EXITS

HEAD = """
import os, signal, sys
from touchbase.server.supervisor import Supervisor

def waits(process):
    os.write(1, f"{process} {os.getpid()}\\n".encode())  # in one piece: both processes write to this pipe
    signal.alarm(60)  # none is left behind by a test that fails
    while True:
        signal.pause()

def fails(process):
    os.write(1, f"{process} {os.getpid()}\\n".encode())  # in one piece: both processes write to this pipe
    return 3

def breaks(process):
    os.write(1, f"{process} {os.getpid()}\\n".encode())  # in one piece: both processes write to this pipe
    raise ValueError
"""


@contextmanager
def running(work: str) -> Iterator[subprocess.Popen[str]]:
    """Two processes of this work."""
    code = HEAD + f"sys.exit(Supervisor(2, {work}).run(lambda: None))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as parent:
        try:
            yield parent
        except BaseException:
            parent.kill()  # leaving would wait for it
            raise


def started(parent: subprocess.Popen[str]) -> tuple[int, int]:
    """The next process that says it runs: its number and its id."""
    assert parent.stdout is not None
    number, pid = parent.stdout.readline().split()
    return int(number), int(pid)


def test_supervisor__replaces_a_killed_process_and_stops_all_together() -> None:
    with running("waits") as parent:
        first = dict([started(parent), started(parent)])
        os.kill(first[1], signal.SIGKILL)
        replaced, pid = started(parent)
        parent.terminate()
        status = parent.wait(10)

    assert replaced == 1
    assert pid not in first.values()
    assert status == 0


def test_supervisor__gives_up_after_repeated_early_exits() -> None:
    for work in ("fails", "breaks"):
        with running(work) as parent:
            status = parent.wait(10)
            assert parent.stdout is not None
            starts = parent.stdout.read().splitlines()

        assert status == 1
        assert len(starts) >= MAX_EARLY_EXITS

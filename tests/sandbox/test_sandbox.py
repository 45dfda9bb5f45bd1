"""Tasks run in processes with limits; what a task does harms neither the server nor another task."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import pkgutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import touchbase
from touchbase.common.frames import pack, unpack
from touchbase.errors import Fault, Invalid, MalformedBody, Overloaded
from touchbase.imports.table import UnreadableFile
from touchbase.sandbox.pool import KEEP_SECONDS, LARGE_JOB, MAX_IDLE, Sandbox
from touchbase.sandbox.task import Task, TaskStopped

MEETING = """
import os, socket, sys
ours, meeting = socket.socket(fileno=int(sys.argv[2])), sys.argv[1]
frame = b"ready"
while True:
    ours.sendall(len(frame).to_bytes(8, "big") + frame)
    if not ours.recv(1000):
        break
    there = socket.socket(socket.AF_UNIX)
    there.connect(meeting)
    there.recv(1)
    frame = b"%d" % os.getpid()
"""
"""Processes that finish their job, and send their id, once the test lets them go on."""
HERE = "tests.sandbox.tasks"


COMMAND = (sys.executable, "-c", f"import sys; sys.path.insert(0, {os.getcwd()!r}); from touchbase.sandbox.process import main; main()")
UPPER: Task[[str], str] = Task(f"{HERE}:upper")
MISUSE: Task[[str], int] = Task(f"{HERE}:misuse", 0.2)
ENVIRONMENT: Task[[str], dict[str, str]] = Task(f"{HERE}:environment")
LONG_VALUES: Task[[BinaryIO, int], Iterator[bytes]] = Task(f"{HERE}:long_values")
PROCESS_IDS: Task[[BinaryIO, int], Iterator[int]] = Task(f"{HERE}:process_ids")
LINES: Task[[BinaryIO, bytes], Iterator[bytes]] = Task(f"{HERE}:lines", 0.2)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """Processes that can import the tests."""
    sandbox = Sandbox("test", memory=2**29, command=COMMAND)
    yield sandbox
    sandbox.close()


async def test_call__returns_the_result(sandbox: Sandbox) -> None:
    assert await sandbox.call(UPPER, "ann") == "ANN"


@pytest.mark.parametrize(
    ("how", "why", "for_good"),
    [
        ("spin", "reading it took more processor time than the limit", True),
        ("eat", "reading it took more memory than the limit (512 MiB)", True),
        ("die", "the process that read it ended (-9)", False),
    ],
)
async def test_call__stops_a_task_over_its_budget_and_runs_the_next(sandbox: Sandbox, how: str, why: str, for_good: bool) -> None:
    with pytest.raises(TaskStopped) as stopped:
        await sandbox.call(MISUSE, how)

    assert (stopped.value.why, stopped.value.for_good) == (why, for_good)
    assert await sandbox.call(UPPER, "bob") == "BOB"


async def test_call__stops_a_task_that_waits() -> None:
    sandbox = Sandbox("test", wall_seconds=1, command=COMMAND, preload=[f"{HERE}:nothing"])

    with pytest.raises(TaskStopped, match=r"longer than the limit \(1 seconds\)"):
        await sandbox.call(MISUSE, "sleep")

    sandbox.close()


async def test_call__raises_the_errors_of_the_task(sandbox: Sandbox) -> None:
    with pytest.raises(MalformedBody, match="no table"):
        await sandbox.call(MISUSE, "refuse")
    with pytest.raises(RuntimeError, match="KeyError: 'what'"):
        await sandbox.call(MISUSE, "what")


async def test_process__has_no_setting(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", "secret")

    assert await sandbox.call(ENVIRONMENT, "TOUCHBASE_ENCRYPTION") == {}


async def test_session__yields_the_values_of_a_file(sandbox: Sandbox) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"1\n2\n")
        file.flush()
        async with sandbox.session(LINES, file, b"ok ") as session:
            assert [line async for line in session] == [b"ok 1\n", b"ok 2\n"]
        async with sandbox.session(LINES, file, b"broken ") as session:
            assert await anext(session) == b"broken 1\n"
            assert await anext(session) == b"broken 2\n"
            with pytest.raises(MalformedBody, match="row 3"):
                await anext(session)


async def test_session__stops_a_step_over_its_budget(sandbox: Sandbox) -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"1\nspin")
        file.flush()
        async with sandbox.session(LINES, file, b"") as session:
            assert await anext(session) == b"1\n"
            with pytest.raises(TaskStopped, match="more processor time"):
                await anext(session)


async def test_session__refuses_a_value_over_the_limit_of_output() -> None:
    sandbox = Sandbox("test", output=1024 * 1024, command=COMMAND)

    with tempfile.TemporaryFile() as file:
        async with sandbox.session(LONG_VALUES, file, 1024) as session:
            assert len(await anext(session)) == 1024
        async with sandbox.session(LONG_VALUES, file, 2 * 1024 * 1024) as session:
            with pytest.raises(TaskStopped, match=r"its result is larger than the limit \(1 MiB\)"):
                await anext(session)

    sandbox.close()


async def test_session__leaves_its_process_to_the_next_unless_it_used_much() -> None:
    sandbox = Sandbox("test", command=COMMAND)

    async def process_of(size: int, memory: int) -> int:
        with tempfile.TemporaryFile() as file:
            file.write(b"a" * size)
            async with sandbox.session(PROCESS_IDS, file, memory) as session:
                (process,) = [value async for value in session]
        return process

    first = await process_of(1, 1)
    assert await process_of(1, 1) == first
    assert await process_of(LARGE_JOB + 1, 1) == first
    second = await process_of(1, 64 * 1024 * 1024)
    assert second != first
    assert await process_of(1, 1) != second
    sandbox.close()


async def test_call__asks_for_a_retry_when_no_process_can_start() -> None:
    with pytest.raises(Overloaded, match="cannot start a sandbox process"):
        await Sandbox("test", command=("/nowhere/python",)).call(UPPER, "a")
    with pytest.raises(Overloaded, match=r"does not start: the process that read it ended \(1\)"):
        await Sandbox("test", command=(sys.executable, "-c", "raise SystemExit(1)")).call(UPPER, "a")


async def test_processes_needed_at_once__stay_for_the_next_jobs_and_end_when_they_are_not_needed(tmp_path: Path) -> None:
    now = 0.0
    place = str(tmp_path / "meeting")
    pool = Sandbox("test", command=(sys.executable, "-c", MEETING, place), clock=lambda: now)
    meeting = socket.socket(socket.AF_UNIX)
    meeting.bind(place)
    meeting.listen()

    async def at_once(jobs: int) -> set[bytes]:
        """Give so many processes a job at the same time; return their ids."""
        running = [asyncio.create_task(asyncio.to_thread(pool._exchange, b"job")) for _ in range(jobs)]
        there = [(await asyncio.to_thread(meeting.accept))[0] for _ in range(jobs)]
        for accept in there:
            accept.close()
        return set(await asyncio.gather(*running))

    four = await at_once(4)
    assert len(four) == 4
    assert await at_once(4) == four

    now += KEEP_SECONDS
    for _ in range(3):
        await at_once(1)
    left = await at_once(4) & four

    assert len(left) == MAX_IDLE
    pool.close()
    meeting.close()


def declared_tasks() -> Iterator[tuple[str, Task[..., Any], str]]:
    """Yield every task of the project: its module, itself, and its annotation."""
    for info in pkgutil.walk_packages(touchbase.__path__, "touchbase."):
        if info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            if isinstance(value, Task) and name in vars(module).get("__annotations__", {}):
                yield f"{info.name}.{name}", value, module.__annotations__[name]


def test_tasks__have_the_types_of_their_functions() -> None:
    """Property of every declared task: its function exists and has the declared types."""
    tasks = list(declared_tasks())
    assert tasks

    for place, task, annotation in tasks:
        signature = inspect.signature(task.load())
        types = [parameter.annotation for parameter in signature.parameters.values() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
        assert annotation == f"Task[[{', '.join(types)}], {signature.return_annotation}]", place


def test_errors__are_the_same_after_they_crossed_the_process() -> None:
    for error in (MalformedBody("x"), Invalid([Fault("/a", "b", "c")]), UnreadableFile("is broken", 3)):
        crossed = unpack(pack(error))
        assert (type(crossed), vars(crossed)) == (type(error), vars(error))

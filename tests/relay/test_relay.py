"""The relay loses nothing and keeps the order, wherever it is killed and whatever fails."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.relay.feeds import ListSink, ListSource, event, number_of

from touchbase.relay import service, sinks
from touchbase.relay.models import RelayStopped
from touchbase.relay.service import CheckpointFile, Relay
from touchbase.relay.sinks import FileSink


class Killed(BaseException):
    """The process ends here: nothing that it would have done happens, and no handler runs."""


def killer(steps: int) -> Callable[[], None]:
    """Return a function that kills at its call number `steps`."""
    left = iter(range(steps))

    def step() -> None:
        if next(left, None) is None:
            raise Killed

    return step


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


async def relay_once(source: ListSource, sink: Any, file: Path | None, **more: Any) -> Relay:
    stored = CheckpointFile(file) if file else None
    try:
        relay = Relay(source, sink, stored, sleep=no_wait)
        await relay.run(once=True, **more)
        return relay
    finally:
        if stored:
            stored.close()


def in_order(got: list[int]) -> bool:
    """Whether no event came before an earlier one that had not come yet; after a kill, repeats begin somewhere behind."""
    return all(number <= max(got[:place], default=0) + 1 for place, number in enumerate(got))


class Points:
    """Points at which a run is killed: around each write of the checkpoint and each event that the sink takes."""

    def __init__(self, step: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
        real_sync, real_replace = os.fsync, Path.replace

        def fsync(descriptor: int) -> None:
            step()
            real_sync(descriptor)

        def replace(path: Path, target: Path) -> Path:
            step()
            new_real_replace = real_replace(path, target)
            step()
            return new_real_replace

        monkeypatch.setattr(service.os, "fsync", fsync)
        monkeypatch.setattr(service.Path, "replace", replace)


@settings(max_examples=examples(60), deadline=None)
@given(
    count=st.integers(0, 14), page=st.integers(1, 5), kills=st.lists(st.integers(0, 30), max_size=6), left_out=st.sets(st.integers(1, 14)),
)  # fmt: skip
def test_killed_relay__loses_nothing_at_any_point(count: int, page: int, kills: list[int], left_out: set[int]) -> None:
    source, sink = ListSource(count, page, lambda number: number not in left_out), ListSink()
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "checkpoint"
        for steps in kills:
            step = killer(steps)

            def taken(number: int, step: Callable[[], None] = step) -> bool:
                step()
                return False

            sink.fails = taken
            with pytest.MonkeyPatch.context() as patch:
                Points(step, patch)
                try:
                    asyncio.run(relay_once(source, sink, file))
                except Killed:
                    continue
        sink.fails = lambda number: False
        asyncio.run(relay_once(source, sink, file))

    wanted = [number for number in range(1, count + 1) if number not in left_out]
    assert list(dict.fromkeys(sink.got)) == wanted
    places = {number: place for place, number in enumerate(wanted, 1)}
    assert in_order([places[number] for number in sink.got])


@settings(max_examples=examples(60), deadline=None)
@given(count=st.integers(1, 12), page=st.integers(1, 4), cuts=st.lists(st.integers(0, 400), max_size=4))
def test_file_cut_at_any_byte__has_each_event_once(count: int, page: int, cuts: list[int]) -> None:
    source = ListSource(count, page)
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "events.ndjson"
        for cut in [*cuts, None]:
            sink = FileSink(file)
            asyncio.run(relay_once(source, sink, None))
            asyncio.run(sink.close())
            if cut is not None:  # as if the process had been killed while it wrote, after the last `cut` bytes, a longer line
                os.truncate(file, max(0, file.stat().st_size - cut))
                with file.open("ab") as remaining:
                    remaining.write(b"{" * 3 * cut)
        lines = file.read_bytes().splitlines()

    assert [line.split(b'"id":"evt_')[1].split(b'"')[0] for line in lines] == [str(number).encode() for number in range(1, count + 1)]


async def test_failing_sink__gets_the_rest_of_the_batch_later_and_waits_grow() -> None:
    waits: list[float] = []
    failures = iter([True, True, True, False, True])
    sink = ListSink(lambda number: number == 2 and next(failures, False))

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    source = ListSource(3)
    work = asyncio.ensure_future(Relay(source, sink, sleep=sleep).run())
    await source.is_read.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    assert sink.got == [1, 2, 3]
    assert waits == [1.0, 2.0, 4.0]


async def test_once__ends_with_the_failure_and_continues_after_what_was_taken(folder: Path) -> None:
    sink = ListSink(lambda number: number == 3)

    with pytest.raises(RelayStopped, match="it is busy; the same command continues after evt_2"):
        await relay_once(ListSource(4, 10), sink, folder / "checkpoint")
    sink.fails = lambda number: False
    again = await relay_once(ListSource(4, 10), sink, folder / "checkpoint")

    assert sink.got == [1, 2, 3, 4]
    assert (again.sent, again.cursor) == (2, "evt_4")


async def test_position__is_the_later_of_sink_and_checkpoint(folder: Path) -> None:
    file = folder / "checkpoint"
    await relay_once(ListSource(2), ListSink(), file)
    ahead = ListSink(has_position=True, got=[1, 2, 3])

    await relay_once(ListSource(5), ahead, file)
    behind = ListSink(has_position=True, got=[1])
    await relay_once(ListSource(6), behind, file)

    assert ahead.got == [1, 2, 3, 4, 5]
    assert behind.got == [1, 6]


async def test_types_left_out__move_the_checkpoint(folder: Path) -> None:
    new_relay_once = await relay_once(ListSource(9, wanted=lambda number: number < 3), ListSink(), folder / "checkpoint")

    assert new_relay_once.cursor == "evt_9"
    assert (await relay_once(ListSource(9), sink := ListSink(), folder / "checkpoint")).sent == 0
    assert sink.got == []


async def test_latest__is_stored_before_the_first_event(folder: Path) -> None:
    await relay_once(ListSource(4), ListSink(), folder / "checkpoint", after="latest")

    await relay_once(ListSource(6), sink := ListSink(), folder / "checkpoint", after="latest")

    assert sink.got == [5, 6]


async def test_events_of_another_client__are_refused(folder: Path) -> None:
    await relay_once(ListSource(2), ListSink(), folder / "checkpoint")

    with pytest.raises(RelayStopped, match="a list has events of client acme, up to evt_2; these are of other"):
        await relay_once(ListSource(3, client_id="other"), sink := ListSink(), folder / "checkpoint")
    await relay_once(ListSource(3, client_id="other"), sink, folder / "checkpoint", after="evt_2", from_checkpoint=False)

    assert sink.got == [3]


def test_checkpoint__belongs_to_one_relay_and_names_a_damaged_file(folder: Path) -> None:
    checkpoint_file = CheckpointFile(folder / "checkpoint")
    with pytest.raises(RelayStopped, match="another relay uses the checkpoint"):
        CheckpointFile(folder / "checkpoint")
    (folder / "checkpoint").write_text('{"cursor": "7"}')

    with pytest.raises(RelayStopped, match="is no checkpoint of a relay"):
        checkpoint_file.load()
    checkpoint_file.close()


async def test_file__that_was_moved_is_made_again(folder: Path) -> None:
    sink = FileSink(folder / "events.ndjson")
    await sink.send([event(1)])
    (folder / "events.ndjson").rename(folder / "events.1")

    await sink.send([event(2)])
    await sink.close()

    assert (folder / "events.ndjson").read_text().count("\n") == (folder / "events.1").read_text().count("\n") == 1


async def test_file__with_other_lines_or_another_writer_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "BLOCK", 7)  # so that a line spans blocks
    (folder / "notes").write_text("buy milk\n")
    notes = FileSink(folder / "notes")

    with pytest.raises(RelayStopped, match="notes is no event"):
        await notes.position()
    with pytest.raises(RelayStopped, match="another relay writes to"):
        FileSink(folder / "notes")
    await notes.close()
    events = FileSink(folder / "events")
    await events.send([event(7), event(8)])
    position = await events.position()
    assert position is not None
    assert position.sequence == number_of(event(8))
    await events.close()

"""Writing a file out: all of it, in parts, promising nothing."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
from pathlib import Path

import apsw
import pytest

from touchbase.storage.sqlite import writer as module
from touchbase.storage.sqlite.writer import PARTS, SMALLEST_PART, WriteAheadLog, start_writeback

Asked = list[tuple[int, int]]


@pytest.fixture
def requested_parts(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Which parts the system was asked to begin with, in a time that stands still."""
    results: Asked = []

    def begin(descriptor: int, start: int, length: int, flags: int) -> int:
        results.append((start, length))
        return 0

    monkeypatch.setattr(module, "_begin", begin)
    monkeypatch.setattr(module.time, "sleep", lambda seconds: None)
    return results


def of_size(folder: Path, size: int) -> int:
    """A descriptor of a file as large as this; whoever asks closes it."""
    (folder / "file").touch()
    os.truncate(folder / "file", size)
    return os.open(folder / "file", os.O_RDONLY)


@pytest.mark.parametrize("size", [1, SMALLEST_PART, SMALLEST_PART + 1, 10_000_001, 5_000_000_000])
def test_start_writeback__covers_every_byte_once_in_few_parts(tmp_path: Path, requested_parts: Asked, size: int) -> None:
    descriptor = of_size(tmp_path, size)

    start_writeback(descriptor)
    os.close(descriptor)

    assert [start for start, _ in requested_parts] == [
        sum(length for _, length in requested_parts[:n]) for n in range(len(requested_parts))
    ]
    assert requested_parts[-1][0] < size <= sum(requested_parts[-1])
    assert len(requested_parts) <= PARTS
    assert all(length >= SMALLEST_PART for _, length in requested_parts)


def test_start_writeback__does_nothing_for_an_empty_file(tmp_path: Path, requested_parts: Asked) -> None:
    descriptor = of_size(tmp_path, 0)

    start_writeback(descriptor)
    os.close(descriptor)

    assert requested_parts == []


def test_start_writeback__does_nothing_on_an_unsupported_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: None) -> object:
        return object()

    monkeypatch.setattr(ctypes, "CDLL", without)
    monkeypatch.setattr(module, "_begin", module._sync_file_range())

    assert module._begin is None
    start_writeback(-1)


def test_start_writeback__raises_for_a_closed_descriptor(requested_parts: Asked) -> None:
    with pytest.raises(OSError, match="descriptor"):
        start_writeback(-1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_sync_file_range__is_available_on_linux(tmp_path: Path) -> None:
    descriptor = of_size(tmp_path, 100_000)
    begin = module._sync_file_range()

    assert begin is not None
    assert begin(descriptor, 0, 100_000, module._SYNC_FILE_RANGE_WRITE) == 0
    os.close(descriptor)


@pytest.mark.parametrize("holder", ["this connection", "another connection"])
def test_checkpoint__that_is_held_up_prints_nothing(holder: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writing, copying = (apsw.Connection(str(tmp_path / "store.db")) for _ in range(2))
    writing.pragma("journal_mode", "wal")
    writing.execute("CREATE TABLE t (value)")
    log = WriteAheadLog(writing, copying)
    if holder == "this connection":
        copying.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
    else:
        writing.close()
        writing = apsw.Connection(str(tmp_path / "store.db"))
        writing.pragma("locking_mode", "exclusive")
        writing.execute("INSERT INTO t VALUES (1)")

    log.checkpoint()

    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []

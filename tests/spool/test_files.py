"""Spool files: what an append has returned for is there after any end of the process, whole and in order; nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.spool import files as module
from touchbase.spool.files import SpoolFiles

MANY = 10**9
WRITER = """
import sys
from pathlib import Path
from touchbase.spool.files import SpoolFiles
files = SpoolFiles(Path(sys.argv[1]), 10**9)
number = 0
while True:
    files.append([f"record {number + each}".encode() for each in range(3)])
    number += 3
    print(number, flush=True)
"""
FULL = """
import resource, sys
from pathlib import Path
from touchbase.spool.files import SpoolFiles
files = SpoolFiles(Path(sys.argv[1]), 10**9)
files.append([b"first"])
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    files.append([b"x" * 1000])
except OSError as error:
    print("refused", flush=True)
"""


def all_in(folder: Path) -> list[bytes]:
    """Take all files of a folder and return their records."""
    files, result = SpoolFiles(folder, MANY), []
    while (taken := files.take()) is not None:
        result += list(taken.records())
        taken.remove()
        taken.release()
    return result


@given(batches=st.lists(st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=4), max_size=6))
def test_append__keeps_any_records_in_order(tmp_path_factory: pytest.TempPathFactory, batches: list[list[bytes]]) -> None:
    folder = tmp_path_factory.mktemp("spool")
    files = SpoolFiles(folder, MANY)

    for batch in batches:
        files.append(batch)
    files.close()

    assert all_in(folder) == [record for batch in batches for record in batch]


def test_append__leaves_no_empty_file_when_nothing_could_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError("No space left on device")

    files = SpoolFiles(tmp_path, MANY)
    with monkeypatch.context() as during:
        during.setattr(os, "fdatasync", full)
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                files.append([b"refused"])
    assert files.paths() == []

    files.append([b"stored"])
    files.close()
    assert all_in(tmp_path) == [b"stored"]


@given(records=st.lists(st.binary(min_size=1, max_size=30), min_size=1, max_size=5), data=st.data())
def test_records__of_a_file_that_ends_at_any_byte_are_the_whole_ones_before(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    files = SpoolFiles(folder, MANY)
    files.append(records)
    files.close()
    (path,) = files.paths()
    end = data.draw(st.integers(0, path.stat().st_size))
    os.truncate(path, end)

    full_item, size = [], 0
    for record in records:
        size += 8 + len(record)
        full_item += [record] if size <= end else []
    assert all_in(folder) == full_item


RECORDS = [b"first" * 9, b"second" * 9, b"third" * 9]


def damaged(folder: Path, change: Callable[[bytearray], None]) -> tuple[list[bytes], bool]:
    """Change the bytes of a file of three records; return the records that are read, and whether something was left out."""
    files = SpoolFiles(folder, MANY)
    files.append(RECORDS)
    files.close()
    data = bytearray(files.paths()[0].read_bytes())
    change(data)
    files.paths()[0].write_bytes(data)
    taken = files.take()
    assert taken is not None
    records = list(taken.records())
    taken.release()
    return records, taken.is_damaged


def test_records__around_a_damaged_one_are_read(tmp_path: Path) -> None:
    def flip(data: bytearray) -> None:
        data[8 + len(RECORDS[0]) + 20] ^= 1

    assert damaged(tmp_path, flip) == ([RECORDS[0], RECORDS[2]], True)


def test_records__end_where_the_length_of_one_is_damaged(tmp_path: Path) -> None:
    def enlarge(data: bytearray) -> None:
        data[8 + len(RECORDS[0]) + 3] = 0xFF

    assert damaged(tmp_path, enlarge) == (RECORDS[:1], True)


def test_zeros__at_the_end_are_neither_records_nor_damage(tmp_path: Path) -> None:
    assert damaged(tmp_path, lambda data: data.extend(bytes(100_000))) == (RECORDS, False)


def test_take__passes_over_what_is_no_file_or_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = SpoolFiles(tmp_path / "spool", MANY)
    files.append([b"one"])
    files.close()
    (tmp_path / "elsewhere").write_bytes(b"x")
    (tmp_path / "spool" / "0.spool").mkdir()
    (tmp_path / "spool" / "00.spool").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "spool" / "000.spool")

    taken = files.take()

    assert taken is not None
    assert list(taken.records()) == [b"one"]
    taken.release()
    assert caplog.text.count("cannot be read, and its webhooks wait") == 2


def test_append__survives_a_kill_with_all_that_it_has_returned_for(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(200):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([int(line) for line in writer.stdout if line.endswith("\n")], default=600)

    result = all_in(tmp_path)

    assert len(result) >= acknowledged >= 600
    assert result == [f"record {number}".encode() for number in range(len(result))]


def test_append__to_a_full_disk_raises_and_leaves_what_was_there(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], stdout=subprocess.PIPE, text=True, check=True)

    assert done.stdout == "refused\n"
    assert all_in(tmp_path) == [b"first"]


def test_append__refuses_what_would_exceed_the_limit(tmp_path: Path) -> None:
    files = SpoolFiles(tmp_path, 100)
    files.append([b"x" * 80])

    with pytest.raises(OSError, match="limit of 100 bytes"):
        files.append([b"y" * 20])

    files.close()
    assert all_in(tmp_path) == [b"x" * 80]


def test_append__begins_another_file_when_one_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 100)
    files = SpoolFiles(tmp_path, MANY)

    for number in range(6):
        files.append([b"%d" % number * 60])
    files.close()

    assert len(files.paths()) == 3
    assert [record[:1] for record in all_in(tmp_path)] == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_take__leaves_the_file_of_a_process_that_runs(tmp_path: Path) -> None:
    first, second = SpoolFiles(tmp_path, MANY), SpoolFiles(tmp_path, MANY)
    first.append([b"one"])

    assert second.take() is None
    first.close()

    taken = second.take()
    assert taken is not None
    assert list(taken.records()) == [b"one"]
    taken.release()


def test_files__are_for_their_owner_only(tmp_path: Path) -> None:
    files = SpoolFiles(tmp_path / "spool", MANY)
    files.append([b"one"])
    files.close()

    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
    assert files.paths()[0].stat().st_mode & 0o777 == 0o600

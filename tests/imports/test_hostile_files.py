"""Files that unfold to more than they are: refused or cut by counts, and never read in the server's process."""

from __future__ import annotations

import asyncio
import errno
import io
import tempfile
from typing import Any, BinaryIO

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.imports.hostile import of_parts, of_sheet, one_text_in_each_cell, one_text_in_each_row
from tests.imports.jobs import counts, finished, upload
from tests.imports.workbooks import workbook

from touchbase.clients.models import Client, ClientSettings
from touchbase.errors import RateLimited
from touchbase.imports import file_tasks, preview
from touchbase.imports.columns import Mapping
from touchbase.imports.file_tasks import RowSource, read_table
from touchbase.imports.job import ImportSettings
from touchbase.imports.preview import PreviewRequest, Previews
from touchbase.imports.table import TableLimits, UnreadableFile
from touchbase.jobs.runner import JobRun
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import TaskStopped
from touchbase.sql.store import Store

KEYED = ImportSettings(Mapping("contact", {"email": "email"}))


def source_of(data: bytes, limits: TableLimits | None = None) -> RowSource:
    return RowSource(io.BytesIO(data), KEYED, Client(1, "c", 0, ClientSettings()), 0, limits)


def test_row_source__refuses_a_file_that_unfolds_to_too_many_characters() -> None:
    data = one_text_in_each_row(100, 1_000)
    source = source_of(data, TableLimits(characters=30_000, unfolding=1))

    with pytest.raises(UnreadableFile, match=r"^row \d+: the rows up to this one have \d+ characters, in a file of \d+ bytes"):
        [source.next(10) for _ in range(10)]


def test_row_source__refuses_more_rows_than_the_limit() -> None:
    source = source_of(b"email\n" + b"a\n" * 50, TableLimits(rows=40))

    assert source.next(40).rows == 40
    with pytest.raises(UnreadableFile, match="the file has more than 40 rows; import it in parts"):
        source.next(40)


def test_read_csv__detects_the_delimiter_before_very_many_blank_lines() -> None:
    table = read_table(io.BytesIO(b"email;note\n" + b"\n" * 20_000 + b"ann@example.com;a,b\n"))

    assert (table.delimiter, [row.cells for row in table.rows]) == (";", [["ann@example.com", "a,b"]])


def test_row_source__ends_a_batch_by_custom_fields() -> None:
    header = b",".join(b"f%d" % n for n in range(480))
    rows = b"\n".join(b"a%d@example.com,%b" % (n, b",".join([b"x"] * 480)) for n in range(20))
    source = source_of(b"email,%b\n%b\n" % (header, rows))

    assert [source.next().rows for _ in range(4)] == [9, 9, 2, 0]


def test_row_source__ends_a_batch_by_characters_and_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tasks, "BATCH_CHARACTERS", 2_000)
    assert source_of(b"email,note\n" + b"a,%b\n" % (b"x" * 999) * 5).next().rows == 2

    monkeypatch.setattr(file_tasks, "BATCH_CELLS", 6)
    assert source_of(b"email,note\n" + b"a,b\n" * 5).next().rows == 3


@pytest.mark.parametrize(
    ("data", "limits", "message"),
    [
        (of_parts(60), TableLimits(workbook_parts=50), "the workbook has more than 50 parts"),
        (of_parts(60), TableLimits(workbook_directory=500), "the workbook has more than 10000 parts"),
        (workbook({"One": of_sheet(""), "Two": of_sheet("")}).getvalue(), TableLimits(workbook_sheets=1), "the workbook has 2 sheets"),
        (one_text_in_each_cell(200, 100), TableLimits(row_characters=5_000), "row 2: is too long: a row may have 5000 characters"),
        (b'{"%b":1}\n' % (b"a" * 50), TableLimits(name_characters=40), "row 1: has a column whose name has 50 characters; it may have 40"),
        (b"email,%b\n" % (b"a" * 50), TableLimits(name_characters=40), "row 1: has a column whose name has 50 characters; it may have 40"),
        (b"email\n" + b"\r" * 11, TableLimits(blank_rows=9), "more than 9 blank lines one after the other; remove them"),
        (
            b"email,name\na,b\n" + b"\n" * 11 + b"c,d\n",
            TableLimits(blank_rows=9),
            "more than 9 blank lines one after the other; remove them",
        ),
        (b" \n" * 11 + b"email\n", TableLimits(blank_rows=9), "more than 9 blank lines one after the other; remove them"),
        (
            b'{"email":"a@example.com"}\n' + b"\n" * 11,
            TableLimits(blank_rows=9),
            "more than 9 blank lines one after the other; remove them",
        ),
    ],
)
def test_read_table__refuses_a_file_over_a_limit(data: bytes, limits: TableLimits, message: str) -> None:
    with pytest.raises(UnreadableFile, match=message):
        list(read_table(io.BytesIO(data), limits).rows)


async def test_upload__that_takes_too_much_memory_is_a_422_and_the_server_goes_on(store: Store, make_client: MakeClient) -> None:
    sandbox = Sandbox("small", memory=256 * 1024 * 1024)
    call = make_client(store, previews=Previews(sandbox))

    refused = await call("POST", "/public/v2/contacts/imports", raw=one_text_in_each_cell(3_000, 100_000))
    job = (await call.get("/public/v2/jobs")).json()["data"][0]
    observed = await upload(call, b"email\njane@example.com\n")

    assert (refused.status, refused.problem["errors"][0]["code"]) == (422, "too_costly")
    assert "reading it took more memory than the limit (256 MiB); split the file" in refused.problem["detail"]
    assert job["state"] == "failed"
    assert "reading it took more memory than the limit (256 MiB); split the file" in job["error"]
    assert observed["preview"]["header"] == ["email"]
    sandbox.close()


async def test_import__that_takes_too_much_fails_with_the_reason_and_keeps_the_rows_before(
    call: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    from touchbase.imports import job as import_job

    monkeypatch.setattr(import_job, "BATCH", 2)
    job = await upload(call, b"email\n" + b"".join(b"p%d@example.com\n" % number for number in range(6)), start="true")
    step, written = JobRun.step, list[int]()

    async def stopped(run: JobRun, *parts: Any) -> list[Any]:
        if written:
            raise TaskStopped("reading it took more processor time than the limit", for_good=True)
        written.append(1)
        return await step(run, *parts)

    monkeypatch.setattr(JobRun, "step", stopped)
    done = await finished(call, job)

    assert (done["state"], counts(done)) == ("failed", {"created": 2})
    assert done["error"].startswith("the import ended after 2 rows: reading it took more processor time than the limit; split the file")


async def test_upload__to_a_full_disk_is_a_503_and_the_job_says_so(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", lambda size: Full())

    reply = await call("POST", "/public/v2/contacts/imports", raw=b"email\njane@example.com\n")
    job = (await call.get("/public/v2/jobs")).json()["data"][0]

    assert reply.status == 503
    assert "folder of temporary files is full or has errors (No space left on device)" in reply.problem["detail"]
    assert (job["state"], job["error"]) == ("failed", reply.problem["detail"])


class Slow:
    """A sandbox in whose sessions files wait until the test lets them end."""

    def __init__(self) -> None:
        self.reading: list[bytes] = []
        self.let_go = asyncio.Event()

    def session(self, task: Any, file: BinaryIO, *arguments: Any) -> Any:
        return self._Session(self, file.read())

    class _Session:
        def __init__(self, slow: Slow, data: bytes) -> None:
            self._slow, self._data = slow, data

        async def __aenter__(self) -> Slow._Session:
            self._slow.reading.append(self._data)
            return self

        async def __aexit__(self, *error: object) -> None:
            self._slow.reading.remove(self._data)

        async def __anext__(self) -> bytes:
            if self._data.startswith(b"hostile"):
                await self._slow.let_go.wait()
            return self._data


async def test_previews__of_one_client_are_one_at_a_time_and_hold_up_no_other() -> None:
    slow = Slow()
    previews = Previews(slow)  # type: ignore[arg-type]

    async def read(client: int, data: bytes) -> Any:
        with previews.uploading(client):
            return await previews.read(client, io.BytesIO(data), PreviewRequest("contact"))

    hostile = [asyncio.create_task(read(1, b"hostile %d" % number)) for number in range(preview.MAX_UPLOADS)]
    for _ in range(20):
        await asyncio.sleep(0)

    assert slow.reading == [b"hostile 0"]
    assert await read(2, b"honest") == b"honest"
    with pytest.raises(RateLimited, match="8 files of this client are being uploaded or read"):
        await read(1, b"one more")
    slow.let_go.set()
    assert len(await asyncio.gather(*hostile)) == preview.MAX_UPLOADS
    assert await read(1, b"hostile again") == b"hostile again"


async def test_previews__of_all_clients_are_bounded() -> None:
    slow = Slow()
    previews = Previews(slow)  # type: ignore[arg-type]

    async def read(client: int) -> Any:
        with previews.uploading(client):
            return await previews.read(client, io.BytesIO(b"hostile %d" % client), PreviewRequest("contact"))

    reading = [asyncio.create_task(read(client)) for client in range(preview.MAX_PREVIEWS + 3)]
    for _ in range(20):
        await asyncio.sleep(0)

    assert len(slow.reading) == preview.MAX_PREVIEWS
    slow.let_go.set()
    assert len(await asyncio.gather(*reading)) == preview.MAX_PREVIEWS + 3

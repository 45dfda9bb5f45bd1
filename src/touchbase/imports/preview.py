"""Previews of uploaded files, read in sandbox processes: bounded in number, and fair between clients."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import BinaryIO, Literal

import msgspec

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid, Overloaded, RateLimited
from touchbase.imports.columns import Mapping
from touchbase.imports.table import UnreadableFile
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task, TaskStopped

LOG = logging.getLogger("touchbase.imports")
MEMORY = 1024 * 1024 * 1024
"""Bytes of address space of a process that reads a file. pyarrow reserves 270 MB of it, of which it uses 40."""
OUTPUT = 32 * 1024 * 1024
"""Bytes of a preview or a batch of rows."""
READING_SECONDS = 30.0
"""CPU seconds of a preview or a batch of rows; the slowest file within the limits takes about half on a slow machine."""
WALL_SECONDS = 120
THREADS = 32
"""Threads that wait for the processes of previews and jobs; only the needed ones are started."""
MAX_PREVIEWS = 4
"""Files of all clients that are read for previews at once, by one server process; of one client it is one."""
MAX_UPLOADS = 8
"""Uploads of one client at once, in one server process."""
RETRY_SECONDS = 5


class ReadOptions(msgspec.Struct, frozen=True):
    """Format of a file; members that are left out are detected."""

    delimiter: str = ""
    """Of a CSV file."""
    encoding: str = ""
    """Of a CSV file."""
    sheet: str = ""
    """Of a workbook."""
    header_row: int = 0
    """The row with the names of the columns, as a spreadsheet counts."""


class DatesOfColumn(msgspec.Struct):
    """Dates such as 11/12/2026 in one column, and the order that they are read in."""

    column: str
    examples: list[str]
    """Two of them, ambiguous ones first."""
    day_first: int
    """Dates that show this order: their first number is above 12."""
    month_first: int
    ambiguous: int


class StatusSpellings(msgspec.Struct):
    """Spellings of one status in the file, with the number of rows."""

    status: str
    """How the import spells it."""
    spellings: dict[str, int]


class StatusColumn(msgspec.Struct):
    """A column that may be the status of the records, such as HubSpot's `Lead Status`."""

    column: str
    values: dict[str, int]
    """The most frequent ones, with the number of rows."""


class OptOutsOfColumn(msgspec.Struct):
    """A column that says who opted out."""

    column: str
    rows: int
    """Rows that say so; 0: the ones that were read do not."""
    values: dict[str, str]
    """Some of their values, each with the reason that it is."""


class CheckedLine(msgspec.Struct):
    """A line of the report that the import would write."""

    row: int
    outcome: str
    """`invalid`, `not_a_row`, `duplicate_in_file` or `cells_left_out`."""
    reason: str
    column: str = ""
    value: str = ""


class CheckedRows(msgspec.Struct):
    """Rows that were checked without the records that exist; a test run checks all rows, and with them."""

    rows: int = 0
    invalid: int = 0
    not_a_row: int = 0
    duplicate_in_file: int = 0
    cells_left_out: int = 0
    lines: list[CheckedLine] = []
    """The first ones of each outcome."""

    def add(self, line: CheckedLine, most: int) -> None:
        """Count a line, and list it if it is one of the first `most` of its outcome."""
        number = getattr(self, line.outcome) + 1
        setattr(self, line.outcome, number)
        if number <= most:
            self.lines.append(line)


class FilePreview(msgspec.Struct):
    """First rows of a file, with its format and its mapping."""

    format: str
    header: list[str]
    rows: list[list[str]]
    mapping: Mapping
    source: str
    encoding: str = ""
    delimiter: str = ""
    sheet: str = ""
    sheets: list[str] = []
    header_row: int = 0
    scanned: int = 0
    """Rows from which the next three come."""
    dates: list[DatesOfColumn] = []
    """Columns with dates whose order the file does not show everywhere: `day_order` decides."""
    statuses: list[StatusSpellings] = []
    """Statuses that differ only in case, underscores or spaces: `join_statuses` makes them one."""
    status_columns: list[StatusColumn] = []
    """Columns of which one may be the status of the records."""
    opt_outs: list[OptOutsOfColumn] = []
    """Columns whose rows go on the do-not-contact list: `opt_outs` chooses others."""
    checked: CheckedRows | None = None
    """None if the mapping has faults, which `start` names."""


class PreviewRequest(msgspec.Struct, frozen=True):
    """Options of a preview, and its client."""

    record: Literal["contact", "company"]
    reading: ReadOptions = ReadOptions()
    mapping: Mapping | None = None
    """None: guessed."""
    spellings: Sequence[str] = ()
    """The statuses in use."""
    owners: dict[str, str] = {}
    """As in `ImportSettings`."""
    client: Client | None = None
    """None: rows are not checked."""
    at: Micros = 0


PREVIEW_FILE: Task[[BinaryIO, PreviewRequest], Iterator[FilePreview]] = Task("touchbase.imports.file_tasks:preview_steps", READING_SECONDS)


def new_file_sandbox() -> Sandbox:
    """Return the sandbox of imported files: no file takes the processes and threads of other work."""
    return Sandbox(
        "files",
        preload=["touchbase.imports.file_tasks:preload"],
        processes=THREADS,
        idle=1,
        memory=MEMORY,
        output=OUTPUT,
        wall_seconds=WALL_SECONDS,
    )


class Previews:
    """Uploads and previews of one server process. Not thread-safe."""

    def __init__(self, sandbox: Sandbox | None = None) -> None:
        self._sandbox = sandbox or new_file_sandbox()
        self._uploads = Counter[int]()
        """Current uploads by client."""
        self._turns: dict[int, asyncio.Lock] = {}
        """By client: its files are read one after the other, so that it never has more than one of `_slots`."""
        self._slots = asyncio.Semaphore(MAX_PREVIEWS)

    @contextlib.contextmanager
    def uploading(self, client: int) -> Iterator[None]:
        """Count an upload; raise `RateLimited` if the client has too many at once."""
        if self._uploads[client] >= MAX_UPLOADS:
            detail = f"{MAX_UPLOADS} files of this client are being uploaded or read at this moment; wait for their responses"
            raise RateLimited(detail, policy="uploads", quota=MAX_UPLOADS, window=RETRY_SECONDS, retry_after=RETRY_SECONDS)
        self._uploads[client] += 1
        try:
            yield
        finally:
            self._uploads[client] -= 1
            if not self._uploads[client]:
                del self._uploads[client]
                self._turns.pop(client, None)

    async def read(self, client: int, file: BinaryIO, request: PreviewRequest) -> FilePreview:
        """Read the beginning of a file that is `uploading`; raise `UnreadableFile` if it is no table, `Invalid` if it is too costly."""
        async with self._turn(client), self._sandbox.session(PREVIEW_FILE, file, request) as session:
            try:
                preview = await anext(session)
                await anext(session, None)  # the process is free for the next file
            except TaskStopped as stopped:
                if stopped.for_good:
                    raise Invalid([Fault("/file", "too_costly", too_costly(stopped))]) from stopped
                raise Overloaded(f"the file was not read: {stopped.why}") from stopped
            except RuntimeError as error:
                LOG.exception("a file of client %d cannot be read", client)
                raise UnreadableFile(f"the file cannot be read ({str(error)[:200]}); save it as CSV in UTF-8") from error
        return preview

    @contextlib.asynccontextmanager
    async def _turn(self, client: int) -> AsyncIterator[None]:
        async with self._turns.setdefault(client, asyncio.Lock()), self._slots:
            yield

    def close(self) -> None:
        """End the processes."""
        self._sandbox.close()


def too_costly(stopped: TaskStopped) -> str:
    """Return the text for a person whose file exceeds the limits of reading."""
    return f"{stopped.why}; split the file into smaller ones, or save the table as CSV without what does not belong to it"

"""What the log has to know of the archive of events (`event_archive/`): erased records have to leave its files, too."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import Micros
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Select, Statement

TEXTS = 0
"""In place of a kind of record: erased people in the texts of events."""
_ERASURE: Columns = (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("created_us", "bigint"))
ERASE_IN_FILES = Statement(
    "erase_in_event_files",
    _ERASURE,
    body="INSERT INTO event_file_erasure (client, record_kind, record_id, created_us) SELECT p.client, p.record_kind, p.record_id, "
    "p.created_us FROM p WHERE EXISTS (SELECT 1 FROM event_file e WHERE e.client = p.client) ON CONFLICT DO NOTHING",
)
VOID_FILES = Statement(
    "void_event_files",
    (("client", "bigint"), ("first_place", "text"), ("last_place", "text")),
    body="UPDATE object_removal AS t SET is_removing = 1 FROM p WHERE t.client = p.client AND t.place > p.first_place "
    "AND t.place < p.last_place AND t.is_removing = 0",
    by_row=True,
)
"""A file that is being written may have what is erased now: it is written again."""


def folder_of(client: int) -> str:
    """Return what the keys in the bucket of a client's files begin with."""
    return f"{client}/events/"


def erase_in_files(client: int, rows: Sequence[tuple[int, int]], at: Micros) -> Plan[None]:
    """Let the worker erase these records (kind and id; kind `TEXTS`: an erasure) in the client's files.

    The caller has locked the client, which beginning a file does too: one is begun either before, or reads the log as it is now.
    """
    folder = folder_of(client)
    yield Execute(VOID_FILES, [(client, folder, folder[:-1] + "0")])  # the character behind the slash
    if rows:
        yield Execute(ERASE_IN_FILES, [(client, kind, number, at) for kind, number in sorted(rows)])


def merges_in_files(client: int) -> Plan[list[str]]:
    """Return the merges in the client's files, as JSON: lists of a kind, a survivor, and the others."""
    rows = yield Select("SELECT merges FROM event_file WHERE client = ? AND merges <> '[]' ORDER BY id", (client,))
    return [row[0] for row in rows]

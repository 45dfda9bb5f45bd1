"""SQL of jobs: row mapping, statements and plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from touchbase.audit import audited
from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound, TouchbaseError, WrongState
from touchbase.jobs.models import (
    DUE,
    ENDED,
    FAILED,
    INPUT,
    PREVIEW,
    RUNNING,
    SUCCEEDED,
    UPLOADING,
    Checkpoint,
    Job,
    Json,
)
from touchbase.sql.builders import ROW_KEY, ROW_MATCH, find, insert, update
from touchbase.sql.cell_answers import FIRST, Before, page_by_id
from touchbase.sql.filters import Where
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

JOB: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("kind", "text"), ("state", "text"), ("created_us", "bigint"), ("updated_us", "bigint"),
    ("settings", "text"), ("position", "text"), ("progress", "text"), ("started_us", "bigint"), ("finished_us", "bigint"),
    ("error", "text"), ("attempts", "bigint"), ("token", "text"), ("lease_until_us", "bigint"), ("files_until_us", "bigint"),
    ("made_by", "text"),
)  # fmt: skip
_LONG = [place for place, (name, _) in enumerate(JOB) if name in ("settings", "progress")]
"""Where a row has the mapping and the preview of an import, which may be of 1,000 columns."""
_OF_CLIENTS = f"{names(JOB, 'j.')} FROM client c JOIN job j ON j.client = c.id"
_PIECE: Columns = (("client", "bigint"), ("job_id", "bigint"), ("name", "text"), ("body", "bytea"))
INSERT_JOB = insert("job", JOB)
JOB_BY_ID = find("job_by_id", "job", JOB, ROW_KEY, ROW_MATCH, lock=True)
UPDATE_JOB = update("update_job", "job", JOB)
REMOVE_FILE = delete("remove_job_file", "job_file", (("client", "bigint"), ("job_id", "bigint"), ("name", "text")))
IMPORT_ID = "import_id"
"""Setting of a test run: the import that has its file now."""
MOVE_FILE = Statement(
    "move_job_file",
    (("client", "bigint"), ("job_id", "bigint"), ("name", "text"), ("new_id", "bigint")),
    body="UPDATE job_file t SET job_id = p.new_id FROM p WHERE t.client = p.client AND t.job_id = p.job_id AND t.name = p.name",
    by_row=True,
)
APPEND_PIECE = Statement(
    "append_piece",
    _PIECE,
    body="INSERT INTO job_file (client, job_id, name, number, body) SELECT p.client, p.job_id, p.name, "
    "(SELECT COALESCE(max(t.number), -1) + 1 FROM job_file t WHERE t.client = p.client AND t.job_id = p.job_id AND t.name = p.name), "
    "p.body FROM p",
)
"""For one piece at a time, because each takes the number after the last."""
EXPIRE_JOB_FILES = Statement(
    "expire_job_files",
    (("client", "bigint"), ("at", "bigint")),
    body="UPDATE job t SET files_until_us = p.at FROM p WHERE t.client = p.client",
    by_row=True,
)
"""Expire all files of a client's jobs: an erased person may be in them."""
_build_job: Callable[..., Job] = Job
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def _json(text: str) -> dict[str, Any]:
    """Return the object in a column; an empty one for anything else, which a person wrote there: one row must not end a list."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}


def job_of(row: Row, decode: Callable[[str], Json] = _json) -> Job:
    """Return the job of a `JOB` row."""
    return _build_job(*row[:6], decode(row[6]), decode(row[7]), decode(row[8]), *row[9:])


def job_row(job: Job) -> Row:
    """Return the job's row, in the order of `JOB`."""
    return (
        job.client, job.id, job.kind, job.state, job.created_us, job.updated_us, encode(job.settings), encode(job.position),
        encode(job.progress), job.started_us, job.finished_us, job.error, job.attempts, job.token, job.lease_until_us,
        job.files_until_us, job.made_by,
    )  # fmt: skip


def _started(call: Any, job: Job) -> str | None:
    return {"export": "export.started", "import": "import.started"}.get(job.kind.partition(".")[2])


@command(ids="job", client="job.client", follow_up=audited(_started, "job", lambda _, job: job.id, lambda call, _: call.job.client))
def create_job(ids: Ids, job: Job, most_uploads: int = 0) -> Plan[Job | TouchbaseError]:
    """Store a new job; the store assigns its id. `WrongState` if the client has too many uploads.

    `most_uploads`: The most jobs in the states `uploading` and `preview` that the client may have with it; 0: no limit.
    """
    if most_uploads:
        count = "SELECT count(*) FROM job WHERE client = ? AND state IN ('uploading', 'preview')"
        rows = yield Select(count, (job.client,))
        if rows[0][0] >= most_uploads:
            return WrongState(
                f"{rows[0][0]} imports of this client wait for their start, and at most {most_uploads} may: start them "
                "(POST /public/v2/jobs/ID/start) or cancel them (POST /public/v2/jobs/ID/cancel), then send the file again"
            )
    return (yield from insert_job(job, ids))


def insert_job(job: Job, ids: Ids) -> Plan[Job]:
    """Store a new job, whatever uploads the client has."""
    job.id = ids.take("job")
    yield Execute(INSERT_JOB, [job_row(job)])
    return job


@command(ids="job", client="job.client", follow_up=audited(_started, "job", lambda _, job: job.id, lambda call, _: call.job.client))
def import_tested_file(ids: Ids, job: Job, test_id: int) -> Plan[Job | TouchbaseError]:
    """Store a new import, and move the file of a test run to it; the store assigns its id. `WrongState` without a file."""
    test = yield from locked(job.client, test_id)
    if test is None:
        return no_such_job(test_id)
    if IMPORT_ID in test.settings:
        return WrongState(f"the file of job {test_id} went to the import {test.settings[IMPORT_ID]}; send it again for another import")
    if test.files_until_us is None or test.files_until_us <= job.created_us:
        return WrongState(f"the file of job {test_id} has been removed; send it again")
    yield from insert_job(job, ids)
    yield Execute(MOVE_FILE, [(job.client, test_id, INPUT, job.id)])
    test.settings[IMPORT_ID], test.updated_us = job.id, job.created_us
    yield from _save(test)
    return job


@command
def change_job(
    client: int,
    id: int,
    of: Sequence[str],
    state: str,
    at: Micros,
    settings: Json | None = None,
    progress: Json | None = None,
    error: str | None = None,
    token: str = "",
    files_until_us: Micros | None = None,
) -> Plan[Job | TouchbaseError]:
    """Change a job that is in one of the states `of`; `NotFound`, and `WrongState` for another state. None leaves a value.

    `token`: With a token: only the worker that has the job may change it.
    `files_until_us`: When its files are removed; a time in the past that the job has already stays, because it is of an erasure.
    """
    job = yield from locked(client, id)
    if job is None:
        return no_such_job(id)
    if job.state not in of or (token and job.token != token):
        return WrongState(f"job {job.id} is {job.state}; this needs one that is {' or '.join(of)}")
    job.state, job.updated_us, job.token, job.lease_until_us = state, at, "", 0
    job.settings = job.settings if settings is None else settings
    job.progress = job.progress if progress is None else progress
    job.error = error
    if job.files_until_us is None or job.files_until_us > at:
        job.files_until_us = files_until_us
    if job.state in ENDED:
        job.finished_us = at
    if job.state == SUCCEEDED and job.progress:
        job.progress["percent"] = 100
    yield from _save(job)
    return job


@command
def append_to_file(client: int, id: int, name: str, body: bytes, at: Micros) -> Plan[TouchbaseError | None]:
    """Append a piece to a file of a job that is in the state `uploading`; `WrongState` for another."""
    job = yield from locked(client, id)
    if job is None or job.state != UPLOADING:
        return no_such_job(id) if job is None else WrongState(f"job {job.id} is {job.state}; send the file again")
    job.updated_us = at
    yield from _save(job)
    yield from _append(job, [(name, body)])
    return None


@command(background=True)
def claim_job(client: int, id: int, token: str, at: Micros, lease_until_us: Micros) -> Plan[Job | None]:
    """Take a due job until `lease_until_us`; None if another worker has it, or if it is not due.

    Raises an error for one that cannot be read: it would begin again, or do something else.
    """
    rows = yield Execute(JOB_BY_ID, [(client, id)])
    job = job_of(rows[0], _decode) if rows else None
    if job is None or job.state not in DUE or job.lease_until_us > at:
        return None
    job.state, job.token, job.lease_until_us, job.attempts = RUNNING, token, lease_until_us, job.attempts + 1
    job.started_us = job.started_us or at
    yield from _save(job)
    return job


@command(background=True)
def renew_lease(client: int, id: int, token: str, lease_until_us: Micros, gives_back: bool = False) -> Plan[bool]:
    """Set the end of the lease; return False if this worker does not have the job any more. A time in the past releases it.

    `gives_back`: the claim is not counted, since the job has not failed.
    """
    job = yield from locked(client, id)
    if job is None or job.token != token or job.state != RUNNING:
        return False
    job.lease_until_us = lease_until_us
    if gives_back:
        job.attempts = max(0, job.attempts - 1)
    yield from _save(job)
    return True


def begin_step(client: int, id: int, token: str) -> Plan[Job | None]:
    """Return the job of a step, locked; None if the worker does not have it any more."""
    job = yield from locked(client, id)
    return job if job is not None and job.token == token and job.state == RUNNING else None


def end_step(job: Job, reached: Checkpoint, at: Micros, lease_until_us: Micros) -> Plan[None]:
    """Store a step's checkpoint."""
    job.position, job.progress, job.attempts = reached.position, reached.progress, 0
    job.updated_us, job.lease_until_us = at, lease_until_us
    yield from _save(job)
    if reached.removed:
        yield Execute(REMOVE_FILE, [(job.client, job.id, name) for name in reached.removed])
    yield from _append(job, reached.files)


def _append(job: Job, pieces: Sequence[tuple[str, bytes]]) -> Plan[None]:
    for name, body in pieces:
        yield Execute(APPEND_PIECE, [(job.client, job.id, name, body)])


@command(background=True)
def remove_job_files(client: int, id: int, limit: int, at: Micros) -> Plan[int]:
    """Remove up to `limit` pieces of a job's files, if they are due; return how many. Without files left it clears the time."""
    job = yield from locked(client, id)
    if job is None or job.state in DUE or job.files_until_us is None or job.files_until_us > at:
        return 0
    rows = yield Select(
        "DELETE FROM job_file WHERE client = ? AND job_id = ? AND (name, number) IN "
        "(SELECT name, number FROM job_file WHERE client = ? AND job_id = ? ORDER BY name, number LIMIT ?) RETURNING number",
        (job.client, job.id, job.client, job.id, limit),
    )
    if len(rows) < limit:
        job.files_until_us = None
        if job.state in (PREVIEW, UPLOADING):
            job.state, job.finished_us, job.error = FAILED, at, "it was not started, and its file has been removed"
        job.progress.pop("preview", None)  # its rows are those of the file
        job.progress["files_removed"] = True
        yield from _save(job)
    return len(rows)


def locked(client: int, job_id: int) -> Plan[Job | None]:
    """Return a job, locked until the transaction ends."""
    rows = yield Execute(JOB_BY_ID, [(client, job_id)])
    return job_of(rows[0]) if rows else None


def _save(job: Job) -> Plan[None]:
    yield Execute(UPDATE_JOB, [job_row(job)])


def no_such_job(job_id: int) -> NotFound:
    """Return the error for a job that the client does not have."""
    return NotFound(f"there is no job with id {job_id}")


@query(unnamed=ALL_CLIENTS, merge=FIRST)
def get_job(client: int | None, id: int) -> Plan[Job | None]:
    """One job; of one client, or (None) of any, for an operator."""
    where = Where("j.id = ?", id)
    where.equal("c.id", client)
    rows = yield Select(f"SELECT {_OF_CLIENTS} WHERE {where}", where.params)
    return job_of(rows[0]) if rows else None


@query(unnamed=ALL_CLIENTS, merge=page_by_id(lambda job: job.created_us))
def list_jobs(
    client: int | None, limit: int, before: Before | None = None, kind: str | None = None, state: str | None = None, page_bytes: int = 0
) -> Plan[list[Job]]:
    """List jobs, newest first, before the id `before`; None: no filter. Without a client, jobs of all clients, for an operator.

    With `page_bytes` the first ones that have so many bytes, at least one, as a `Cut` if there are more.
    """
    where = Where()
    where.equal("c.id", client)
    where.less("j.id", before)
    where.equal("j.kind", kind)
    where.equal("j.state", state)
    budget = ByteBudget(page_bytes, _LONG, rows=1) if page_bytes else None
    rows = yield Select(f"SELECT {_OF_CLIENTS} WHERE {where} ORDER BY j.id DESC LIMIT ?", (*where.params, limit), budget=budget)
    jobs = [job_of(row) for row in rows]
    return Cut(jobs) if budget is not None and budget.is_spent else jobs


@query(scope=ALL_CLIENTS)
def due_jobs(at: Micros, limit: int) -> Plan[list[tuple[int, int]]]:
    """Client and id of the first job of each active client that no worker has, the longest waiting first."""
    rows = yield Select(
        "SELECT j.client, min(j.id) FROM job j JOIN client c ON c.id = j.client AND c.state = 'active' "
        "WHERE j.state IN ('queued', 'running') AND j.lease_until_us <= ? GROUP BY j.client ORDER BY min(j.updated_us), j.client LIMIT ?",
        (at, limit),
    )
    return [(row[0], row[1]) for row in rows]


@query(unnamed=ALL_CLIENTS)
def due_job_files(at: Micros, limit: int, client: int | None = None) -> Plan[list[tuple[int, int]]]:
    """Client and id of jobs whose files are to be removed; of one client, or (None) of all."""
    rows = yield Select(
        "SELECT client, id FROM job WHERE files_until_us IS NOT NULL AND files_until_us <= ? AND state NOT IN ('queued', 'running') "
        f"{'' if client is None else 'AND client = ? '}ORDER BY files_until_us, client, id LIMIT ?",
        (at, *(() if client is None else (client,)), limit),
    )
    return [(row[0], row[1]) for row in rows]


@query
def jobs_at_work(client: int) -> Plan[bool]:
    """Whether a queued or running job of the client has files that an erasure has ended: they go when the job ends."""
    rows = yield Select(
        "SELECT 1 FROM job WHERE client = ? AND state IN ('queued', 'running') AND files_until_us IS NOT NULL LIMIT 1", (client,)
    )
    return bool(rows)


@query
def read_piece(client: int, id: int, name: str, number: int = 0) -> Plan[bytes | None]:
    """One piece of a file of a job, from 0; None after the last."""
    rows = yield Select(
        "SELECT body FROM job_file WHERE client = ? AND job_id = ? AND name = ? AND number = ?",
        (client, id, name, number),
    )
    return bytes(rows[0][0]) if rows else None


@query
def file_sizes(client: int, id: int) -> Plan[dict[str, int]]:
    """The bytes of each file of a job, by name."""
    rows = yield Select("SELECT name, sum(length(body)) FROM job_file WHERE client = ? AND job_id = ? GROUP BY name", (client, id))
    return {row[0]: int(row[1]) for row in rows}

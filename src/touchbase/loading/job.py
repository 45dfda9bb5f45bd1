"""The job `connections.load`: reads a campaign tool's history through its API, page by page.

The rows of a page become deliveries, with the checkpoint in the same transaction, so a page is stored once. A delivery that repeats an
event changes nothing, so a load may be started again at any time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from touchbase.clients.stored_bytes import check_space
from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.connections.models import Connection, connection_of
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.tools import ApiResponse, FetchFailed
from touchbase.deliveries.delivery import LOADED
from touchbase.do_not_contact.models import IMPORT, NewEntry
from touchbase.do_not_contact.sql.entries import save_entries
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.retry_policy import retry_after_of
from touchbase.errors import Conflict, Fault, Invalid, TouchbaseError
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.inbox.sql.commands import store_delivery
from touchbase.jobs.models import FAILED, QUEUED, Checkpoint, Job
from touchbase.jobs.runner import JobRun, Postponed
from touchbase.loading.requests import SOURCES, Step, base_of, request_of
from touchbase.outgoing.blocklist_tools import BLOCKLISTS, refusal
from touchbase.outgoing.blocklists import why_not_filled
from touchbase.sandbox.task import Task, TaskStopped
from touchbase.sql.operation import Command

if TYPE_CHECKING:
    from touchbase.loading.pages import Page

KIND = "connections.load"
READ_PAGE: Task[[str, str, str, bytes], Page] = Task("touchbase.loading.pages:read_page", 5.0)
MOST_FAILURES = 8
"""Requests that fail one after another until the job fails; it can be started again."""
MOST_EMPTY = 100
"""Pages of a list, one after another, that have no row and say that another follows."""
MOST_PAGES, MOST_BYTES = 100_000, 16 * 1024**3
"""Pages and bytes that one load may read: then it fails, and the next load of the tool goes on from there."""
MOST_DAYS = 14
"""Time that it may take, likewise."""
LONGEST_WAIT: Micros = 900 * SECOND
BATCH_BYTES, BATCH = 1024 * 1024, 500
"""Bytes of the bodies that one transaction stores, and how many."""
HEADERS = json.dumps({"content-type": "application/json", LOADED: "1"}, separators=(",", ":")).encode()
TO_STOP = (401, 402, 403, 404, 405)
"""Answers after which a person must do something, as after a redirect, which is not followed."""
GONE = (400, 404, 410)
"""Answers to a request for one conversation that is not there any more; the load goes on with the next one."""


class Position(msgspec.Struct):
    """How far a load is: the pages to read, the next one first."""

    todo: list[tuple[str, str]] | None = None
    """None: not begun."""
    failures: int = 0
    """Requests that failed since the last page."""
    digest: str = ""
    """Of the last page, if another one of its list follows: the same again shows a tool that does not turn the page."""
    pages: int = 0
    """Pages of the present list that were read."""
    mark: str = ""
    """Digest of the place of one of them, the 1st, 2nd, 4th, 8th ...: a list that comes back to it has no end."""
    empty: int = 0
    """Pages without a row, one after another."""
    total: int = 0
    """Pages that this load has read."""
    bytes: int = 0
    """Their bytes."""


class LoadProgress(msgspec.Struct):
    """The counts of a load."""

    requests: int = 0
    rows: int = 0
    webhooks: int = 0
    """Deliveries that were stored; repeated ones count once."""
    blocked: int = 0
    """Entries of the tool's blocklist that are on the do-not-contact list now."""
    left_out: int = 0
    """Entries of its blocklist that are no address."""
    without_address: int = 0
    """Rows that name no person: without an address, a profile or an id of the tool."""
    unread: int = 0
    """Conversations that the tool lists and does not show: they were deleted meanwhile."""
    pages_left: int = 0


class LoadKind:
    """The job `connections.load`; `allowed`: origins that the operator permits; `stored_bytes`: limit of a client without its own."""

    name = KIND

    def __init__(self, agent: str, allowed: Collection[str] = (), stored_bytes: int = 0) -> None:
        self._agent = agent
        self._allowed = allowed
        self._stored_bytes = stored_bytes

    async def run(self, run: JobRun) -> None:
        """Read the next page, and let the others wait for the tool's limit."""
        tool = run.job.settings["tool"]
        connection = connection_of(await run.store.read(list_connections(run.job.client)), EMAIL_CAMPAIGN, tool)
        if connection is None or not connection.access_token:
            raise Conflict(f"{BLOCKLISTS[tool].name} is not connected with an access token any more; connect it, and start the load again")
        at = msgspec.convert(run.job.position, Position)
        todo = [*SOURCES[tool].first] if at.todo is None else at.todo
        if not todo:
            return
        if (most := _limit_of(run.job, run.clock())) is not None:
            raise LoadFailed(
                f"the load has {most}, the most of one load, and {len(todo)} pages that it knows are left. Start it again, and it goes on "
                f"from here; if {BLOCKLISTS[tool].name} cannot have so much, is the setting api_base of the connection its API?"
            )
        check_space(run.client, self._stored_bytes)
        client = HttpClient(self._agent, self._allowed)
        try:
            response = await run.outside(client.send(base_of(tool, connection), request_of(tool, connection, todo[0])))
        except FetchFailed as error:
            await _wait(run, at, todo, str(error), error.retry_after, is_final=error.stop)
        else:
            await _store(run, connection, at, todo, response)
        finally:
            await client.close()


async def _store(run: JobRun, connection: Connection, at: Position, todo: Sequence[Step], response: ApiResponse) -> None:
    """Store a page, and come back for the next one."""
    tool, (kind, start) = connection.tool, todo[0]
    is_gone = kind == "messages" and response.status in GONE
    if not is_gone and not 200 <= response.status < 300:
        why = f"{BLOCKLISTS[tool].name} answered {response.status} to the page {kind}"
        retry = retry_after_of(response.headers, run.clock())
        await _wait(run, at, todo, why, retry, is_final=response.status in TO_STOP or 300 <= response.status < 400)
    try:
        page = await run.sandbox.call(READ_PAGE, tool, kind, start, b"[]" if is_gone else response.body)
    except (TaskStopped, RuntimeError):
        why = refusal(response) or "is the setting api_base of the connection its API?"
        raise Conflict(f"the page {kind} of {BLOCKLISTS[tool].name} cannot be read: {why}") from None
    name, continues = BLOCKLISTS[tool].name, any(step[0] == kind for step in page.following)
    after = Position([*page.following, *todo[1:]])
    if continues:
        after = _continued(name, at, after, todo[0], page, response.body)
    after.total, after.bytes = at.total + 1, at.bytes + len(response.body)
    progress = msgspec.convert(run.job.progress, LoadProgress)
    note = f"on the blocklist of {name}"
    entries = [NewEntry(kind, address, "other", IMPORT, note) for kind, address in page.addresses]
    now = run.clock()
    steps: list[list[Command[Any]]] = [[_delivery(connection, body, now) for body in batch] for batch in _batches(page.webhooks)]
    batches = [entries[first : first + BATCH] for first in range(0, len(entries), BATCH)]
    steps += [[save_entries(run.job.client, batch, now, may_shorten=False)] for batch in batches]
    for number, commands in enumerate([*steps, []]):
        is_last = number == len(steps)
        position = after if is_last else msgspec.structs.replace(at, todo=[*todo], failures=0)
        if is_last:
            progress.requests += 1
            progress.rows += page.rows
            progress.left_out += page.left_out
            progress.without_address += page.without_address
            progress.unread += is_gone

        def checkpoint(results: list[Any], position: Position = position) -> Checkpoint:
            progress.webhooks += sum(getattr(result, "is_repeat", None) is False for result in results)
            progress.blocked += sum(len(result) for result in results if isinstance(result, list))
            progress.pages_left = len(position.todo or ())
            return Checkpoint(msgspec.to_builtins(position), msgspec.to_builtins(progress))

        await run.step(commands, checkpoint)
    if run.job.progress["pages_left"]:
        source = SOURCES[tool]
        raise Postponed(now + source.pauses.get(kind, source.pause))


def _continued(name: str, at: Position, after: Position, step: Step, page: Page, body: bytes) -> Position:
    """Return the position after a page that another one of its list follows. Raises `Conflict` for a list that has no end."""
    after.digest = blake2b(body, digest_size=16).hexdigest()
    place = blake2b("/".join(step).encode(), digest_size=16).hexdigest()
    if after.digest == at.digest or place == at.mark:
        raise Conflict(f"{name} sends the same page {step[0]} again and again: is the setting api_base of the connection its API?")
    after.pages = at.pages + 1
    after.mark = place if not after.pages & at.pages else at.mark
    after.empty = 0 if page.rows else at.empty + 1
    if after.empty >= MOST_EMPTY:
        raise Conflict(f"{name} sends page after page {step[0]} without a row: is the setting api_base of the connection its API?")
    return after


async def _wait(run: JobRun, at: Position, todo: Sequence[Step], why: str, seconds: float | None, *, is_final: bool) -> None:
    """Come back later, or fail. Raises `Postponed` or an error with the reason."""
    if is_final or at.failures + 1 >= MOST_FAILURES:
        raise LoadFailed(f"{why}; the load stopped with {len(todo)} pages left. Fix the connection, and start the load again")
    position = msgspec.structs.replace(at, todo=[*todo], failures=at.failures + 1)
    await run.step([], lambda _: Checkpoint(msgspec.to_builtins(position), run.job.progress))
    wait = int(seconds * SECOND) if seconds else (10 * SECOND) << at.failures
    raise Postponed(run.clock() + min(wait, LONGEST_WAIT))


def _limit_of(job: Job, at: Micros) -> str | None:
    """Return the limit that a load has reached, in words."""
    position = msgspec.convert(job.position, Position)
    if position.total >= MOST_PAGES:
        return f"read {MOST_PAGES:,} pages"
    if position.bytes >= MOST_BYTES:
        return f"read {MOST_BYTES:,} bytes"
    return f"taken {MOST_DAYS} days" if at - job.created_us >= MOST_DAYS * DAY else None


class LoadFailed(TouchbaseError):
    """A load cannot go on."""


def _delivery(connection: Connection, body: bytes, at: Micros) -> Command[Any]:
    key = body_key(EMAIL_CAMPAIGN, "", f"loaded {connection.tool}", body)
    return store_delivery(connection.client, EMAIL_CAMPAIGN, key, HEADERS, "", body, at, connection.tool, True)


def _batches(bodies: Sequence[bytes]) -> list[list[bytes]]:
    batches: list[list[bytes]] = []
    size = BATCH_BYTES
    for body in bodies:
        if size + len(body) > BATCH_BYTES or len(batches[-1]) >= BATCH:
            batches.append([])
            size = 0
        batches[-1].append(body)
        size += len(body)
    return batches


def new_load(connection: Connection, at: Micros, key_id: str | None, last: Job | None) -> Job:
    """Return the job that loads a connection's history; it begins where the `last` one reached a limit.

    Raises `Invalid` if it cannot be loaded.
    """
    tool = connection.tool
    if connection.channel != EMAIL_CAMPAIGN or tool not in SOURCES:
        raise Invalid([Fault("/tool", "tool", f"the history of {tool} cannot be loaded, only that of {', '.join(SOURCES)}")])
    if (why := why_not_filled(tool, connection)) is not None:
        raise Invalid([Fault("/access_token", "required", why)])
    position = {}
    if last is not None and last.state == FAILED and _limit_of(last, last.finished_us or at) is not None:
        position = {**last.position, "total": 0, "bytes": 0, "failures": 0}
    return Job(connection.client, 0, KIND, QUEUED, at, at, {"tool": tool}, position, made_by=key_id)

"""HTTP resource of changes: the history of what requests and jobs did to many records, and the revert of one."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.auth.sql import list_personal_keys
from touchbase.changes.effects import MOST_EVENTS, MOST_VALUES, effects_of_change, summary_of_change
from touchbase.changes.plans import OUTCOMES, no_such_change, start_revert
from touchbase.clients.models import Client
from touchbase.common.asgi import is_valid_request_id
from touchbase.common.timestamps import DAY, Micros, to_text
from touchbase.errors import InsufficientScope, WrongState
from touchbase.event_log.sql.changes import (
    KINDS,
    OPEN,
    PARTLY,
    REVERTED,
    STATES,
    Change,
    find_change,
    find_edit,
    oldest_event,
    page_of_changes,
)
from touchbase.history.events import Author
from touchbase.http import query_parameters as query
from touchbase.http.actors import Actor
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import LARGEST_PAGE, LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import MaybeTime, PageOf, Time, encode, example, fitting, named_enum
from touchbase.jobs.api import JobOut, job_response

TAG = Tag("Changes", "What was done to many records at once, by whom, and its revert. Single edits are in the timeline of their record.")
PATH = "/team/v1/changes"
_STATE = named_enum("ChangeState", "; ".join(f"`{state}`: {meaning}" for state, meaning in STATES.items()) + ".", tuple(STATES))
_KIND = named_enum("ChangeKind", "; ".join(f"`{kind}`: {meaning}" for kind, meaning in KINDS.items()) + ".", tuple(KINDS))
CLIENT = query.text("client_id", "Changes of this client: its `client_id`, or its handle.")
KIND = query.choice("kind", tuple(KINDS), "Changes of this kind.", member="kind")
STATE = query.choice("state", tuple(STATES), "Changes in this state.", member="state")
ACTOR = query.text("actor_id", "Changes by this person, whose personal keys are included, or by this key; `me`: whoever calls.")
SINCE = query.time("since", "Changes from this time on.", member="since_us")
UNTIL = query.time("until", "Changes before this time.", member="until_us")
JOB = query.integer("job_id", 1, 2**53 - 1, "The change that this job made.", member="job_id")
DRY_RUN = query.flag("dry_run", "Change nothing: the job counts what would go back, and lists what would stay and why.")


class ChangeOut(Struct):
    """A change of a client's data that can be reverted for some time."""

    id: str
    client_id: str
    kind: Annotated[str, Meta(extra_json_schema=_KIND)]
    at: Time
    actor: Annotated[Actor, Meta(description="Who made it.")]
    counts: Annotated[dict[str, int], Meta(description="Records that it changed, or what its job counted.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    job_id: Annotated[int | None, Meta(description="The job that made it; null: a request did.")]
    job_kind: Annotated[str | None, Meta(description="Such as `contacts.import`.")]
    file_name: Annotated[str, Meta(description="The file of an import; blank: unknown.")]
    renamed: Annotated[list[str] | None, Meta(description="Of a rename or merge of statuses or fields, the former name and the new one.")]
    reverts: Annotated[str | None, Meta(description="Of a revert, the id of the change that it takes back.")]
    revert_job_id: Annotated[int | None, Meta(description="The job of its last revert.")]
    revert_counts: Annotated[dict[str, int], Meta(description="; ".join(f"`{name}`: {text}" for name, text in OUTCOMES.items()) + ".")]
    revertible: Annotated[bool, Meta(description="Whether a revert can be started now.")]
    why_not: Annotated[str | None, Meta(description="Why no revert can be started now; null: one can.")]
    revertible_until: Annotated[MaybeTime, Meta(description="The client's `keep_deleted_days`, or as long as its events are stored.")]


class FieldEffectOut(Struct):
    """Records in which a field got a value in place of another one."""

    record: Annotated[str, Meta(description="`contact`, `company`, `conversation` or another subject of events.")]
    field: Annotated[str, Meta(description="As in `changed` of events; custom fields as `cf.NAME`.")]
    before: Annotated[Any, Meta(description="The value before; null: none.")]
    after: Annotated[Any, Meta(description="The value that the change set; null: none.")]
    records: Annotated[int, Meta(description="In how many records.")]
    several: Annotated[bool, Meta(description=f"Whether it counts all pairs of values but the {MOST_VALUES} most frequent ones.")]


class ChangeSummary(Struct):
    """What a change did to how many records."""

    acts: Annotated[dict[str, int], Meta(description="What happened to how many records, such as `contact.created`, but for new values.")]
    fields: Annotated[list[FieldEffectOut], Meta(description="By field, the most frequent values before and after.")]
    complete: Annotated[bool, Meta(description=f"`false`: only the last {MOST_EVENTS:,} events of the change are counted.")]


class RecordEffectOut(Struct):
    """What a change did to one record."""

    record: Annotated[str, Meta(description="`contact`, `company`, `conversation` or another subject of events.")]
    id: int | None
    name: Annotated[str, Meta(description="Of the contact or company, else its address; blank: it is gone.")]
    acts: Annotated[list[str], Meta(description="Such as `created`, `updated`, `status_changed`.")]
    changed: Annotated[dict[str, Any], Meta(description="By field, its values before and after.")]


class RecordEffectPage(PageOf[RecordEffectOut]):
    """A page of the records of a change, the last ones first; `next_cursor` is null on the last page."""


class ChangePage(PageOf[ChangeOut]):
    """A page of changes, newest first; `next_cursor` is null on the last one."""


example(
    ChangeOut,
    {
        "id": "5f0c00000012", "client_id": "acme", "kind": "import", "at": "2026-11-20T09:30:01Z",
        "actor": {"type": "user", "id": "u3f9a1c27b0d", "name": "Mira Berg", "via": "console"},
        "counts": {"rows": 10_000, "created": 9_200, "updated": 800}, "state": "partly", "job_id": 12, "job_kind": "contacts.import",
        "file_name": "leads.csv", "renamed": None, "reverts": None, "revert_job_id": 14,
        "revert_counts": {"deleted": 9_197, "changed": 800, "kept": 3},
        "revertible": True, "why_not": None, "revertible_until": "2026-12-20T09:30:01Z",
    },
)  # fmt: skip


_STATUS = {"before": "new", "after": "replied"}
example(
    ChangeSummary,
    {
        "acts": {"contact.created": 9_200}, "complete": False,
        "fields": [{"record": "contact", "field": "contact_status", **_STATUS, "records": 43, "several": False}],
    },
)  # fmt: skip
example(
    RecordEffectOut,
    {
        "record": "contact", "id": 1, "name": "Jane Doe", "acts": ["updated"], "changed": {"contact_status": [*_STATUS.values()]},
    },
)  # fmt: skip


def _until(call: Call, client: Client, change: Change) -> Micros:
    """Return until when a change can be reverted."""
    bin_us, log_us = client.settings.keep_deleted_days * DAY, call.api.dependencies.keep_events_us
    return change.at_us + (min(bin_us, log_us) if log_us else bin_us)


def _why_not(change: Change, *, is_over: bool) -> str | None:
    if change.state not in (OPEN, PARTLY):
        return f"it is {change.state}"
    if not change.has_revert:
        return "it made two names one"
    if change.is_at_work:
        return f"job {change.job_id} is at work"
    return "its former values are no longer stored" if is_over else None


def _numbers(counts: dict[str, object]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if isinstance(count, int) and count and name not in ("percent", "total")}


def _out(call: Call, client: Client, change: Change) -> ChangeOut:
    until = _until(call, client, change)
    why_not = _why_not(change, is_over=call.api.dependencies.clock() >= until)
    counts = {"records": change.records} if change.job_id is None or change.renamed else _numbers(change.counts)
    renamed = None if change.renamed is None else list(change.renamed)
    return ChangeOut(
        change.id, client.client_id, change.kind, to_text(change.at_us),
        call.api.actors.of(Author(change.actor_id or None, change.request_id)), counts, change.state, change.job_id, change.job_kind,
        change.file_name, renamed, change.reverts, change.revert_job, _numbers(change.revert_counts), why_not is None, why_not,
        to_text(until),
    )  # fmt: skip


async def list_team_changes(call: Call) -> Response:
    """Handle `GET` of a page of changes."""
    caller, parameters = await call.principal(of_several=True), call.parameters()
    before = parameters.cursor(PATH, tuple[int, int, str])
    parameters.done()
    clients = await call.visible(caller, parameters[CLIENT])
    limit, parts = min(parameters[LIMIT], LARGEST_PAGE), call.api.dependencies
    actors: set[str] | None = None
    if (actor := parameters[ACTOR]) is not None:
        if actor == "me":
            actor = author_of(call.scope).key_id or "" if caller.user is None else caller.user.id
        actors = {actor, *(key.key_id for key in await parts.store.read(list_personal_keys(actor)))}
    changes: list[Change] = await parts.store.read(
        page_of_changes(clients, limit + 1, before, actors=None if actors is None else sorted(actors), **parameters.filters)
    )
    page = changes[:limit]
    shown = await call.api.clients.of(change.client for change in page)
    await call.api.actors.load(change.actor_id or None for change in page)
    data = fitting([_out(call, shown[change.client], change) for change in page if change.client in shown], await call.page_bytes())
    last = page[-1] if len(changes) > limit else None
    if len(data) < len(page) and data:
        last = page[len(data) - 1]
    cursor = None if last is None else cursor_text(PATH, (last.at_us, last.client, last.id))
    return Response(body=encode({"data": data, "next_cursor": cursor}))


async def _named(call: Call) -> tuple[Client, Change]:
    caller = await call.principal(of_several=True)
    client = await call.visible_client(call.path("client_id"), caller)
    store, id = call.api.dependencies.store, call.path("change_id")
    change = None
    if is_valid_request_id(id.encode("utf-8", "surrogateescape")):
        change = await store.read(find_change(client.number, id)) or await store.read(find_edit(client.number, id))
    if change is None:
        raise no_such_change(id)
    return client, change


async def get_team_change(call: Call) -> Response:
    """Handle `GET` of one change."""
    call.parameters().done()
    client, change = await _named(call)
    await call.api.actors.load([change.actor_id or None])
    return Response(body=encode(_out(call, client, change)))


async def summarize_team_change(call: Call) -> Response:
    """Handle `GET` of what a change did."""
    call.parameters().done()
    client, change = await _named(call)
    summary = await call.api.dependencies.store.read(summary_of_change(client.number, change.id))
    if summary is None:
        raise no_such_change(change.id)
    return Response(body=encode(ChangeSummary(summary.acts, [FieldEffectOut(*effect) for effect in summary.fields], summary.is_complete)))


async def list_records_of_change(call: Call) -> Response:
    """Handle `GET` of a page of the records of a change."""
    parameters = call.parameters()
    before = parameters.cursor(f"{PATH} records", int)
    parameters.done()
    client, change = await _named(call)
    page = effects_of_change(client.number, change.id, min(parameters[LIMIT], LARGEST_PAGE), before)
    effects, before = await call.api.dependencies.store.read(page)
    cursor = None if before is None else cursor_text(f"{PATH} records", before)
    return Response(body=encode(RecordEffectPage([RecordEffectOut(*effect) for effect in effects], cursor)))


async def _is_admin(call: Call, client: Client) -> bool:
    """Return whether the caller is an administrator of a client."""
    try:
        caller = await call.api.principal_again(call.headers, ADMIN, call.scope)
    except InsufficientScope:
        return False
    numbers = caller.clients if caller.client is None else {caller.client}
    return numbers is None or client.number in numbers


async def revert_team_change(call: Call) -> Response:
    """Handle `POST` of a revert."""
    parameters, parts = call.parameters(), call.api.dependencies
    parameters.done()
    client, change = await _named(call)
    if parts.clock() >= (until := _until(call, client, change)):
        raise WrongState(f"the change could be reverted until {to_text(until)}: so long its former values and the bin are kept")
    if await parts.store.read(oldest_event(client.number)) > change.first_event:
        raise WrongState("the events of the change are no longer stored, and its former values were in them: it cannot be reverted")
    call.api.limiter.storing(client, max(1, change.records), parts.clock())
    await call.starter()
    command = start_revert(
        client.number, change.id, parameters[DRY_RUN], parts.clock(), author_of(call.scope), await _is_admin(call, client)
    )
    response = await call.write_and_respond(lambda writes: writes.write(command), lambda job: job_response(call, job, {}, 202))
    parts.on_job()
    return response


ROUTES = [
    Route(
        "GET", PATH, list_team_changes, scope=READ, operation_id="list_changes", tag=TAG, summary="List changes, newest first",
        description="Imports, changes by a filter or in a batch, merges, deletions, blocks, renames and reverts, of all clients that you "
        "may see.",
        query=(CLIENT, KIND, STATE, ACTOR, SINCE, UNTIL, JOB, *PAGE), success=(Success(200, "A page.", ChangePage),), problems=(404,),
    ),
    Route(
        "GET", f"{PATH}/{{client_id}}/{{change_id}}", get_team_change, scope=READ, operation_id="get_change", tag=TAG,
        summary="Get one change",
        description="Also a recent edit of one record or conversation, by the `X-Request-Id` of the request that made it.",
        success=(Success(200, "The change.", ChangeOut),), problems=(404,),
    ),
    Route(
        "GET", f"{PATH}/{{client_id}}/{{change_id}}/summary", summarize_team_change, scope=READ, operation_id="summarize_change", tag=TAG,
        summary="Summarize what a change did",
        description="Read from the events of the change: fields with their values before and after, and the number of records.",
        success=(Success(200, "The summary.", ChangeSummary),), problems=(404,),
    ),
    Route(
        "GET", f"{PATH}/{{client_id}}/{{change_id}}/records", list_records_of_change, scope=READ, operation_id="list_change_records",
        tag=TAG, summary="List the records of a change, the last ones first", query=PAGE,
        description="Read from the events of the change. A record is listed twice if something else came between its events.",
        success=(Success(200, "A page.", RecordEffectPage),), problems=(404,),
    ),
    Route(
        "POST", f"{PATH}/{{client_id}}/{{change_id}}/revert", revert_team_change, scope=WRITE, operation_id="revert_change", tag=TAG,
        summary="Revert a change",
        description="Responds with the job that does it. Former values are written now; what somebody changed since stays. Records that "
        "the change created go to the bin if nobody touched them, deleted ones come back, and merged ones are divided. `progress` counts "
        f"and has up to 100 records that stay (`listed`); the job's report has all. With `dry_run` the job only counts. `{REVERTED}` "
        f"afterwards, or `{PARTLY}`: then it can be tried again. A revert is a change, too. A rename, and somebody else's entries of the "
        "do-not-contact list, are taken back by an administrator; one's own entries by anybody for an hour.",
        query=(DRY_RUN,), success=(Success(202, "The job.", JobOut, headers=("Location",)),), problems=(404, 409),
    ),
]  # fmt: skip

"""HTTP resources of statuses: list, define, rename, merge and remove them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN, READ
from touchbase.common import field_limits as limits
from touchbase.common.field_limits import why_not_storable
from touchbase.common.timestamps import to_text
from touchbase.errors import Fault, Invalid, PreconditionFailed, TouchbaseError
from touchbase.history.events import CONTACT
from touchbase.history.status_words import StatusRename
from touchbase.http import query_parameters as query
from touchbase.http.conditional import changed_since, if_match, tags_named
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import PageOf, Time, encode, example, named_enum
from touchbase.jobs.api import JobOut, job_response
from touchbase.records.record_type import RECORD_TYPES
from touchbase.sql.operation import Command
from touchbase.statuses.looks import TAG, StatusLook, list_team_statuses, look_of
from touchbase.statuses.models import PLURALS, RECORD_KINDS, ROLES, Changed, RenamePreview, StatusInfo, listed
from touchbase.statuses.sql.renames import define_status, list_statuses, preview_rename, remove_status, rename_status

PATH = "/public/v2/statuses"
_ROLE = named_enum("StatusRole", "What the rules of mails, replies and bounces take a status for.", ROLES)
StatusName = Annotated[str, Meta(min_length=1, max_length=limits.STATUS)]


class NewStatus(Struct, forbid_unknown_fields=True):
    """A status to add to the declared set."""

    name: StatusName
    start_set: Annotated[
        bool,
        Meta(
            description="Where no set is declared: declare one that begins with the statuses in use and the words that Touchbase sets. "
            "From then on other statuses are refused."
        ),
    ] = False
    opts_out: Annotated[
        bool,
        Meta(description="Whether contacts with it must not be contacted: it puts them on the do-not-contact list. Of contacts only."),
    ] = False


class StatusChange(Struct, forbid_unknown_fields=True):
    """The new name of a status."""

    name: StatusName


class StatusMerge(Struct, forbid_unknown_fields=True):
    """The status that another one becomes."""

    into: StatusName


class FormerName(Struct):
    """A name that became this status."""

    name: str
    renamed_at: Time
    merged: Annotated[bool, Meta(description="Whether it was a separate status that was merged into another.")]
    by: Annotated[str | None, Meta(description="Id of the API key; null: the command line.")]


class RecordStatus(Struct):
    """One status."""

    name: str
    declared: Annotated[bool, Meta(description="Whether it is allowed: in the client's declared set, or there is no set.")]
    records: Annotated[int, Meta(description="Records that have it now.")]
    renaming: Annotated[int, Meta(description="How many of them have its former name until the job of the rename has come to them.")]
    stands_for: Annotated[
        list[str],
        Meta(description="Words of Touchbase: a sent mail sets `contacted`, a reply `replied`, a hard bounce `bounced`, an unsubscribe or "
             "a complaint `do_not_contact`."),
    ]  # fmt: skip
    refused: Annotated[int, Meta(description="Deliveries, among the newest with a problem, that asked for it while it was not declared.")]
    role: Annotated[str, Meta(extra_json_schema=_ROLE)] | None
    opts_out: Annotated[bool, Meta(description="Whether contacts with it must not be contacted: it puts them on the do-not-contact list.")]
    next: Annotated[list[str] | None, Meta(description="The statuses that may follow it; null: any.")]
    former_names: list[FormerName]
    version: Annotated[str, Meta(description="Its ETag, without quotes: another one after each change of the status, not of records.")]
    look: Annotated[StatusLook | None, Meta(description="How the team works with it; null: nobody has decided.")] = None


class StatusPage(PageOf[RecordStatus]):
    """A page of statuses: the declared ones in their order, then the others by name."""


class RenamePreviewOut(Struct):
    """Preview of a rename or a merge."""

    name: str
    new_name: str
    merge: bool
    records: Annotated[int, Meta(description="Records that have the status now.")]
    stands_for: Annotated[list[str], Meta(description="Words of Touchbase that set it.")]
    declared: bool
    notes: list[str]


example(NewStatus, {"name": "Meeting held"})
example(StatusChange, {"name": "Interested"})
example(StatusMerge, {"into": "Interested"})
example(
    RecordStatus,
    {
        "name": "Interested", "declared": True, "records": 412, "renaming": 0, "stands_for": ["replied"], "refused": 0,
        "role": None, "opts_out": False, "next": None,
        "former_names": [{"name": "replied", "renamed_at": "2026-11-20T09:30:00Z", "merged": False, "by": "k_5f3a9c"}],
        "version": "5f0c1e2a9b7d4480",
        "look": {"label": "", "color": "lime", "group": "active", "key": 1, "closes": False, "expected_days": None},
    },
)  # fmt: skip
example(
    RenamePreviewOut,
    {
        "name": "replied", "new_name": "Interested", "merge": False, "records": 412, "stands_for": ["replied"], "declared": True,
        "notes": ["from now on Touchbase sets 'Interested' in place of 'replied'"],
    },
)  # fmt: skip
DRY_RUN = query.flag("dry_run", "Change nothing; respond 200 with what would change.")
NAME = query.text("name", "Part of its name, case ignored.")
IN_USE = query.yes_or_no("in_use", "`true`: only statuses that records have; `false`: only statuses without records.")


class StatusResource:
    """The handlers of the statuses of contacts or of companies."""

    def __init__(self, kind: int) -> None:
        self._kind = kind
        self.path = f"{PATH}/{PLURALS[kind]}"

    async def list(self, call: Call) -> Response:
        """`GET` of a page of statuses."""
        client, parameters = await call.client(), call.parameters()
        after: tuple[int, str] | None = parameters.cursor(self.path, tuple[int, str])
        parameters.done()
        statuses = await call.api.dependencies.store.read(list_statuses(client.number, self._kind))
        part = (parameters[NAME] or "").casefold()
        statuses = [
            status
            for status in statuses
            if part in status.name.casefold() and (parameters[IN_USE] is None or parameters[IN_USE] == bool(status.records))
        ]
        start = _start([status.name for status in statuses], after)
        page = statuses[start : start + parameters[LIMIT]]
        looks = {status.name: status for status in await call.api.dependencies.store.read(list_team_statuses())}
        cursor = cursor_text(self.path, (start + len(page), page[-1].name)) if start + len(page) < len(statuses) else None
        return Response(body=encode(StatusPage([status_out(status, look_of(status, looks)) for status in page], cursor)))

    async def define(self, call: Call) -> Response:
        """`POST` of a status."""
        client = await call.client()
        body = await call.body(NewStatus)
        name = _name(body.name, "/name")
        if body.opts_out and self._kind != CONTACT:
            raise Invalid([Fault("/opts_out", "unexpected", "is for statuses of contacts: leave it out")])
        command = define_status(
            client.number, self._kind, name, body.start_set, call.api.dependencies.clock(), await call.starter(), body.opts_out
        )
        response = await self._change(call, command, lambda changed: Response(201, encode(_defined(changed, self._kind, name))))
        response.headers.append((b"location", call.reached_at(self.path)))
        call.api.dependencies.on_job()
        return response

    async def rename(self, call: Call) -> Response:
        """`PATCH` of a status: its new name."""
        client, body = await call.client(), await call.body(StatusChange)
        return await self._rename(call, client.number, _name(body.name, "/name"), merge=False)

    async def merge(self, call: Call) -> Response:
        """`POST` that makes two statuses one."""
        client, body = await call.client(), await call.body(StatusMerge)
        return await self._rename(call, client.number, _name(body.into, "/into"), merge=True)

    async def remove(self, call: Call) -> Response:
        """`DELETE` of a status from the declared set."""
        client, name = await call.client(), _path_name(call)
        call.parameters().done()
        return await self._change(call, remove_status(client.number, self._kind, name, tags_named(call)), lambda changed: Response(204))

    async def _rename(self, call: Call, client: int, after: str, *, merge: bool) -> Response:
        parameters, parts, before = call.parameters(), call.api.dependencies, _path_name(call)
        parameters.done()
        if parameters[DRY_RUN]:
            preview = await parts.store.read(preview_rename(client, self._kind, before, after, merge))
            if isinstance(preview, TouchbaseError):
                raise preview
            return Response(body=encode(preview_out(preview)))
        command = rename_status(client, self._kind, before, after, merge, parts.clock(), author_of(call.scope), tags_named(call))
        await call.starter()
        response = await self._change(call, command, lambda changed: _accepted(call, changed))
        parts.on_job()
        return response

    async def _change(self, call: Call, command: Command[Changed], respond: Callable[[Changed], Response]) -> Response:
        """Execute a command, respond, and let this process see the new settings at once."""
        changed: list[Changed] = []

        def remember(result: Changed) -> Response:
            changed[:] = [result]
            return respond(result)

        try:
            response = await call.write_and_respond(lambda writes: writes.write(command), remember)
        except PreconditionFailed:
            raise await changed_since(call, "status", "status.", (await call.client()).number, _path_name(call)) from None
        for change in changed:
            call.api.clients.forget(change.client.client_id)
        return response


def _start(names: Sequence[str], after: tuple[int, str] | None) -> int:
    """Return where a page begins: behind the last status of the page before, or at its place if that status is gone."""
    if after is None:
        return 0
    return names.index(after[1]) + 1 if after[1] in names else after[0]


def _path_name(call: Call) -> str:
    """Return the status in the path; an escaped slash in it stays escaped until here."""
    return call.path("name").replace("%2F", "/")


def _name(text: str, pointer: str) -> str:
    """Return a new name; raise `Invalid` if no record could have it."""
    if (why := why_not_storable(text)) is not None:
        raise Invalid([Fault(pointer, "unusable_text", why)])
    if text != text.strip() or limits.is_blank(text):
        raise Invalid([Fault(pointer, "blank", "must not be blank or have white space around it")])
    return text


def _accepted(call: Call, changed: Changed) -> Response:
    assert changed.job is not None
    return job_response(call, changed.job, {}, 202)


def _defined(changed: Changed, kind: int, name: str) -> RecordStatus:
    statuses = listed(changed.client.settings, kind, {})
    return status_out(next(status for status in statuses if status.name == name))


def status_out(status: StatusInfo, look: StatusLook | None = None) -> RecordStatus:
    """Return a status as responses show it."""
    former = [_former(rename) for rename in status.former]
    return RecordStatus(
        status.name,
        status.declared,
        status.records,
        status.renaming,
        status.stands_for,
        status.refused,
        status.role,
        status.opts_out,
        status.next,
        former,
        status.version,
        None if look is None else StatusLook(**{name: getattr(look, name) for name in StatusLook.__struct_fields__}),
    )


def _former(rename: StatusRename) -> FormerName:
    return FormerName(rename.before, to_text(rename.at_us), rename.merged, rename.by)


def preview_out(preview: RenamePreview) -> RenamePreviewOut:
    """Return a preview as responses show it."""
    return RenamePreviewOut(
        preview.before, preview.after, preview.merged, preview.records, preview.stands_for, preview.declared, preview.notes
    )


_MATCH = if_match("status")


def _routes(kind: int) -> list[Route]:
    at, many = StatusResource(kind), PLURALS[kind]
    noun = RECORD_TYPES[kind].name
    by_name = f"{at.path}/{{name}}"
    started = (
        Success(202, "The job; from now on the new name is set and accepted.", JobOut, headers=("Location",)),
        Success(200, "The preview (`dry_run`).", RenamePreviewOut),
    )
    return [
        Route(
            "GET", at.path, at.list, scope=READ, operation_id=f"list_{noun}_statuses", tag=TAG, summary=f"List the statuses of {many}",
            description="The declared statuses, the records' statuses, and the words that Touchbase sets, with the number of records and "
            "the former names of each.",
            query=(*PAGE, NAME, IN_USE), success=(Success(200, "A page.", StatusPage),),
        ),
        Route(
            "POST", at.path, at.define, scope=ADMIN, operation_id=f"define_{noun}_status", tag=TAG,
            summary=f"Add a status to the declared set of {many}",
            description=f"The set is that of the client's setting `{noun}_statuses`; its new status comes last. Events that asked for the "
            "status before, and were refused, are applied by a job.",
            body=NewStatus, success=(Success(201, "The status.", RecordStatus, headers=("Location",)),),
        ),
        Route(
            "PATCH", by_name, at.rename, scope=ADMIN, operation_id=f"rename_{noun}_status", tag=TAG, summary=f"Rename a status of {many}",
            description="From the response on, requests and events set the new name, also if they say the former one; a job gives it to "
            "all records. Every word can be renamed, also a word that Touchbase sets. The rules follow what a status means.",
            query=(DRY_RUN,), headers=(_MATCH,), body=StatusChange, success=started, problems=(409, 412),
        ),
        Route(
            "POST", f"{by_name}/merge", at.merge, scope=ADMIN, operation_id=f"merge_{noun}_status", tag=TAG,
            summary=f"Merge a status of {many} into another one",
            description="The two become one: records and later events of the first have the second. It cannot be undone.",
            query=(DRY_RUN,), headers=(_MATCH,), body=StatusMerge, success=started, problems=(412,),
        ),
        Route(
            "DELETE", by_name, at.remove, scope=ADMIN, operation_id=f"remove_{noun}_status", tag=TAG,
            summary=f"Remove a status from the declared set of {many}",
            description="Responds 409 while records have it: merge it into another one first. Events that ask for it later are refused, "
            "which their deliveries show as a problem.",
            headers=(_MATCH,), success=(Success(204, "It is removed."),), problems=(409, 412),
        ),
    ]  # fmt: skip


ROUTES = [route for kind in RECORD_KINDS.values() for route in _routes(kind)]

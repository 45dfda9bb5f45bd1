"""HTTP resources of custom fields: list, define, change, merge and remove, for contacts and companies."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from touchbase.auth.authentication import READ, WRITE
from touchbase.clients.models import Client
from touchbase.custom_fields.api.schemas import (
    CustomFieldDefinition,
    CustomFieldDetail,
    CustomFieldMerge,
    CustomFieldPage,
    CustomFieldUpdate,
    FieldChangePreview,
    FieldTypePreview,
    ValueMerge,
    detail_of,
    field_name,
    field_type,
    id_of,
    name_of,
    preview_of,
    type_preview_of,
)
from touchbase.custom_fields.changes import FieldJob
from touchbase.custom_fields.service import ClientField, check_merge, check_type, list_fields, preview_change
from touchbase.custom_fields.sql import define_field, forget_field, start_change
from touchbase.errors import Fault, Invalid, NotFound, PreconditionFailed, WrongState
from touchbase.http import query_parameters as query
from touchbase.http.conditional import ETAG, changed_since, if_match, tags_named
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text, text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, fitting, named_enum
from touchbase.jobs.api import JobOut, job_response
from touchbase.jobs.models import Job
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE

T = TypeVar("T")
TAG = Tag("Fields", "The custom fields of a client: their use and types; renaming and merging fields and values.")
PATH = "/public/v2/custom-fields"
DRY_RUN = query.flag("dry_run", "Only respond what would change.")
named_enum("RemovedValues", "Which values go with a definition.", ("delete",))
named_enum("Misfits", "What happens to values that are not of a new type.", ("keep",))
VALUES = query.choice("values", ("delete",), "`delete`: also remove the values of all records, by a job.")
MISFITS = query.choice("misfits", ("keep",), "`keep`: set the type although some values are not of it. They stay until they are changed.")
_LISTING = "custom_fields"
_NAME_PART = text("q", "Only fields whose names contain this text; the case of ASCII letters does not count.")


class FieldResource:
    """The handlers of the fields of one kind of record."""

    def __init__(self, kind: int, type_name: str, many: str) -> None:
        self._kind, self.type_name, self.many = kind, type_name, many
        self.path = f"{PATH}/{many}"

    async def list(self, call: Call) -> Response:
        """`GET` of a page of fields."""
        client, parameters = await call.client(), call.parameters()
        after = parameters.cursor(_LISTING, str)
        parameters.done()
        parts, limit = call.api.dependencies, parameters[LIMIT]
        page_bytes = await call.page_bytes()
        fields = await list_fields(parts.store, client, self._kind, after=after or "", limit=limit + 1, part=parameters[_NAME_PART] or "")
        data = fitting(map(detail_of, fields[:limit]), page_bytes)
        cursor = cursor_text(_LISTING, fields[len(data) - 1].name) if len(fields) > len(data) else None
        return Response(body=encode(CustomFieldPage(data, cursor)))  # type: ignore[arg-type]  # encoded items

    async def get(self, call: Call) -> Response:
        """`GET` of one field."""
        client = await call.client()
        call.parameters().done()
        return _tagged(await self._find(call, client))

    async def define(self, call: Call) -> Response:
        """`POST` of a new field."""
        client = await call.client()
        await call.require_definitions(client)
        call.parameters().done()
        body = await call.body(CustomFieldDefinition)
        name, declared = field_name(body.name, "/name"), field_type(body.type, body.options)

        def response(_: None) -> Response:
            field = detail_of(ClientField(name, declared, is_declared=True))
            place = call.reached_at(f"{self.path}/{id_of(name)}")
            return Response(201, encode(field), headers=[(b"location", place)])

        command = define_field(client.number, self._kind, name, declared, is_new=True)
        created = await call.write_and_respond(lambda writes: writes.write(command), response)
        call.api.clients.forget(client.client_id)
        return created

    async def change(self, call: Call) -> Response:
        """`PATCH` of the name or the type."""
        client, parameters = await call.client(), call.parameters()
        await call.require_definitions(client)
        parameters.done()
        wanted = await call.body(CustomFieldUpdate)
        if isinstance(wanted.name, str):
            if isinstance(wanted.type, str) or isinstance(wanted.options, list):
                raise Invalid([Fault("/name", "alone", "send the name alone, and the type in another request: renaming is a job")])
            name = field_name(wanted.name, "/name")
            return await self._start(call, client, FieldJob("rename", self._name(call), name), dry_run=parameters[DRY_RUN])
        field = await self._find(call, client)
        if not isinstance(wanted.type, str) and not isinstance(wanted.options, list):
            return _tagged(field)
        kind = wanted.type if isinstance(wanted.type, str) else detail_of(field).type
        options = field.type.options if kind == "select" else []
        declared = field_type(kind, wanted.options if isinstance(wanted.options, list) else options)
        store = call.api.dependencies.store
        check = await check_type(store, client.number, self._kind, field.name, declared)
        if parameters[DRY_RUN]:
            return Response(body=encode(type_preview_of(check)))
        if check.misfits and parameters[MISFITS] is None:
            examples = ", ".join(repr(value[:40]) for _, value in check.samples[:3])
            detail = f"{check.misfits} values are not of this type, such as {examples}; change them, or send misfits=keep"
            raise WrongState(detail)
        command = define_field(client.number, self._kind, field.name, declared, is_new=False, if_versions=tags_named(call))
        await self._checked(call, client, store.write(command))
        return await self._changed(call, client)

    async def merge(self, call: Call) -> Response:
        """`POST` that merges this field into another."""
        client, parameters = await call.client(), call.parameters()
        await call.require_definitions(client)
        parameters.done()
        name, into = self._name(call), field_name((await call.body(CustomFieldMerge)).into, "/into")
        if into == name:
            raise Invalid([Fault("/into", "itself", "is the field itself")])
        await check_merge(call.api.dependencies.store, client, self._kind, name, into)
        return await self._start(call, client, FieldJob("merge", name, into), dry_run=parameters[DRY_RUN])

    async def merge_values(self, call: Call) -> Response:
        """`POST` that replaces values by another one."""
        client, parameters = await call.client(), call.parameters()
        parameters.done()
        body = await call.body(ValueMerge)
        into = field_name(body.into, "/into")
        values = [field_name(value, f"/values/{index}") for index, value in enumerate(body.values)]
        values = [value for value in dict.fromkeys(values) if value != into]
        if not values:
            raise Invalid([Fault("/values", "itself", "has only the value that replaces them")])
        return await self._start(call, client, FieldJob("merge_values", self._name(call), into, tuple(values)), dry_run=parameters[DRY_RUN])

    async def remove(self, call: Call) -> Response:
        """`DELETE` of a field, with its values if asked."""
        client, parameters = await call.client(), call.parameters()
        await call.require_definitions(client)
        parameters.done()
        name, store = self._name(call), call.api.dependencies.store
        what = FieldJob("remove", name)
        preview = await preview_change(store, client, self._kind, what)
        if parameters[DRY_RUN]:
            return Response(body=encode(preview_of(preview)))
        if preview.records and parameters[VALUES] is None:
            raise WrongState(f"{preview.records} {self.many} have a value of {name!r}; send values=delete to remove these too")
        if preview.records:
            return await self._start(call, client, what, dry_run=False)
        await self._checked(call, client, store.write(forget_field(client.number, self._kind, name, tags_named(call))))
        call.api.clients.forget(client.client_id)
        return Response(204)

    def _name(self, call: Call) -> str:
        return name_of(call.path("name"))

    async def _find(self, call: Call, client: Client) -> ClientField:
        name = self._name(call)
        fields = await list_fields(call.api.dependencies.store, client, self._kind, name)
        if not fields:
            kind = CONTACT_TYPE if self._kind == CONTACT_TYPE.kind else COMPANY_TYPE
            now = kind.field_names(client.settings).get(name)
            raise NotFound(f"there is no custom field {name!r}" + (f" any more: it is {now!r} now" if now is not None else ""))
        return fields[0]

    async def _changed(self, call: Call, client: Client) -> Response:
        call.api.clients.forget(client.client_id)
        return _tagged(await self._find(call, await call.api.clients.get(client.client_id)))

    async def _checked(self, call: Call, client: Client, writing: Awaitable[T]) -> T:
        """Return the result of a write; the error says who changed the field if it is none of the versions that `If-Match` names."""
        try:
            return await writing
        except PreconditionFailed:
            raise await changed_since(call, "custom field", "custom_field.", client.number, self._name(call)) from None

    async def _start(self, call: Call, client: Client, what: FieldJob, *, dry_run: bool) -> Response:
        """Start a job, or respond with its preview."""
        parts, at = call.api.dependencies, call.api.dependencies.clock()
        if dry_run:
            return Response(body=encode(preview_of(await preview_change(parts.store, client, self._kind, what))))
        await call.starter()
        command = start_change(client.number, self._kind, what, at, author_of(call.scope), tags_named(call))

        def response(job: Job) -> Response:
            return job_response(call, job, {}, 202)

        started = await self._checked(call, client, call.write_and_respond(lambda writes: writes.write(command), response))
        call.api.clients.forget(client.client_id)
        parts.on_job()
        return started


def _tagged(field: ClientField) -> Response:
    return Response(body=encode(detail_of(field)), headers=[(ETAG, f'"{field.version}"'.encode())])


CONTACTS = FieldResource(CONTACT_TYPE.kind, "contact", "contacts")
COMPANIES = FieldResource(COMPANY_TYPE.kind, "company", "companies")
_job = Success(202, "The job.", JobOut, headers=("Location",))
_MATCH = if_match("custom field")
_OF_ADMINISTRATORS = "People need the role `admin` of the client, keys of services the scope `records:write`."
_preview = Success(200, "With `dry_run`: what would change.", FieldChangePreview)


def _routes(of: FieldResource) -> list[Route]:
    type_name, by_name = of.type_name, f"{of.path}/{{name}}"
    return [
        Route(
            "GET", of.path, of.list, scope=READ, operation_id=f"list_{type_name}_custom_fields", tag=TAG,
            summary=f"List the custom fields of {of.many} with their use",
            description="By name: defined fields, and all that records have.",
            query=(*PAGE, _NAME_PART), success=(Success(200, "A page.", CustomFieldPage),),
        ),
        Route(
            "POST", of.path, of.define, scope=WRITE, operation_id=f"define_{type_name}_custom_field", tag=TAG,
            summary=f"Define a custom field of {of.many}",
            description="A field needs no definition: any name in a request or webhook is one. A definition gives it a type, which values "
            "of requests and imports must have. " + _OF_ADMINISTRATORS,
            body=CustomFieldDefinition, success=(Success(201, "The field.", CustomFieldDetail, headers=("Location",)),), problems=(409,),
        ),
        Route(
            "GET", by_name, of.get, scope=READ, operation_id=f"get_{type_name}_custom_field", tag=TAG,
            summary=f"Get a custom field of {of.many} with its use",
            success=(Success(200, "The field.", CustomFieldDetail, headers=("ETag",)),),
        ),
    ]  # fmt: skip


def _changes(of: FieldResource) -> list[Route]:
    type_name, by_name = of.type_name, f"{of.path}/{{name}}"
    return [
        Route(
            "PATCH", by_name, of.change, scope=WRITE, operation_id=f"change_{type_name}_custom_field", tag=TAG,
            summary=f"Rename a custom field of {of.many}, or set its type",
            description="A new `name` starts a job. Requests, imports, filters and webhooks that use the old name reach the field from "
            "then on. A new `type` is refused while values are not of it, unless `misfits=keep`. " + _OF_ADMINISTRATORS,
            query=(DRY_RUN, MISFITS), headers=(_MATCH,), body=CustomFieldUpdate, problems=(409, 412),
            success=(
                Success(200, "The field as it is now, or with `dry_run` what would change.",
                        (CustomFieldDetail, FieldChangePreview, FieldTypePreview), headers=("ETag",)), _job,
            ),
        ),
        Route(
            "POST", f"{by_name}/merge", of.merge, scope=WRITE, operation_id=f"merge_{type_name}_custom_field", tag=TAG,
            summary=f"Merge a custom field of {of.many} into another",
            description="A job. A record that has a value of both keeps the other field's. The name of this field leads to the other "
            "one from then on. " + _OF_ADMINISTRATORS,
            query=(DRY_RUN,), headers=(_MATCH,), body=CustomFieldMerge, success=(_preview, _job), problems=(409, 412),
        ),
        Route(
            "POST", f"{by_name}/merge-values", of.merge_values, scope=WRITE, operation_id=f"merge_{type_name}_custom_field_values", tag=TAG,
            summary=f"Replace values of a custom field of {of.many} by another one",
            description="A job. Values are compared as they are written. A later write of one of the old values is stored as it comes.",
            query=(DRY_RUN,), headers=(_MATCH,), body=ValueMerge, success=(_preview, _job), problems=(409, 412),
        ),
        Route(
            "DELETE", by_name, of.remove, scope=WRITE, operation_id=f"remove_{type_name}_custom_field", tag=TAG,
            summary=f"Remove a custom field of {of.many}, or a former name",
            description="Refused while records have a value, unless `values=delete`: then a job removes the values. A later write of the "
            "name makes the field again. " + _OF_ADMINISTRATORS,
            query=(DRY_RUN, VALUES), headers=(_MATCH,), success=(Success(204, "It is removed."), _preview, _job), problems=(409, 412),
        ),
    ]  # fmt: skip


ROUTES = [*_routes(CONTACTS), *_changes(CONTACTS), *_routes(COMPANIES), *_changes(COMPANIES)]

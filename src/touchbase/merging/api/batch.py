"""`POST .../batch`: many commands on contacts or companies in one request and one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from touchbase.auth.authentication import WRITE
from touchbase.clients.models import Client
from touchbase.errors import Conflict, Invalid, NotFound, TouchbaseError
from touchbase.http.body_errors import THOROUGH_BYTES
from touchbase.http.endpoint import Call, author_of
from touchbase.http.headers import HANDLING, STRICT, applied, described, preferences
from touchbase.http.problems import FaultOut
from touchbase.http.query_parameters import DRY_RUN
from touchbase.http.request_body import first_refusal, read_struct
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode
from touchbase.merging.api.batch_commands import BatchCommands, BatchSender, PreparedCommand
from touchbase.merging.api.batch_schemas import BATCHES, BatchProblem
from touchbase.merging.sql.write_batch import MAX_COMMANDS, batch_failed, write_batch
from touchbase.projection.delete import delete_record
from touchbase.records.api.parameters import FLAT
from touchbase.records.api.previews import fields_changed, status_of
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType
from touchbase.records.api.schemas import CompanyRequest, ContactRequest
from touchbase.records.models import Company, Contact
from touchbase.records.writes import record_of
from touchbase.sql.operation import CommandPreview

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)

RETURN, REPRESENTATION = "return", "representation"
MOST_LISTED = 1_000
"""Faults in the response to a batch; of further invalid commands it has the first fault of each."""
NOT_STORED = "the values were in the first response"
"""Text of a stored response in place of an invalid command's details, which may quote personal data."""
PREFER = described(
    "`return=representation`: results contain the records. `handling=strict`: unknown members of a body are faults, read-only ones aside."
)


class _BatchBody(Struct, forbid_unknown_fields=True):
    """A batch, its commands not decoded yet."""

    commands: Annotated[list[Raw], Meta(min_length=1, max_length=MAX_COMMANDS)]
    atomic: bool = False


class _BatchResponse(Struct):
    results: list[Any]
    succeeded: int
    failed: int
    records_left_out: int | UnsetType = UNSET


_decoder = msgspec.json.Decoder(_BatchBody)


@dataclass(frozen=True, slots=True)
class _Options:
    """Content of the response."""

    client: Client
    flat: bool
    records: bool
    record_bytes: int
    """Bytes of the records that the response may contain."""
    headers: list[tuple[bytes, bytes]]


class BatchResource(Generic[A, C, R]):
    """The handler of batches of one type of record."""

    def __init__(self, kind: ResourceType[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._commands: BatchCommands[A, C, R] = BatchCommands(kind)
        self._result = BATCHES[kind.type.name][2]

    async def post(self, call: Call) -> Response:
        """`POST` of a batch."""
        client, parts = await call.client(), call.api.dependencies
        parameters = call.parameters()
        parameters.done()
        body = await call.json()
        batch = _decoded(body)
        sender, preferred = BatchSender(client, parts.clock(), author_of(call.scope), _is_strict(call)), preferences(call.scope)
        prepared = await self._commands.prepare(parts.store, batch.commands, sender)
        # A full client may still delete.
        enlarges = any(item.command is not None and item.command.operation is not delete_record.operation for item in prepared)
        count = call.api.storing if enlarges else call.api.limiter.storing
        count(client, sum(_rows(item) for item in prepared), sender.at)
        if batch.atomic and (failed := batch_failed([item.error for item in prepared])) is not None:
            raise failed
        records = preferred.get(RETURN) == REPRESENTATION
        says = [f"{HANDLING}={STRICT}"] * sender.strict + [f"{RETURN}={REPRESENTATION}"] * records
        options = _Options(client, parameters[FLAT], records, parts.limits.page_bytes, applied(*says))
        commands = [item.command for item in prepared if item.command is not None]
        command = write_batch(client.number, commands, batch.atomic, parameters[DRY_RUN], sender.by, sender.at)
        if parameters[DRY_RUN] and call.recorder is not None:
            call.recorder.skip()
        if not commands:
            return self._response(prepared, [], options)
        if parameters[DRY_RUN]:
            return self._response(prepared, await parts.store.write(command), options)
        return await call.write_and_respond(lambda writes: writes.write(command), lambda done: self._response(prepared, done, options))

    def _response(self, prepared: Sequence[PreparedCommand], done: Sequence[object], options: _Options) -> Response:
        outcomes = iter(done)
        ends = [(item, item.error or next(outcomes)) for item in prepared]
        results: list[Any] = [self._result_of(item, end, options) for item, end in ends]
        _limit_faults(results)
        left_out = self._add_records(results, [end for _, end in ends], options) if options.records else 0
        failed = sum(result.problem is not UNSET for result in results)
        body = encode(_BatchResponse(results, len(results) - failed, failed, left_out or UNSET))
        stored = encode(_BatchResponse([*_without_values(results)], len(results) - failed, failed))
        return Response(body=body, headers=options.headers, stored_body=stored)

    def _result_of(self, item: PreparedCommand, outcome: object, options: _Options) -> Any:
        settings = options.client.settings
        changed: Any = UNSET
        if isinstance(outcome, CommandPreview):
            changed = fields_changed(self._kind, outcome, settings)
            outcome = outcome.outcome
        status, ignored = status_of(outcome), UNSET if item.read is None else list(item.read.ignored) or UNSET
        if isinstance(outcome, TouchbaseError):
            return self._result(status, ignored=ignored, problem=_problem(outcome))
        record: Any = record_of(outcome)
        number = UNSET if changed is not UNSET and status == 201 else record.id
        return self._result(status, number, changed=changed, ignored=ignored)

    def _add_records(self, results: Sequence[Any], outcomes: Sequence[object], options: _Options) -> int:
        """Add the records to their results, up to the bytes of a page; return how many results have none for that."""
        room, left_out = options.record_bytes, 0
        for result, outcome in zip(results, outcomes, strict=True):
            record: Any = record_of(outcome)
            if record is None:
                continue
            encoded = b"" if left_out else encode(self._kind.out(record, options.flat, options.client.settings))
            room -= len(encoded)
            if room < 0:
                left_out += 1
            else:
                result.record = Raw(encoded)
        return left_out


def _decoded(body: bytes) -> _BatchBody:
    """Decode a batch: texts and types of its commands are not looked at yet, and a long batch that is refused is not decoded again."""
    if len(body) <= THOROUGH_BYTES:
        return read_struct(body, _decoder, _BatchBody, lambda partly: None)
    try:
        return _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise first_refusal(error) from None


def _is_strict(call: Call) -> bool:
    return preferences(call.scope).get(HANDLING, "").lower() == STRICT


def _rows(item: PreparedCommand) -> int:
    """Return how many rows a command may store."""
    return 0 if item.command is None else 1 + item.fields


def _problem(error: TouchbaseError) -> BatchProblem:
    existing = error.data.get("existing_id")
    problem = BatchProblem(error.code, error.detail)
    if isinstance(error, Invalid):
        problem.detail = f"{error.faults[0].pointer} {error.faults[0].detail}" if error.faults else error.detail
        problem.detail += f" ({len(error.faults) + error.more:,} faults; errors has the first)" if error.more else ""
        problem.errors = [FaultOut(fault.pointer, fault.code, fault.detail) for fault in error.faults]
    if isinstance(error, Conflict | NotFound) and isinstance(existing, int):
        problem.existing_id = existing
    return problem


def _limit_faults(results: Sequence[Any]) -> None:
    """Shorten the faults of a long response; each invalid command has at least its first."""
    left = MOST_LISTED
    for result in results:
        errors = result.problem.errors if isinstance(result.problem, BatchProblem) else UNSET
        if isinstance(errors, list):
            del errors[max(1, left) :]
            left -= len(errors)


def _without_values(results: Sequence[Any]) -> Iterator[Any]:
    """Yield the results as a stored response has them: an erasure does not look into these, so no value of a record may be in them."""
    for result in results:
        problem: BatchProblem | UnsetType = result.problem
        if isinstance(problem, BatchProblem) and isinstance(problem.errors, list):
            errors = [FaultOut(fault.pointer, fault.code, NOT_STORED) for fault in problem.errors]
            problem = BatchProblem(problem.code, NOT_STORED, errors)
        yield type(result)(result.status, result.id, problem=problem)


def batch_route(kind: ResourceType[Any, Any, Any], tag: Tag) -> Route:
    """Return the route of batches of one type of record."""
    handlers, many = BatchResource(kind), kind.type.plural
    request, response, _ = BATCHES[kind.type.name]
    return Route(
        "POST", f"{kind.path}/batch", handlers.post, scope=WRITE, operation_id=f"batch_{many}", tag=tag,
        summary=f"Create, upsert, update and delete up to {MAX_COMMANDS:,} {many}",
        description="Carries out the commands in their order in one transaction, and responds with the status of each: the one that the "
        "single request would have had. A command that fails does not affect the others. With `atomic` all are carried out or none: then "
        "a failure is a 422 `batch_failed`, whose `errors` point to the commands. An idempotency key holds for the whole batch; the "
        "stored response has the status and id of each result, and no values of records.",
        query=(FLAT, DRY_RUN), headers=(PREFER,), body=request, large=True,
        success=(Success(200, "The results, in the order of the commands.", response, ("Preference-Applied",)),),
    )  # fmt: skip


ROUTES = [batch_route(CONTACTS, CONTACT_TAG), batch_route(COMPANIES, COMPANY_TAG)]

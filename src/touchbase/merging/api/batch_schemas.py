"""Bodies of batches: many commands in one request, and the result of each."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.clients.models import ON_DUPLICATE
from touchbase.http.problems import FaultOut
from touchbase.http.schemas import RecordId, example, named_enum
from touchbase.merging.sql.write_batch import MAX_COMMANDS
from touchbase.records.api.parameters import MATCHES
from touchbase.records.api.previews import FieldPreview
from touchbase.records.api.schemas import CompanyChange, CompanyResponse, ContactChange, ContactResponse

OPERATIONS = ("create", "upsert", "update", "delete")
Op = Annotated[
    str,
    Meta(
        description="What to do with the record. `delete` moves it into the bin, as `DELETE` of the record does.",
        extra_json_schema=named_enum("BatchOperation", "What a command of a batch does with its record.", OPERATIONS),
    ),
]
Id = Annotated[RecordId, Meta(description="The record; only for `update` and `delete`.")]
Duplicate = Annotated[
    str,
    Meta(
        description="For `create`, if the record exists. Default: the client's setting.",
        extra_json_schema={"enum": list(ON_DUPLICATE)},
    ),
]
IfMatch = Annotated[
    str,
    Meta(description="For `update` and `delete`: the ETag that the record must still have, as in `If-Match`; else a 412."),
]
_MATCH = "For `upsert`: the member of `body` that identifies the record. Default: `{}`."

_BODY = Meta(description="Not for `delete`.")
ContactMatch = Annotated[str, Meta(description=_MATCH.format("email"), extra_json_schema={"enum": list(MATCHES["contact"])})]
CompanyMatch = Annotated[str, Meta(description=_MATCH.format("domain"), extra_json_schema={"enum": list(MATCHES["company"])})]


class ContactBatchCommand(Struct):
    """One command of a batch. `body` is as in the single request: null is allowed where the operation allows it."""

    op: Op
    body: Annotated[ContactChange, _BODY] | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    match: ContactMatch | UnsetType = UNSET
    on_duplicate: Duplicate | UnsetType = UNSET
    if_match: IfMatch | UnsetType = UNSET


class CompanyBatchCommand(Struct):
    """One command of a batch. `body` is as in the single request: null is allowed where the operation allows it."""

    op: Op
    body: Annotated[CompanyChange, _BODY] | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    match: CompanyMatch | UnsetType = UNSET
    on_duplicate: Duplicate | UnsetType = UNSET
    if_match: IfMatch | UnsetType = UNSET


_ATOMIC = Annotated[bool, Meta(description="Carry out all commands or none: one that fails makes the response a 422 `batch_failed`.")]


class ContactBatch(Struct):
    """Commands, carried out in their order in one transaction."""

    commands: Annotated[list[ContactBatchCommand], Meta(min_length=1, max_length=MAX_COMMANDS)]
    atomic: _ATOMIC = False


class CompanyBatch(Struct):
    """Commands, carried out in their order in one transaction."""

    commands: Annotated[list[CompanyBatchCommand], Meta(min_length=1, max_length=MAX_COMMANDS)]
    atomic: _ATOMIC = False


class BatchProblem(Struct):
    """Reason of a command that was not carried out; the members are a problem response's."""

    code: str
    detail: str
    errors: list[FaultOut] | UnsetType = UNSET
    existing_id: int | UnsetType = UNSET


Status = Annotated[int, Meta(description="The status that the single request would have had.")]
_RECORD = Meta(
    description="Only with `Prefer: return=representation`, and not in a stored response. A deleted one as it was. Results after those of "
    "8 MB have none: see `records_left_out`."
)
_LEFT_OUT = Annotated[
    int,
    Meta(
        description="Only with `Prefer: return=representation`: the number of results at the end that have no `record`, because the "
        "response would have more than 8 MB. Get these records by their ids."
    ),
]
_CHANGED = Annotated[list[FieldPreview], Meta(description="Only in a dry run: what would change.")]
_IGNORED = Annotated[list[str], Meta(description="Unknown members of `body`, which were ignored.")]


class ContactBatchResult(Struct):
    """The result of one command."""

    status: Status
    id: int | UnsetType = UNSET
    record: Annotated[ContactResponse, _RECORD] | UnsetType = UNSET
    changed: _CHANGED | UnsetType = UNSET
    ignored: _IGNORED | UnsetType = UNSET
    problem: BatchProblem | UnsetType = UNSET


class CompanyBatchResult(Struct):
    """The result of one command."""

    status: Status
    id: int | UnsetType = UNSET
    record: Annotated[CompanyResponse, _RECORD] | UnsetType = UNSET
    changed: _CHANGED | UnsetType = UNSET
    ignored: _IGNORED | UnsetType = UNSET
    problem: BatchProblem | UnsetType = UNSET


class ContactBatchResponse(Struct):
    """The results, in the order of the commands."""

    results: list[ContactBatchResult]
    succeeded: int
    failed: int
    records_left_out: _LEFT_OUT | UnsetType = UNSET


class CompanyBatchResponse(Struct):
    """The results, in the order of the commands."""

    results: list[CompanyBatchResult]
    succeeded: int
    failed: int
    records_left_out: _LEFT_OUT | UnsetType = UNSET


BATCHES: dict[str, tuple[type[Struct], type[Struct], Any]] = {
    "contact": (ContactBatch, ContactBatchResponse, ContactBatchResult),
    "company": (CompanyBatch, CompanyBatchResponse, CompanyBatchResult),
}
"""Request, response and result, by type of record."""

_TAKEN = {"code": "duplicate", "detail": "this contact exists already, with id 17; ...", "existing_id": 17}
example(
    ContactBatch,
    {
        "commands": [
            {"op": "create", "body": {"email": "jane@example.com", "first_name": "Jane"}},
            {"op": "upsert", "match": "email", "body": {"email": "john@example.com", "contact_status": "customer"}},
            {"op": "update", "id": 1042, "body": {"contact_status": "lost"}},
            {"op": "delete", "id": 1057},
        ],
        "atomic": False,
    },
)
example(
    ContactBatchResponse,
    {
        "results": [
            {"status": 409, "problem": _TAKEN},
            {"status": 200, "id": 18},
            {"status": 200, "id": 1042},
            {"status": 200, "id": 1057},
        ],
        "succeeded": 3,
        "failed": 1,
    },
)
example(CompanyBatch, {"commands": [{"op": "upsert", "body": {"domain": "example.com", "name": "Example Ltd"}}]})
example(CompanyBatchResponse, {"results": [{"status": 201, "id": 17}], "succeeded": 1, "failed": 0})

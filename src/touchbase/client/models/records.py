"""Types of records. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from touchbase.client.models.shared import ProblemOut, SuppressionKind, SuppressionList, SuppressionReason


BatchOperation = Literal["create", "upsert", "update", "delete"]
"""What a command of a batch does with its record."""

DayOrder = Literal["", "day_first", "month_first"]
"""The order in dates such as 11/12/2026; blank: they are refused."""

DuplicateReason = Literal["same_name", "similar_name", "same_domain", "similar_address", "same_company", "other_linkedin"]
"""Why two records may be one, or `other_linkedin`, why not."""

ExportFormat = Literal["csv", "ndjson", "parquet"]
"""How an export is written."""

ImportMode = Literal["create", "update", "upsert"]
"""What an import does with a row: only create, only update, or both."""

OtherColumns = Literal["custom", "ignore"]
"""What becomes of a column without a field: a custom field, or nothing."""

Structure = Literal["NESTED", "FLAT"]
"""The format of custom fields: a list of objects, or one object by field name."""

Survivorship = Literal["newest", "if_empty", "keep", "most_complete"]
"""Which values the record has afterwards."""


class BatchProblem(TypedDict):
    """Why one command of a batch was not carried out; the members are those of a problem response."""

    code: str
    detail: str
    errors: NotRequired[list[FaultOut]]
    existing_id: NotRequired[int]


class BulkChange(TypedDict):
    """What became of the records that match."""

    matched: int
    changed: int
    failed: int
    failures: list[BulkFailure]


class BulkFailure(TypedDict):
    """One record that was not changed, and why."""

    id: int
    code: str
    detail: str


class CustomFieldChange(TypedDict):
    """One custom field in a change; a null value removes the field."""

    field_name: str
    field_value: str | None


class CustomFieldInput(TypedDict):
    """One custom field in a request."""

    field_name: str
    field_value: str


class CustomFieldOut(TypedDict):
    """One custom field of a record."""

    id: int
    updated_time: str
    field_name: str
    field_value: str


class DryRunResponse(TypedDict):
    """What a write would do."""

    dry_run: bool
    status: int
    id: int | None
    changed: list[FieldPreview]


class EventSource(TypedDict):
    """The event that set a value, or named one: a webhook's (`delivery_id`) or an API write's (`key_id`, `request_id`)."""

    event: str
    occurred_at: str
    received_at: str
    tool: str
    campaign: str | None
    delivery_id: int | None
    key_id: str | None
    request_id: str | None


class ExplainedValueOut(TypedDict):
    """A present value, and why it is so."""

    field: str
    value: str | None
    set_by: EventSource | None
    others: list[OtherEventOut]
    others_total: int


class Explanation(TypedDict):
    """The values of a record, each with its source; without `others` if they are too many bytes for one response."""

    data: list[ExplainedValueOut]
    computed_since: NotRequired[str]


class FaultOut(TypedDict):
    """One thing wrong with a request: a JSON pointer into the body, `?name` of a query parameter, or a header's name."""

    pointer: str
    code: str
    detail: str


class FieldChangeOut(TypedDict):
    """One value that an event set, and the value before it in order of time."""

    field: str
    value: str | None
    previous: str | None


class FieldPreview(TypedDict):
    """One field that a write would change; `cf.NAME` is a custom field."""

    field: str
    value: str | int | float | bool | None
    previous: str | int | float | bool | None


class MappingBody(TypedDict):
    """What an import does with the columns of a file."""

    columns: NotRequired[dict[str, str]]
    others: NotRequired[OtherColumns]
    day_order: NotRequired[DayOrder]
    time_zone: NotRequired[str]
    without_key: NotRequired[bool]


class MappingList(TypedDict):
    """The stored mappings, by name."""

    data: list[StoredMappingOut]


class MatchError(TypedDict):
    """Why an item could not be looked up: it is invalid, or it names two records."""

    code: str
    detail: str

MergeRequest = TypedDict(
    "MergeRequest",
    {
        "with": "list[int]",
        "survivorship": "NotRequired[Survivorship]",
        "from_ids": "NotRequired[dict[str, int]]",
        "dry_run": "NotRequired[bool]",
    },
)
"""The records to merge into this one."""


class MergedFieldOut(TypedDict):
    """One value after the merge: the record that it is from, and the value before."""

    field: str
    value: str | int | None
    from_id: int
    before: str | int | None
    custom: bool


class OtherEventOut(TypedDict):
    """An event that named a value for the field and is not its source."""

    value: str | None
    reason: str
    event: EventSource


class SearchBody(TypedDict):
    """A search: filters as a tree, with the parameters of lists."""

    where: NotRequired[dict[str, Any]]
    q: NotRequired[str | None]
    sort: NotRequired[str | list[str] | None]
    fields: NotRequired[str | list[str] | None]
    limit: NotRequired[int]
    cursor: NotRequired[str | None]


class StoredMappingOut(TypedDict):
    """A stored mapping."""

    name: str
    mapping: MappingBody


class SuppressionStatus(TypedDict):
    """Whether an address, contact or company must not be contacted, and the entry that says so."""

    suppressed: bool
    reason: SuppressionReason | None
    list: SuppressionList | None
    kind: SuppressionKind | None
    value: str | None
    since: str | None
    until: str | None


class TimelineEvent(TypedDict):
    """One event in a record's history."""

    event: str
    occurred_at: str
    received_at: str
    tool: str
    campaign: str | None
    campaign_id: str | None
    delivery_id: int | None
    key_id: str | None
    request_id: str | None
    changed: list[FieldChangeOut]
    problems: list[ProblemOut]
    message_id: int | None


class TimelinePage(TypedDict):
    """A page of a timeline, newest first; `next_cursor` is null on the last one."""

    data: list[TimelineEvent]
    next_cursor: str | None
    computed_since: NotRequired[str]


class ValueChangeOut(TypedDict):
    """One value of one field, and how long the record had it."""

    field: str
    value: str | None
    previous: str | None
    since: str
    until: str | None
    seconds: float
    set_by: EventSource


class ValueHistoryPage(TypedDict):
    """A page of the values of a record, newest first; `next_cursor` is null on the last one."""

    data: list[ValueChangeOut]
    next_cursor: str | None
    computed_since: NotRequired[str]

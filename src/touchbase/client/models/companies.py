"""Types of companies. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from touchbase.client.models.company_records import CompanyChange, CompanyOfClient, CompanyResponse
from touchbase.client.models.records import (
    BatchOperation, BatchProblem, CustomFieldOut, DuplicateReason, FieldPreview, MatchError, MergedFieldOut,
)
from touchbase.client.models.shared import OnDuplicate


CompanyMatchBy = Literal["domain", "external_id"]
"""The member that identifies a company."""


class ClientCompanyMatch(TypedDict):
    """A client that has the company."""

    client_id: str
    id: int
    company_status: str | None


class CompaniesOfClients(TypedDict):
    """A page of the companies of all clients; it may be shorter than `limit`, and `next_cursor` is null on the last one."""

    data: list[CompanyOfClient]
    next_cursor: str | None


class CompanyBatch(TypedDict):
    """Commands, carried out in their order in one transaction."""

    commands: list[CompanyBatchCommand]
    atomic: NotRequired[bool]


class CompanyBatchCommand(TypedDict):
    """One command of a batch."""

    op: BatchOperation
    body: NotRequired[CompanyChange]
    id: NotRequired[int]
    match: NotRequired[CompanyMatchBy]
    on_duplicate: NotRequired[OnDuplicate]


class CompanyBatchResponse(TypedDict):
    """The results, in the order of the commands."""

    results: list[CompanyBatchResult]
    succeeded: int
    failed: int
    records_left_out: NotRequired[int]


class CompanyBatchResult(TypedDict):
    """The result of one command."""

    status: int
    id: NotRequired[int]
    record: NotRequired[CompanyResponse]
    changed: NotRequired[list[FieldPreview]]
    ignored: NotRequired[list[str]]
    problem: NotRequired[BatchProblem]


class CompanyClientMatches(TypedDict):
    """One entry for each item, in the order of the items."""

    data: list[CompanyClients]


class CompanyClients(TypedDict):
    """The clients that have one item, by their ids; none if the list is empty."""

    clients: list[ClientCompanyMatch]
    error: NotRequired[MatchError]


class CompanyMatch(TypedDict):
    """What is known about one item; `id` is null if there is no such company."""

    id: int | None
    company_status: str | None
    suppressed: str | None
    error: NotRequired[MatchError]


class CompanyMatchItem(TypedDict):
    """A company: its domain, or an address that contains it, or your own id."""

    domain: NotRequired[str | None]
    external_id: NotRequired[str | None]


class CompanyMatchRequest(TypedDict):
    """The companies to look up."""

    items: list[CompanyMatchItem]


class CompanyMatches(TypedDict):
    """One entry for each item, in the order of the items."""

    data: list[CompanyMatch]


class CompanyMerge(TypedDict):
    """A merge of companies: the company as it is now, or would be."""

    company: CompanyResponse
    merge_id: int | None
    merged: list[int]
    undo_until: str | None
    fields: list[MergedFieldOut]


class CompanyPage(TypedDict):
    """A page of companies; `next_cursor` is null on the last one."""

    data: list[CompanyResponse]
    next_cursor: str | None


class CompanyPair(TypedDict):
    """Two companies that may be one, the lower id first."""

    score: float
    reasons: list[DuplicateReason]
    companies: list[CompanyResponse]


class CompanyPairPage(TypedDict):
    """A page of pairs; it may be empty while `next_cursor`, null on the last page, is not."""

    data: list[CompanyPair]
    next_cursor: str | None


class DeletedCompany(TypedDict):
    """A deleted company, as it was."""

    id: int
    updated_time: str
    domain: str
    previous_status: str | None
    status_changed_at: str | None
    company_custom_fields: list[CustomFieldOut] | dict[str, str | int | float | bool | None]
    name: NotRequired[str]
    company_status: NotRequired[str]
    external_id: NotRequired[str]
    deleted_at: str
    gone_at: str


class DeletedCompanyPage(TypedDict):
    """A page of deleted companies; `next_cursor` is null on the last one."""

    data: list[DeletedCompany]
    next_cursor: str | None


class UndoneCompanies(TypedDict):
    """The companies of a merge that was undone, as they are now; the one that they had been merged into comes first."""

    data: list[CompanyResponse]

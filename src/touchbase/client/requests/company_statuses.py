"""Requests of `company_statuses`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Write

if TYPE_CHECKING:
    from touchbase.client.models.shared import JobOut
    from touchbase.client.models.statuses import NewStatus, RecordStatus, RenamePreviewOut, StatusChange, StatusMerge, StatusPage


def define_company_status(body: NewStatus, *, idempotency_key: str | None = None) -> Request[RecordStatus]:
    """Add a status to the declared set of companies."""
    return Request(
        "define_company_status", "POST", "/public/v2/statuses/companies", headers={"Idempotency-Key": idempotency_key}, body=body,
        of_client=True, takes_key=True,
    )


def rename_company_status(name: str, body: StatusChange) -> Write[JobOut, RenamePreviewOut]:
    """Rename a status of companies."""
    return Write(
        "rename_company_status", "PATCH", "/public/v2/statuses/companies/{name}", in_path={"name": name}, body=body, of_client=True,
    )


def remove_company_status(name: str) -> Request[None]:
    """Remove a status from the declared set of companies."""
    return Request("remove_company_status", "DELETE", "/public/v2/statuses/companies/{name}", in_path={"name": name}, of_client=True)


def merge_company_status(name: str, body: StatusMerge, *, idempotency_key: str | None = None) -> Write[JobOut, RenamePreviewOut]:
    """Merge a status of companies into another one."""
    return Write(
        "merge_company_status", "POST", "/public/v2/statuses/companies/{name}/merge", in_path={"name": name},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def list_company_statuses(
    *, limit: int | None = None, cursor: str | None = None, name: str | None = None, in_use: bool | None = None,
) -> Paged[StatusPage, RecordStatus]:
    """List the statuses of companies."""
    return Paged(
        "list_company_statuses", "GET", "/public/v2/statuses/companies", query={"limit": limit, "cursor": cursor, "name": name,
        "in_use": in_use}, of_client=True,
    )

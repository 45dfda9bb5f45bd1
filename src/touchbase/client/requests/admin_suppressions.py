"""Requests of `admin.suppressions`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Write

if TYPE_CHECKING:
    from touchbase.client.models.shared import SuppressionKind, SuppressionOut, SuppressionReason, SuppressionSource
    from touchbase.client.models.suppressions import CheckedItems, NewSuppressions, SavedSuppressions, SuppressionCheck, SuppressionPage


def list_installation_suppressions(
    *, limit: int | None = None, cursor: str | None = None, kind: SuppressionKind | None = None, value: str | None = None,
    reason: SuppressionReason | None = None, source: SuppressionSource | None = None, active: bool | None = None,
) -> Paged[SuppressionPage, SuppressionOut]:
    """List the installation's do-not-contact list."""
    return Paged(
        "list_installation_suppressions", "GET", "/admin/v1/suppressions", query={"limit": limit, "cursor": cursor, "kind": kind,
        "value": value, "reason": reason, "source": source, "active": active},
    )


def list_installation_suppressions_csv(
    *, limit: int | None = None, cursor: str | None = None, kind: SuppressionKind | None = None, value: str | None = None,
    reason: SuppressionReason | None = None, source: SuppressionSource | None = None, active: bool | None = None,
) -> Request[str]:
    """List suppressions as CSV."""
    return Request(
        "list_installation_suppressions", "GET", "/admin/v1/suppressions", query={"limit": limit, "cursor": cursor, "kind": kind,
        "value": value, "reason": reason, "source": source, "active": active, "format": "csv"}, answer="text",
    )


def save_installation_suppressions(
    body: NewSuppressions, *, dry_run: bool | None = None, idempotency_key: str | None = None,
) -> Request[SavedSuppressions]:
    """Put addresses on the installation's do-not-contact list."""
    return Request(
        "save_installation_suppressions", "POST", "/admin/v1/suppressions", query={"dry_run": dry_run},
        headers={"Idempotency-Key": idempotency_key}, body=body, takes_key=True,
    )


def check_installation_suppressions(body: SuppressionCheck, *, idempotency_key: str | None = None) -> Request[CheckedItems]:
    """Look up which of up to 1,000 people or companies must not be contacted."""
    return Request(
        "check_installation_suppressions", "POST", "/admin/v1/suppressions/check", headers={"Idempotency-Key": idempotency_key},
        body=body, takes_key=True,
    )


def get_installation_suppression(id: int) -> Request[SuppressionOut]:
    """Get one entry of the installation's do-not-contact list."""
    return Request("get_installation_suppression", "GET", "/admin/v1/suppressions/{id}", in_path={"id": id})


def remove_installation_suppression(id: int) -> Write[None, SuppressionOut]:
    """Remove one entry from the installation's do-not-contact list."""
    return Write("remove_installation_suppression", "DELETE", "/admin/v1/suppressions/{id}", in_path={"id": id})

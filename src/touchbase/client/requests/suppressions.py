"""Requests of `suppressions`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Write

if TYPE_CHECKING:
    from touchbase.client.models.shared import SuppressionKind, SuppressionOut, SuppressionReason, SuppressionSource
    from touchbase.client.models.suppressions import CheckedItems, NewSuppressions, SavedSuppressions, SuppressionCheck, SuppressionPage


def list_suppressions(
    *, limit: int | None = None, cursor: str | None = None, kind: SuppressionKind | None = None, value: str | None = None,
    reason: SuppressionReason | None = None, source: SuppressionSource | None = None, active: bool | None = None,
) -> Paged[SuppressionPage, SuppressionOut]:
    """List the client's do-not-contact list."""
    return Paged(
        "list_suppressions", "GET", "/public/v2/suppressions", query={"limit": limit, "cursor": cursor, "kind": kind, "value": value,
        "reason": reason, "source": source, "active": active}, of_client=True,
    )


def list_suppressions_csv(
    *, limit: int | None = None, cursor: str | None = None, kind: SuppressionKind | None = None, value: str | None = None,
    reason: SuppressionReason | None = None, source: SuppressionSource | None = None, active: bool | None = None,
) -> Request[str]:
    """List suppressions as CSV."""
    return Request(
        "list_suppressions", "GET", "/public/v2/suppressions", query={"limit": limit, "cursor": cursor, "kind": kind, "value": value,
        "reason": reason, "source": source, "active": active, "format": "csv"}, of_client=True, answer="text",
    )


def save_suppressions(
    body: NewSuppressions, *, dry_run: bool | None = None, idempotency_key: str | None = None,
) -> Request[SavedSuppressions]:
    """Put addresses on the client's do-not-contact list."""
    return Request(
        "save_suppressions", "POST", "/public/v2/suppressions", query={"dry_run": dry_run}, headers={"Idempotency-Key": idempotency_key},
        body=body, of_client=True, takes_key=True,
    )


def check_suppressions(body: SuppressionCheck, *, idempotency_key: str | None = None) -> Request[CheckedItems]:
    """Look up which of up to 1,000 people or companies must not be contacted."""
    return Request(
        "check_suppressions", "POST", "/public/v2/suppressions/check", headers={"Idempotency-Key": idempotency_key}, body=body,
        of_client=True, takes_key=True,
    )


def get_suppression(id: int) -> Request[SuppressionOut]:
    """Get one entry of the client's do-not-contact list."""
    return Request("get_suppression", "GET", "/public/v2/suppressions/{id}", in_path={"id": id}, of_client=True)


def remove_suppression(id: int) -> Write[None, SuppressionOut]:
    """Remove one entry from the client's do-not-contact list."""
    return Write("remove_suppression", "DELETE", "/public/v2/suppressions/{id}", in_path={"id": id}, of_client=True)

"""`touchbase statuses` through the API of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from touchbase.cli.remote import ended

if TYPE_CHECKING:
    from touchbase.client import Touchbase


def statuses_of(tb: Touchbase, many: str) -> Any:
    """Return the operations of a server on the statuses of contacts or companies."""
    return tb.contact_statuses if many == "contacts" else tb.company_statuses


def add_at_server(tb: Touchbase, many: str, name: str, start_set: bool) -> None:
    """Add a status; the server applies the events that asked for it."""
    statuses_of(tb, many).define({"name": name, "start_set": start_set})


def rename_at_server(
    tb: Touchbase, many: str, before: str, after: str, *, merge: bool, dry_run: bool = False, waits: bool = True
) -> dict[str, Any]:
    """Rename or merge a status; return the ended job, or the preview."""
    group = statuses_of(tb, many)
    method, body = (group.merge, {"into": after}) if merge else (group.rename, {"name": after})
    made: dict[str, Any] = method.dry_run(before, body) if dry_run else method(before, body)
    if dry_run or not waits:
        return made
    return ended(tb, made)

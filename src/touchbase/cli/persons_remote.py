"""`touchbase persons erase, export` through the API of a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from touchbase.client import Touchbase


def erase_at_server(tb: Touchbase, email: str | None, linkedin_url: str | None, contact_id: int | None) -> Mapping[str, int]:
    """Erase a person; return the number of removed rows by kind."""
    return tb.contacts.erase(_contact(tb, email, linkedin_url, contact_id))["removed"]


def export_at_server(
    tb: Touchbase, pieces: Callable[[Any, bool], Iterator[str]], email: str | None, linkedin_url: str | None, contact_id: int | None
) -> Iterator[str]:
    """Yield the text of everything that is stored about a person."""
    number, cursor, is_first = _contact(tb, email, linkedin_url, contact_id), None, True
    while is_first or cursor is not None:
        page = tb.contacts.export_person(number, cursor=cursor)
        yield from pieces(page, is_first)
        cursor, is_first = page["next_cursor"], False


def _contact(tb: Touchbase, email: str | None, linkedin_url: str | None, contact_id: int | None) -> int:
    """Return the one contact that the options name."""
    found = set() if contact_id is None else {contact_id}
    for asked in ({"email": email}, {"linkedin_url": linkedin_url}):
        if None not in asked.values():
            more: Any = asked
            found |= {each["id"] for each in tb.contacts.list(**more)["data"]}
    if not found:
        raise click.ClickException(
            "no contact has this address now; with --database, on the server's host, former addresses and erasures are looked up too"
        )
    if len(found) > 1:
        raise click.ClickException(f"these are several contacts: {', '.join(map(str, sorted(found)))}; name one with --id")
    return found.pop()

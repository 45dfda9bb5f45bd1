"""`touchbase persons erase, export` through the API of a server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from touchbase.client import Touchbase


def erase_at_server(tb: Touchbase, email: str | None, linkedin_url: str | None, contact_id: int | None) -> Mapping[str, int]:
    """Erase a person; return the number of removed rows by kind."""
    return tb.contacts.erase(_contact(tb, email, linkedin_url, contact_id))["removed"]


def export_at_server(tb: Touchbase, email: str | None, linkedin_url: str | None, contact_id: int | None) -> Iterator[str]:
    """Yield the text of everything that is stored about a person."""
    number, cursor, text = _contact(tb, email, linkedin_url, contact_id), None, ExportText()
    while True:
        page = tb.contacts.export_person(number, cursor=cursor)
        yield from text.pieces(page)
        cursor = page["next_cursor"]
        if cursor is None:
            yield text.end()
            return


LISTS = ("timeline", "messages", "deliveries")
"""The members of an export that go on over its pages, one after the other."""


class ExportText:
    """The pages of a person's export as one JSON object whose last members are the long lists."""

    def __init__(self) -> None:
        self._list = -1
        self._comma = ""

    def pieces(self, page: Mapping[str, Any]) -> Iterator[str]:
        """Yield the part of the next page."""
        if self._list < 0:
            head = {name: value for name, value in page.items() if name not in (*LISTS, "next_cursor")}
            yield json.dumps(head, indent=2, ensure_ascii=False).rstrip("\n}")
        for position, name in enumerate(LISTS):
            for item in page.get(name, ()):
                yield f"{self._begin(position)}{self._comma}\n{json.dumps(item, ensure_ascii=False)}"
                self._comma = ","

    def end(self) -> str:
        """Return the end of the object."""
        return f"{self._begin(len(LISTS) - 1)}\n]}}\n"

    def _begin(self, position: int) -> str:
        """Return what begins a list and ends the ones before it; nothing within it."""
        text = ""
        while self._list < position:
            text += "" if self._list < 0 else "]"
            self._list, self._comma = self._list + 1, ""
            text += f',\n  "{LISTS[self._list]}": ['
        return text


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

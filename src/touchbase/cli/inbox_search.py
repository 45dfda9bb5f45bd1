"""The search of `touchbase inbox list`: by person, text and event, page after page for some seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.inbox_replay import delivery_filter
from touchbase.cli.options import ID, point_in_time
from touchbase.cli.store import opened
from touchbase.common.timestamps import to_text
from touchbase.errors import Invalid
from touchbase.history.events import RECORD_EVENTS
from touchbase.inbox.delivery import REMOVED_BY_ERASURE, REMOVED_BY_RETENTION, REMOVED_UNSEARCHABLE
from touchbase.inbox.search import LONGEST_TEXT, UNREADABLE

if TYPE_CHECKING:
    from touchbase.inbox.api.delivery_list import DeliveryRow
    from touchbase.inbox.search import DeliverySearch, FoundPage, Place

F = TypeVar("F", bound=Callable[..., Any])

SECONDS = 10.0
"""Seconds for which one command searches."""
PAGE = 200
SOUGHT = ("email", "linkedin_url", "contact_id", "text", "event")
CAUSES = {
    REMOVED_BY_RETENTION: "removed by retention",
    REMOVED_BY_ERASURE: "removed because a person in it was erased",
    REMOVED_UNSEARCHABLE: "removed because an erasure could not search it",
    UNREADABLE: "too large, or compressed in a way that cannot be read",
}


def search_options(function: F) -> F:
    """Add the options that search deliveries, the same as the admin API's."""
    for option in (
        click.option("--cursor", help="Go on with a search that stopped, at the place that it printed."),
        click.option(
            "--event",
            type=click.Choice(RECORD_EVENTS),
            metavar="EVENT",
            help="Only deliveries that made this event, such as email_replied.",
        ),
        click.option("--text", help="Only deliveries with this text in the body, in any case."),
        click.option("--contact-id", type=ID, help="Only deliveries about this contact."),
        click.option("--linkedin", "linkedin_url", help="Only deliveries about the person with this LinkedIn address."),
        click.option("--email", help="Only deliveries about the person with this e-mail address, also a former one."),
    ):
        function = option(function)
    return function


until_option = click.option(
    "--until",
    "--received-until",
    "received_until_us",
    callback=point_in_time,
    metavar="TIME",
    help="Only deliveries received before then, given as for --since.",
)


def split_options(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of a search, and those of a list."""
    sought = {name: options[name] for name in (*SOUGHT, "cursor")}
    return sought, {name: value for name, value in options.items() if name not in sought}


def is_search(sought: dict[str, Any]) -> bool:
    """Return whether a search is asked for. Raises `UsageError` for options that do not go together."""
    named = [name for name in SOUGHT[:3] if sought[name] is not None]
    if len(named) > 1:
        raise click.UsageError("give one of --email, --linkedin and --contact-id: each names a person")
    text = sought["text"]
    if text is not None and not 0 < len(text.strip()) <= LONGEST_TEXT:
        raise click.UsageError(f"--text must have 1 to {LONGEST_TEXT} characters")
    searches = any(sought[name] is not None for name in SOUGHT)
    if sought["cursor"] is not None and not searches:
        raise click.UsageError("--cursor goes on with a search: repeat its --email, --linkedin, --contact-id, --text or --event")
    return searches


@dataclass(slots=True)
class Result:
    """What a search found, and how far it came."""

    rows: list[DeliveryRow]
    cursor: str | None
    back_to: str | None
    unsearchable: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By cause: how many, and the newest of them."""


async def search(database: str | None, sought: dict[str, Any], filters: dict[str, Any], limit: int) -> Result:
    """Search until the limit or the time is reached, or all deliveries were examined."""
    from touchbase.http.query_parameters import cursor_text
    from touchbase.inbox.api.delivery_list import SEARCH_CURSOR, rows_of
    from touchbase.inbox.search import search_deliveries
    from touchbase.sandbox.pool import Sandbox

    async with opened(database) as store, AsyncExitStack() as ending:
        ending.callback((sandbox := Sandbox("search")).close)
        chosen, place = await _chosen(store, sought, filters), _place(sought["cursor"])
        pages: list[FoundPage] = []
        until = time.monotonic() + SECONDS
        left = limit
        while True:
            page = await search_deliveries(store, sandbox, chosen, min(left, PAGE), place)
            pages.append(page)
            left, place = left - len(page.deliveries), page.cursor
            if place is None or not left or time.monotonic() >= until:
                break
        found = sorted((each for page in pages for each in page.deliveries), key=lambda each: -each.id)
        found_in = {number: where for page in pages for number, where in page.found_in.items()}
        rows = [*await rows_of(store, found, found_in)]
    back_to = next((page.back_to_us for page in reversed(pages) if page.back_to_us is not None), None)
    result = Result(rows, place and cursor_text(SEARCH_CURSOR, place), None if back_to is None else to_text(back_to))
    for page in pages:
        for cause, each in page.unsearchable.items():
            count, example = result.unsearchable.get(cause, (0, each.example_id))
            result.unsearchable[cause] = count + each.count, example
    return result


async def _chosen(store: Any, sought: dict[str, Any], filters: dict[str, Any]) -> DeliverySearch:
    from touchbase.inbox.api.delivery_list import address_of, only_client
    from touchbase.inbox.search import DeliverySearch

    try:
        chosen = await delivery_filter(store, filters)
        if chosen.client is None:
            chosen = replace(chosen, client=await only_client(store))
        address = address_of(sought["email"], sought["linkedin_url"])
    except Invalid as error:
        faults = (f"--{fault.pointer.strip('?').removesuffix('_url')} {fault.detail}" for fault in error.faults)
        raise click.UsageError("; ".join(faults)) from error
    return DeliverySearch(chosen, address, sought["contact_id"], sought["text"] and sought["text"].strip(), sought["event"])


def _place(cursor: str | None) -> Place | None:
    from touchbase.http.query_parameters import cursor_value
    from touchbase.inbox.api.delivery_list import PLACE, SEARCH_CURSOR

    if cursor is None:
        return None
    found: Place | None = cursor_value(cursor, SEARCH_CURSOR, PLACE)
    if found is None:
        raise click.UsageError("--cursor is not a cursor of a search of deliveries; begin again without it")
    return found


def report(result: Result) -> None:
    """Print to standard error which bodies could not be searched, and how to go on."""
    for cause, (count, example) in sorted(result.unsearchable.items()):
        many = "1 body" if count == 1 else f"{count} bodies"
        click.echo(f"{many} not searched: {CAUSES[cause]} (such as delivery {example})", err=True)
    if result.cursor is not None:
        reached = "" if result.back_to is None else f"searched back to {result.back_to}; "
        click.echo(f"{reached}there may be more: --cursor {result.cursor}", err=True)

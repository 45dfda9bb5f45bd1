"""The search of `touchbase inbox list`: by person, text and event, page after page for some seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.options import ID, point_in_time
from touchbase.common.timestamps import to_text_or_none
from touchbase.deliveries.delivery import REMOVED_BY_ERASURE, REMOVED_BY_RETENTION, REMOVED_UNSEARCHABLE
from touchbase.history.events import RECORD_EVENTS
from touchbase.inbox.search import LONGEST_TEXT, UNREADABLE

if TYPE_CHECKING:
    from touchbase_client import Touchbase
    from touchbase_client.models import DeliveryRow

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
    """Divide options into search options and list options."""
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
    """The deliveries of a list or a search, and how far it came."""

    rows: list[DeliveryRow] = field(default_factory=list)
    cursor: str | None = None
    back_to: str | None = None
    unsearchable: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By cause: how many, and the newest of them."""


def read_deliveries(tb: Touchbase, limit: int, sought: dict[str, Any], filters: dict[str, Any]) -> Result:
    """Return up to `limit` deliveries; a search ends early when its time is up."""
    ends, result, query = time.monotonic() + SECONDS, Result(), {**filters, **sought}
    for name in ("since", "until"):
        at = query.pop(f"received_{name}_us")
        query[f"received_{name}"] = to_text_or_none(at)
    result.cursor, query["client"], query["problems"] = query.pop("cursor"), query.pop("client_id"), query["problems"] or None
    more = True
    while more:
        page = tb.deliveries.list(limit=min(PAGE, limit - len(result.rows)), cursor=result.cursor, **query)
        result.rows += page["data"]
        result.cursor = page["next_cursor"]
        if (search := page["search"]) is not None:
            result.back_to = search["back_to"] or result.back_to
            for body in search["not_searchable"]:
                count, example = result.unsearchable.get(body["cause"], (0, body["example_id"]))
                result.unsearchable[body["cause"]] = count + body["count"], example
        more = result.cursor is not None and len(result.rows) < limit and (search is None or time.monotonic() < ends)
    return result


def report(result: Result) -> None:
    """Print to standard error which bodies could not be searched, and how to go on."""
    for cause, (count, example) in sorted(result.unsearchable.items()):
        many = "1 body" if count == 1 else f"{count} bodies"
        click.echo(f"{many} not searched: {CAUSES[cause]} (such as delivery {example})", err=True)
    if result.cursor is not None:
        reached = "" if result.back_to is None else f"searched back to {result.back_to}; "
        click.echo(f"{reached}there may be more: --cursor {result.cursor}", err=True)

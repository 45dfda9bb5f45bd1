"""`touchbase messages`: mails and LinkedIn messages of clients' contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option, point_in_time
from touchbase.cli.output import NOTE, SHORT, Column, print_json, print_list
from touchbase.cli.through_api import PAGE, page_of, through_api
from touchbase.common.timestamps import to_text_or_none

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("id", "time", "direction", "contact", "tool", Column("subject", SHORT), Column("text", NOTE))
DIRECTIONS = ("sent", "received")
CHANNELS = ("email", "linkedin")


@click.group(cls=Group)
def messages() -> None:
    """List and show sent and received mails and LinkedIn messages."""


@messages.command("list")
@through_api(client="own")
@click.option("--client", "client_id", help="Only messages of this client.")
@click.option("--email", help="Only messages of the contact with this e-mail address.")
@click.option("--direction", type=click.Choice(DIRECTIONS), help="Only sent, or only received messages.")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only mails, or only LinkedIn messages.")
@click.option("--contact", "contact_id", type=ID, help="Only messages of the contact with this id.")
@click.option("--subject", help="Only messages with exactly this subject.")
@click.option("--campaign", "campaign_id", help="Only messages of this campaign, by the tool's id.")
@click.option("--tool", help="Only messages from this tool.")
@click.option("--mailbox", help="Only messages that this own address or account sent or received.")
@click.option("--interested", type=click.Choice(("true", "false")), help="Only messages that are marked so.")
@click.option("--since", "since_us", callback=point_in_time, metavar="TIME", help="Only messages from this time on.")
@click.option("--until", "until_us", callback=point_in_time, metavar="TIME", help="Only messages before this time.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most messages to list.")
@click.option("--after", type=ID, help="The last id of the previous page.")
@json_option()
def list_(
    tb: Touchbase,
    client_id: str | None,
    email: str | None,
    limit: int,
    after: int | None,
    as_json: bool,
    interested: str | None,
    **filters: Any,
) -> None:
    """List messages, newest first; all filters must hold."""
    filters["interested"] = None if interested is None else interested == "true"
    for name in ("since", "until"):
        at = filters.pop(f"{name}_us")
        filters[name] = to_text_or_none(at)
    listed: Any = tb.team.messages if client_id is None else tb.messages
    page, has_more = page_of(listed.iterate(contact_email=email, limit=min(limit, PAGE), **filters), limit, after)
    columns, row = (
        (COLUMNS, _row) if client_id is not None else (("client", *COLUMNS), lambda message: (message["client_id"], *_row(message)))
    )
    print_list(page, columns, row, as_json=as_json, empty="no message matches")
    if has_more:
        click.echo(f"there are more: --after {page[-1]['id']}", err=True)


@messages.command()
@through_api(client="needed")
@click.argument("message", type=ID)
def get(tb: Touchbase, message: int) -> None:
    """Print one message as JSON."""
    print_json(tb.messages.get(message))


def _row(message: dict[str, Any]) -> tuple[object, ...]:
    text = None if message["text"] is None else " ".join(message["text"].split())
    who = message["contact_email"] or message["contact_id"]
    return message["id"], message["occurred_at"], message["direction"], who, message["tool"], message["subject"], text

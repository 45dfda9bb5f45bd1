"""`touchbase messages`: mails and LinkedIn messages of a client's contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option, point_in_time, setting_options
from touchbase.cli.output import NOTE, SHORT, Column, print_json, print_table
from touchbase.cli.remote import PAGE, fetch, say_more, some, through_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, opened
from touchbase.common.timestamps import to_text

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.messages.models import Message

COLUMNS = ("id", "time", "direction", "contact", "tool", Column("subject", SHORT), Column("text", NOTE))
DIRECTIONS = ("sent", "received")
CHANNELS = ("email", "linkedin")


@click.group(cls=Group)
def messages() -> None:
    """List and show sent and received mails and LinkedIn messages."""


@messages.command("list")
@through_server(client="needed", only_store=("after",))
@setting_options("database")
@click.option("--client", "client_id", help=CLIENT)
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
    database: str | None,
    client_id: str,
    email: str | None,
    limit: int,
    after: int | None,
    as_json: bool,
    interested: str | None,
    **filters: Any,
) -> None:
    """List messages, newest first; all filters must hold."""
    filters["interested"] = None if interested is None else interested == "true"
    found, has_more = fetch(
        lambda tb: _list_at_server(tb, email, limit, filters), lambda: _list(database, client_id, email, after, limit, filters)
    )
    if as_json:
        print_json(found)
    else:
        print_table(COLUMNS, map(_row, found), empty="no message matches")
    if has_more:
        say_more("--after", found[-1]["id"])


@messages.command()
@through_server(client="needed")
@setting_options("database")
@click.option("--client", "client_id", help=CLIENT)
@click.argument("message", type=ID)
def get(database: str | None, client_id: str, message: int) -> None:
    """Print one message as JSON."""
    print_json(fetch(lambda tb: tb.messages.get(message), lambda: _get(database, client_id, message)))


def _row(one: dict[str, Any]) -> tuple[object, ...]:
    text = None if one["text"] is None else " ".join(one["text"].split())
    who = one["contact_email"] or one["contact_id"]
    return one["id"], one["occurred_at"], one["direction"], who, one["tool"], one["subject"], text


def _list_at_server(tb: Touchbase, email: str | None, limit: int, filters: dict[str, Any]) -> tuple[list[Any], bool]:
    times = {name: filters.pop(f"{name}_us") for name in ("since", "until")}
    asked: Any = {name: None if at is None else to_text(at) for name, at in times.items()}
    return some(tb.messages.iterate(contact_email=email, limit=min(limit, PAGE), **asked, **filters), limit)


def _values(one: Message) -> dict[str, Any]:
    from msgspec import to_builtins

    from touchbase.messages.api.schemas import message_out

    values: dict[str, Any] = to_builtins(message_out(one))
    return values


async def _list(
    database: str | None, client_id: str, email: str | None, after: int | None, limit: int, filters: dict[str, Any]
) -> tuple[list[dict[str, Any]], bool]:
    from touchbase.common.normalize import find_email_key
    from touchbase.messages.commands import ListMessages
    from touchbase.messages.sql.plans import get_messages

    key = email and find_email_key(email)
    if email is not None and key is None:
        raise click.ClickException(f"--email {email} is no e-mail address")
    async with opened(database) as store:
        client, place = await find_client(store, client_id), None
        if after is not None:
            last = (await store.read(get_messages(client.number, [after]))).get(after)
            if last is None:
                raise click.ClickException(f"there is no message {after} any more: begin again without --after")
            place = (last.occurred_us, last.place)
        found = await store.read(ListMessages(client.number, limit + 1, place, contact_key=key, **filters))
    return [_values(each) for each in found[:limit]], len(found) > limit


async def _get(database: str | None, client_id: str, number: int) -> dict[str, Any]:
    from touchbase.messages.sql.plans import get_messages

    async with opened(database) as store:
        client = await find_client(store, client_id)
        found = (await store.read(get_messages(client.number, [number]))).get(number)
    if found is None:
        raise click.ClickException(f"client {client_id} has no message with id {number}: it was deleted, or its contact was")
    return _values(found)

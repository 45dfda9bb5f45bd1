"""`touchbase conversations`: replies of contacts, as a team works through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option
from touchbase.cli.output import NOTE, SHORT, Column, print_json, print_list
from touchbase.cli.through_api import through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("client", "contact", "id", "state", "since", "label", Column("subject", SHORT), Column("text", NOTE))
STATES = ("open", "snoozed", "automatic", "done")


@click.group(cls=Group)
def conversations() -> None:
    """List and change conversations: open, snoozed, automatic or done replies."""


@conversations.command("list")
@through_api()
@click.option("--state", type=click.Choice(STATES), default="open", show_default=True, help="Only conversations in this state.")
@click.option("--sort", type=click.Choice(("newest", "waiting")), default="newest", show_default=True, help="The order.")
@click.option("--label", help="Only conversations with this label.")
@click.option("--tool", help="Only conversations with a reply from this tool.")
@click.option("--assignee", help="Only conversations of this user, by id; `nobody`: of no user.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most conversations to list.")
@json_option()
def list_(tb: Touchbase, limit: int, as_json: bool, **filters: Any) -> None:
    """List conversations of all clients."""
    page = []
    for conversation in tb.conversations.iterate(limit=min(limit, 100), **filters):
        page.append(conversation)
        if len(page) == limit:
            break
    print_list(page, COLUMNS, _row, as_json=as_json, empty="no conversation matches")


def _row(conversation: dict[str, Any]) -> tuple[object, ...]:
    contact, newest = conversation["contact"], conversation["newest"] or {}
    name = contact["email"] or " ".join(filter(None, (contact["first_name"], contact["last_name"])))
    since = conversation["open_since"] or newest.get("occurred_at")
    words = (conversation["label"], newest.get("subject"), newest.get("text"))
    return conversation["client_id"], name, contact["id"], conversation["state"], since, *words


@conversations.command()
@through_api()
@click.argument("client_id")
@click.argument("contact_id", type=ID)
@click.option("--state", type=click.Choice(("open", "done")), help="done: all its replies are handled.")
@click.option("--label", help="Another label than the tool's.")
@click.option("--assignee", "assignee_id", help="The id of the user who works on it (`users list --json` has it).")
@click.option("--kind", type=click.Choice(("human", "automatic")), help="What wrote its replies that are not handled.")
@click.option("--snooze-until", "snoozed_until", metavar="TIME", help="Such as 2026-11-23T08:00:00Z.")
def change(tb: Touchbase, client_id: str, contact_id: int, **values: Any) -> None:
    """Change the conversation with a contact of a client."""
    body: Any = {name: value for name, value in values.items() if value is not None}
    print_json(tb.conversations.change(client_id, contact_id, body))

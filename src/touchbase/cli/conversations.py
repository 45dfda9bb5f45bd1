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
STATES = ("open", "snoozed", "automatic", "done", "any")


@click.group(cls=Group)
def conversations() -> None:
    """List, change and answer conversations: open, snoozed, automatic or done replies."""


@conversations.command("list")
@through_api()
@click.option("--state", type=click.Choice(STATES), default="open", show_default=True, help="Only conversations in this state.")
@click.option("--sort", type=click.Choice(("newest", "waiting")), default="newest", show_default=True, help="The order.")
@click.option("--client", "client_id", help="Only conversations of this client.")
@click.option("--label", help="Only conversations with this label.")
@click.option("--tool", help="Only conversations with a reply from this tool.")
@click.option("--assignee", help="Only conversations of this user, by id; `nobody`: of no user.")
@click.option("--contact-status", help="Only conversations with a contact in this status.")
@click.option("--search", "q", help="Only conversations with these words in a name, an address, a subject or a text.")
@click.option("--waiting-hours", type=click.IntRange(1, 8_760), help="Only conversations with a reply that waits for more hours.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most conversations to list.")
@json_option()
def list_(tb: Touchbase, limit: int, as_json: bool, **filters: Any) -> None:
    """List conversations of all clients, or of one."""
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


@conversations.command()
@through_api()
@click.argument("client_id")
@click.argument("contact_id", type=ID)
@click.argument("text")
@click.option("--message", "message_id", type=ID, help="The message to answer; without it the newest that can be.")
@click.option("--close", is_flag=True, help="Handle the replies that came before the answer, once it is sent.")
@click.option("--confirm-blocked", is_flag=True, help="Send it although the contact must not be contacted.")
@click.option("--dry-run", is_flag=True, help="Only check the answer: nothing is queued.")
def answer(tb: Touchbase, client_id: str, contact_id: int, text: str, message_id: int | None, dry_run: bool, **flags: bool) -> None:
    """Answer a reply of a contact through the tool; for ten seconds `take-back` can take it back."""
    if message_id is None:
        capability = tb.conversations.get(client_id, contact_id)["reply_capability"]
        if capability["how"] != "api":
            link = f" {capability['url']}" if capability["url"] else ""
            raise click.ClickException(f"{capability['reason']}. {capability['advice']}{link}")
        message_id = capability["message_id"]
    body: Any = {"message_id": message_id, "text": text, **flags}
    print_json(tb.conversations.answer(client_id, contact_id, body, dry_run=dry_run or None))


@conversations.command("take-back")
@through_api()
@click.argument("client_id")
@click.argument("contact_id", type=ID)
@click.argument("answer_id", type=ID)
def take_back(tb: Touchbase, client_id: str, contact_id: int, answer_id: int) -> None:
    """Take back an answer that is not sent yet, or forget one that failed or is unknown."""
    tb.conversations.take_back_answer(client_id, contact_id, answer_id)
    click.echo(f"answer {answer_id} is removed")

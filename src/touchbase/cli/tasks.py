"""`touchbase tasks`: what people have to do about contacts and companies."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option
from touchbase.cli.output import NOTE, SPARE, Column, print_json, print_list
from touchbase.cli.through_api import through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("client", "name", "id", "due", Column("assignee", SPARE), "done", Column("text", NOTE))


@click.group(cls=Group)
def tasks() -> None:
    """List, add and finish tasks about contacts and companies."""


@tasks.command("list")
@through_api()
@click.option("--state", type=click.Choice(("open", "done", "any")), default="open", show_default=True, help="Only tasks in this state.")
@click.option("--client", "client_id", help="Only tasks of this client.")
@click.option("--assignee", "assignee_id", help="Only tasks of this user, by id; `none`: of no user.")
@click.option("--due-before", metavar="TIME", help="Only tasks that are due before a time such as 2026-11-23T08:00:00Z.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most tasks to list.")
@json_option()
def list_(tb: Touchbase, limit: int, as_json: bool, **filters: Any) -> None:
    """List tasks of all clients, or of one, the first due first."""
    page = [*islice(tb.tasks.iterate(limit=min(limit, 100), **filters), limit)]
    print_list(page, COLUMNS, _row, as_json=as_json, empty="no task matches")


def _row(task: dict[str, Any]) -> tuple[object, ...]:
    return tuple(task[name] for name in ("client_id", "name", "id", "due_at", "assignee_id", "done_at", "text"))


@tasks.command()
@through_api()
@click.argument("client_id")
@click.argument("contact_id", type=ID)
@click.argument("text")
@click.option("--due", "due_at", metavar="TIME", required=True, help="When it is due, such as 2026-11-23T08:00:00Z.")
@click.option("--assignee", "assignee_id", help="The id of the user who has to do it (`users list --json` has it).")
def add(tb: Touchbase, client_id: str, contact_id: int, **values: Any) -> None:
    """Write a task about a contact of a client."""
    body: Any = values
    print_json(tb.tasks.create_of_contact(client_id, contact_id, body))


@tasks.command()
@through_api()
@click.argument("client_id")
@click.argument("contact_id", type=ID)
@click.argument("task_id", type=ID)
@click.option("--reopen", is_flag=True, help="Open it again.")
def done(tb: Touchbase, client_id: str, contact_id: int, task_id: int, reopen: bool) -> None:
    """Mark a task about a contact as done."""
    print_json(tb.tasks.update_of_contact(client_id, contact_id, task_id, {"done": not reopen}))

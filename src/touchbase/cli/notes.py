"""`touchbase notes`: what a team writes down about contacts and companies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option
from touchbase.cli.output import NOTE, Column, print_json, print_list
from touchbase.cli.through_api import PAGE, page_of, through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("id", "time", Column("author", NOTE), Column("text", NOTE))
CLIENT = click.option("--client", "client_id", required=True, help="The client's id.")
CONTACT = click.option("--contact", "contact_id", type=ID, help="The contact's id.")
COMPANY = click.option("--company", "company_id", type=ID, help="The company's id, in place of --contact.")


@click.group(cls=Group)
def notes() -> None:
    """List and add notes on contacts and companies."""


@notes.command("list")
@through_api(client="own")
@CLIENT
@CONTACT
@COMPANY
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most notes to list.")
@click.option("--after", type=ID, help="The last id of the previous page.")
@json_option()
def list_(
    tb: Touchbase, client_id: str, contact_id: int | None, company_id: int | None, limit: int, after: int | None, as_json: bool
) -> None:
    """List the notes on a contact or company, newest first."""
    iterate, record_id = _of(contact_id, company_id, tb.notes.iterate_of_contact, tb.notes.iterate_of_company)
    page, has_more = page_of(iterate(client_id, record_id, limit=min(limit, PAGE)), limit, after)
    print_list(page, COLUMNS, _row, as_json=as_json, empty="there are no notes")
    if has_more:
        click.echo(f"there are more: --after {page[-1]['id']}", err=True)


@notes.command()
@through_api(client="own")
@CLIENT
@CONTACT
@COMPANY
@click.argument("text")
@json_option()
def add(tb: Touchbase, client_id: str, contact_id: int | None, company_id: int | None, text: str, as_json: bool) -> None:
    """Add a note with this TEXT to a contact or company."""
    create, record_id = _of(contact_id, company_id, tb.notes.create_of_contact, tb.notes.create_of_company)
    note = create(client_id, record_id, {"text": text})
    print_json(note) if as_json else click.echo(f"note {note['id']} is added")


def _of(
    contact_id: int | None, company_id: int | None, of_contact: Callable[..., Any], of_company: Callable[..., Any]
) -> tuple[Callable[..., Any], int]:
    """Return the call for the kind of record that is named, and the record's id."""
    if contact_id is not None and company_id is None:
        return of_contact, contact_id
    if company_id is not None and contact_id is None:
        return of_company, company_id
    raise click.UsageError("give either --contact or --company")


def _row(note: dict[str, Any]) -> tuple[object, ...]:
    return note["id"], note["created_at"], note["author"]["name"], " ".join(note["text"].split())

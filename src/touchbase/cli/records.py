"""`touchbase contacts, companies`: records of a client that match filters or words; with the commands of their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from touchbase.cli.options import Group, json_option, setting_options
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_table
from touchbase.cli.records_bin import add_bin, add_duplicates, add_merge
from touchbase.cli.records_files import add_export, add_import
from touchbase.cli.records_remote import add_single, find_at_server, pairs_of
from touchbase.cli.remote import Work, or_at_server
from touchbase.cli.server_options import CLIENT
from touchbase.cli.store import find_client, now_us, opened, run
from touchbase.errors import Invalid

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.records.api.resource_type import ResourceType

F = TypeVar("F", bound=Callable[..., Any])

PAGE = 200
CONTACT_COLUMNS = {
    "id": "id",
    "email": Column("email", SHORT),
    "first_name": Column("first name", SHORT),
    "last_name": Column("last name", SHORT),
    "contact_status": Column("status", SHORT),
    "last_campaign_email_sent": Column("last mailed", SPARE),
    "last_reply_received": Column("last replied", SPARE),
    "company_id": Column("company", SPARE),
}
COMPANY_COLUMNS = {
    "id": "id",
    "domain": Column("domain", SHORT),
    "name": Column("name", SHORT),
    "company_status": Column("status", SHORT),
    "updated_time": Column("updated", SPARE),
}


def search_options(function: F) -> F:
    """Add the options of a search."""
    for option in (
        json_option("Print JSON, all members included."),
        click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most records to list."),
        click.option("--sort", help="Fields to sort by, as in the API: -last_reply_received,email."),
        click.option(
            "--filter", "filters", multiple=True, metavar="NAME[OPERATOR]=VALUE",
            help="A filter as in the API, such as 'contact_status[in]=new,won'; more than one: all must hold.",
        ),
        click.option("--client", "client_id", help=CLIENT),
    ):  # fmt: skip
        function = option(function)
    return setting_options("database")(function)


def _at_server(kind: str, columns: dict[str, Any]) -> Callable[[Work], Work]:
    """Let a list or a search work through the API of a server."""

    def remote(tb: Touchbase, *, as_json: bool, limit: int, words: tuple[str, ...] = (), **options: Any) -> None:
        found, has_more = find_at_server(tb, kind, " ".join(words) or None, limit=limit, **options)
        _show(columns, found, has_more, limit, as_json=as_json)

    return or_at_server(remote, needs_client=True)


@click.group(cls=Group)
def contacts() -> None:
    """List, search, get, create, update, import, export, delete, restore and merge the contacts of a client."""


@click.group(cls=Group)
def companies() -> None:
    """List, search, get, create, update, import, export, delete, restore and merge the companies of a client."""


@contacts.command("list")
@_at_server("contact", CONTACT_COLUMNS)
@search_options
def list_contacts(**options: Any) -> None:
    """List contacts that match all filters, in the order of the API."""
    _print("contact", CONTACT_COLUMNS, None, **options)


@contacts.command("search")
@_at_server("contact", CONTACT_COLUMNS)
@click.argument("words", nargs=-1, required=True)
@search_options
def search_contacts(words: tuple[str, ...], **options: Any) -> None:
    """Find contacts by words that begin words of names, e-mail address, or custom fields."""
    _print("contact", CONTACT_COLUMNS, " ".join(words), **options)


@companies.command("list")
@_at_server("company", COMPANY_COLUMNS)
@search_options
def list_companies(**options: Any) -> None:
    """List companies that match all filters, in the order of the API."""
    _print("company", COMPANY_COLUMNS, None, **options)


@companies.command("search")
@_at_server("company", COMPANY_COLUMNS)
@click.argument("words", nargs=-1, required=True)
@search_options
def search_companies(words: tuple[str, ...], **options: Any) -> None:
    """Find companies by words that begin words of name, domain, or custom fields."""
    _print("company", COMPANY_COLUMNS, " ".join(words), **options)


add_import(contacts, "contact")
add_export(contacts, "contact")
add_import(companies, "company")
add_export(companies, "company")
for _add in (add_bin, add_merge, add_duplicates, add_single):
    _add(contacts, "contact")
    _add(companies, "company")


def _print(kind: str, columns: dict[str, Any], q: str | None, *, as_json: bool, limit: int, **options: Any) -> None:
    from touchbase.records.api.resource_type import COMPANIES, CONTACTS

    try:
        found, has_more = run(_find(CONTACTS if kind == "contact" else COMPANIES, q, limit=limit, **options))
    except Invalid as error:
        raise click.UsageError("; ".join(f"{_option(fault.pointer)}: {fault.detail}" for fault in error.faults)) from error
    _show(columns, found, has_more, limit, as_json=as_json)


def _show(columns: dict[str, Any], found: Sequence[Mapping[str, Any]], has_more: bool, limit: int, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        print_table([*columns.values()], [[one.get(name) for name in columns] for one in found], empty="no record matches")
    if has_more:
        click.echo(f"there are more than {limit}: raise --limit, or add a --filter", err=True)


def _option(pointer: str) -> str:
    name = pointer.removeprefix("?")
    return {"sort": "--sort", "q": "WORDS"}.get(name, f"--filter {name}")


async def _find(
    kind: ResourceType[Any, Any, Any], q: str | None, *, database: str | None, client_id: str, filters: tuple[str, ...], sort: str | None,
    limit: int,
) -> tuple[list[dict[str, Any]], bool]:  # fmt: skip
    """Return up to `limit` records as the API shows them, and whether there are more."""
    import msgspec

    from touchbase.search.service import SearchRequest, prepare, search_records

    parameters = pairs_of(filters)
    found: list[dict[str, Any]] = []
    async with opened(database) as store:
        client = await find_client(store, client_id)
        now, cursor = now_us(), None
        while True:
            request = SearchRequest(parameters, q=q, sort=sort, cursor=cursor, limit=min(PAGE, limit - len(found)))
            page, cursor = await search_records(store, prepare(kind.type, client, request, now).query)
            found += [msgspec.to_builtins(kind.out(record, False, client.settings)) for record in page.records]
            if cursor is None or len(found) == limit:
                return found, cursor is not None

"""`touchbase suppressions`: the do-not-contact lists of clients and of the installation."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from touchbase.cli.options import ID, Group, json_option, setting_options
from touchbase.cli.output import NOTE, SHORT, SPARE, Column, output_file, print_json, print_table
from touchbase.cli.remote import PAGE, fetch, say_more, some, through_server
from touchbase.cli.store import explain_not_found, find_client, now_us, opened
from touchbase.cli.suppressions_remote import export_at_server, import_at_server, list_of, plain_lines, remove_at_server, save_at_server
from touchbase.common.timestamps import Micros, from_text

if TYPE_CHECKING:
    from touchbase.do_not_contact.models import Entry, NewEntry
    from touchbase.events.work import ProcessingStore
    from touchbase.sql.store import Store

KINDS = ("email", "domain", "linkedin_url")
REASONS = ("complained", "unsubscribed", "requested", "legal", "competitor", "customer", "other", "hard_bounced")
SOURCES = ("event", "import", "api", "person")
SHOWN_ERRORS = 20
COLUMNS = ("id", "kind", "value", "reason", "source", Column("since", SPARE), "until", Column("tool", SHORT), Column("note", NOTE))
Values = dict[str, Any]


def list_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a list."""
    for option in (
        click.option("--installation", is_flag=True, help="The list of the installation, which applies to all clients."),
        click.option("--client", "client_id", help="The client's id."),
    ):
        function = option(function)
    return function


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that filter entries."""
    for option in (
        click.option("--active/--over", "active", default=None, help="Only entries that suppress now, or that are over."),
        click.option("--source", type=click.Choice(SOURCES), help="Only entries from this source."),
        click.option("--reason", type=click.Choice(REASONS), help="Only entries with this reason."),
        click.option("--kind", type=click.Choice(KINDS), help="Only addresses of this kind."),
    ):
        function = option(function)
    return function


@click.group(cls=Group)
def suppressions() -> None:
    """List, add, remove, import and export addresses that must not be contacted."""


@suppressions.command("list")
@through_server(client="given", only_store=("after",))
@setting_options("database")
@list_options
@filter_options
@click.option("--value", help="Only the entry of this address.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most entries to list.")
@click.option("--after", type=ID, help="The last id of the previous page.")
@json_option()
def list_(
    database: str | None, client_id: str | None, installation: bool, kind: str | None, reason: str | None, source: str | None,
    active: bool | None, value: str | None, limit: int, after: int | None, as_json: bool,
) -> None:  # fmt: skip
    """List entries, newest last."""
    filters = {"reason": reason, "source": source, "active": active}
    page, more = fetch(
        lambda tb: some(list_of(tb, installation).iterate(kind=kind, value=value, limit=min(limit, PAGE), **filters), limit),
        lambda: _list(database, client_id, installation, filters, kind, value, limit, after),
    )
    if as_json:
        print_json(page)
        return
    rows = ([*(each[name] for name in ("id", "kind", "value", "reason", "source", "since", "until", "tool", "note"))] for each in page)
    print_table(COLUMNS, rows, empty="no entry matches: `touchbase suppressions add` makes one")
    if more:
        say_more("--after", page[-1]["id"])


@suppressions.command()
@through_server(client="given")
@setting_options("database")
@list_options
@click.argument("addresses", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(KINDS), help="The kind of the addresses; without it, it is recognised.")
@click.option("--reason", default="requested", show_default=True, type=click.Choice(REASONS), help="Why they must not be contacted.")
@click.option("--note", default="", help="A note for people.")
@click.option("--until", metavar="TIME", help="Until then; without it, for good.")
@json_option()
def add(
    database: str | None, client_id: str | None, installation: bool, addresses: tuple[str, ...], kind: str | None, reason: str, note: str,
    until: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Put e-mail addresses, domains or LinkedIn addresses on a list; one that is listed gets the new values."""
    entries = _given(addresses, kind, reason, note, until)
    saved = fetch(lambda tb: save_at_server(list_of(tb, installation), entries), lambda: _save(database, client_id, installation, entries))
    if as_json:
        print_json(saved)
        return
    for each in saved:
        click.echo(f"{each['outcome']}: {each['value'] or 'an erased address'} ({each['reason']})")


@suppressions.command()
@through_server(client="given")
@setting_options("database")
@list_options
@click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS|ID...")
@json_option("Print JSON: the removed entries.")
def remove(database: str | None, client_id: str | None, installation: bool, addresses: tuple[str, ...], as_json: bool) -> None:
    """Remove entries by address or id. A replay of an old event does not bring them back, a later event does."""
    removed = fetch(
        lambda tb: remove_at_server(list_of(tb, installation), [(each, *_asked(each)) for each in addresses]),
        lambda: _remove(database, client_id, installation, addresses),
    )
    if as_json:
        print_json(removed)
        return
    for each in removed:
        click.echo(f"removed: {each['value'] or 'an erased address'} ({each['reason']})")


@suppressions.command("import")
@through_server(client="given")
@setting_options("database")
@list_options
@click.argument("file", type=click.Path(path_type=str))
@click.option("--reason", default="requested", show_default=True, type=click.Choice(REASONS), help="The reason of rows without one.")
@click.option("--note", default="", help="The note of rows without one.")
@json_option()
def import_(database: str | None, client_id: str | None, installation: bool, file: str, reason: str, note: str, as_json: bool) -> None:
    """Import a CSV file: an exported one, or one with a column email, domain, linkedin_url or value. `-` reads standard input.

    Bad rows are named and left out; then the exit status is 1. The same file twice changes nothing.
    """
    try:
        with click.open_file(file, encoding="utf-8-sig") as lines:
            counts, bad = fetch(
                lambda tb: import_at_server(list_of(tb, installation), lines, reason, note),
                lambda: _import(database, client_id, installation, lines, reason, note),
            )
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not UTF-8 (byte {error.start}): save it as CSV in UTF-8, and import it again") from None
    made = {name: counts[name] for name in ("created", "updated", "unchanged")} | {"invalid": len(bad)}
    if as_json:
        print_json({**made, "errors": [{"line": line, "detail": detail} for line, detail in bad]})
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in made.items()))
        for line, detail in bad[:SHOWN_ERRORS]:
            click.echo(f"line {line}: {detail}", err=True)
        if len(bad) > SHOWN_ERRORS:
            click.echo(f"and {len(bad) - SHOWN_ERRORS} more; --json prints all", err=True)
    if bad:
        raise SystemExit(1)


@suppressions.command()
@through_server(client="given")
@setting_options("database")
@list_options
@filter_options
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
@json_option("Print JSON in place of CSV.")
def export(
    database: str | None, client_id: str | None, installation: bool, kind: str | None, reason: str | None, source: str | None,
    active: bool | None, out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Write the active entries of a list as CSV, for other tools and for `import`; --over writes those of the past."""
    filters = {"kind": kind, "reason": reason, "source": source, "active": True if active is None else active}
    fetch(
        lambda tb: export_at_server(list_of(tb, installation), filters, out, as_json),
        lambda: _export(database, client_id, installation, filters, out, as_json),
    )


async def _number(store: ProcessingStore, client_id: str | None, installation: bool) -> int:
    """Return the number of the list's client."""
    from touchbase.do_not_contact.models import INSTALLATION

    if installation == (client_id is not None):
        raise click.UsageError("name the list: --client CLIENT_ID, or --installation")
    return INSTALLATION if client_id is None else (await find_client(store, client_id)).number


async def _list(
    database: str | None, client_id: str | None, installation: bool, filters: Values, kind: str | None, value: str | None, limit: int,
    after: int | None,
) -> tuple[list[Values], bool]:  # fmt: skip
    from touchbase.do_not_contact.commands import ListEntries
    from touchbase.do_not_contact.sql.lookup import get_entry

    address = (kind, None) if value is None else _address(value, kind)
    async with opened(database) as store:
        number, place = await _number(store, client_id, installation), None
        if after is not None:
            last = await store.read(get_entry(number, after))
            if last is None:
                raise click.ClickException(f"--after {after} is on the list no more: begin again without it")
            place = (last.created_us, last.id)
        page = await store.read(ListEntries(number, limit + 1, now_us(), place, *address, **filters))
    return [_values(each) for each in page[:limit]], len(page) > limit


async def _save(database: str | None, client_id: str | None, installation: bool, entries: list[NewEntry]) -> list[Values]:
    from touchbase.do_not_contact.commands import SaveEntries

    async with opened(database) as store:
        saved = await store.write(SaveEntries(await _number(store, client_id, installation), entries, now_us()))
        return [_values(each.entry) | {"outcome": each.outcome} for each in saved]


async def _remove(database: str | None, client_id: str | None, installation: bool, addresses: Sequence[str]) -> list[Values]:
    from touchbase.do_not_contact.commands import RemoveEntry

    removed: list[Values] = []
    async with opened(database) as store:
        number = await _number(store, client_id, installation)
        for each in addresses:
            entry = await _find(store, number, each)
            with explain_not_found("`touchbase suppressions list` shows all"):
                await store.write(RemoveEntry(number, entry.id, now_us()))
            removed.append(_values(entry))
    return removed


async def _find(store: Store, number: int, text: str) -> Entry:
    """Return the entry with this id or address."""
    from touchbase.do_not_contact.commands import ListEntries
    from touchbase.do_not_contact.sql.lookup import get_entry

    if text.isascii() and text.isdigit():
        found = await store.read(get_entry(number, int(text)))
    else:
        page = await store.read(ListEntries(number, 1, now_us(), None, *_address(text, None)))
        found = page[0] if page else None
    if found is None:
        raise click.ClickException(f"{text} is not on this list: `touchbase suppressions list` shows all")
    return found


def _asked(text: str) -> tuple[str, str]:
    """Return the kind and the normal form of an address; those of an id are empty."""
    return ("", "") if text.isascii() and text.isdigit() else _address(text, None)


async def _import(
    database: str | None, client_id: str | None, installation: bool, file: IO[str], reason: str, note: str
) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Store the rows of a file; return the number of rows by outcome, and the bad rows."""
    from touchbase.do_not_contact.commands import SaveEntries
    from touchbase.do_not_contact.list_reader import BadRow, read_rows
    from touchbase.do_not_contact.models import MAX_ENTRIES, NewEntry

    counts, bad = Counter[str](), list[tuple[int, str]]()
    async with opened(database) as store:
        number = await _number(store, client_id, installation)
        rows = read_rows(file, NewEntry("", "", reason, "import", note.strip()), now_us())
        while batch := list(islice(rows, MAX_ENTRIES)):
            bad += [(each.line, each.detail) for each in batch if isinstance(each, BadRow)]
            entries = [each for each in batch if isinstance(each, NewEntry)]
            saved = await store.write(SaveEntries(number, entries, now_us())) if entries else []
            counts.update(each.outcome for each in saved)
    return counts, bad


async def _export(
    database: str | None, client_id: str | None, installation: bool, filters: Values, out: Path | None, as_json: bool
) -> None:
    from touchbase.do_not_contact.commands import ListEntries
    from touchbase.do_not_contact.csv_files import COLUMNS as HEADER
    from touchbase.do_not_contact.csv_files import to_csv, write_rows
    from touchbase.do_not_contact.service import entry_pages

    async with opened(database) as store:
        number = await _number(store, client_id, installation)
        with output_file(out) as file:
            file.write("[" if as_json else plain_lines(to_csv([HEADER])))
            between = "\n"
            pages: AsyncIterator[list[Entry]] = entry_pages(store, ListEntries(number, 1, now_us(), **filters))
            async for page in pages:
                file.write(between + _json_items(page) if as_json else plain_lines(to_csv(write_rows(page))))
                between = ",\n"
            if as_json:
                file.write("\n]\n")


def _json_items(entries: Iterable[Entry]) -> str:
    import json

    return ",\n".join(json.dumps(_values(each), ensure_ascii=False) for each in entries)


def _given(addresses: Sequence[str], kind: str | None, reason: str, note: str, until: str | None) -> list[NewEntry]:
    from touchbase.do_not_contact.models import MAX_ENTRIES, NOTE_LENGTH, NewEntry

    if len(addresses) > MAX_ENTRIES or len(note) > NOTE_LENGTH:
        raise click.UsageError(f"at most {MAX_ENTRIES} addresses, and {NOTE_LENGTH} characters of --note; a file can be imported")
    end = None if until is None else _future(until)
    return [NewEntry(*_address(each, kind), reason, "person", note.strip(), None, end) for each in addresses]


def _future(text: str) -> Micros:
    try:
        at = from_text(text.upper())
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is no time such as 2027-12-31T00:00:00Z", param_hint="'--until'") from None
    if at <= now_us():
        raise click.BadParameter(f"{text} is over", param_hint="'--until'")
    return at


def _address(text: str, kind: str | None) -> tuple[str, str]:
    """Return the kind and the normal form of an address; fail if it is none."""
    from touchbase.common.field_limits import InvalidText
    from touchbase.do_not_contact.addresses import kind_of, normal_form

    kind = kind or kind_of(text)
    try:
        return kind, normal_form(kind, text)
    except InvalidText as refused:
        raise click.UsageError(f"{text!r} {refused.detail}") from None


def _values(entry: Entry) -> Values:
    """Return an entry with the member names of the API."""
    import msgspec

    from touchbase.do_not_contact.api.schemas import entry_out

    values: Values = msgspec.to_builtins(entry_out(entry, now_us()))
    return values

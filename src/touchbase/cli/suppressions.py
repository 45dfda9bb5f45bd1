"""`touchbase suppressions`: the do-not-contact lists of clients and of the installation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import click

from touchbase.cli.options import ID, Group, json_option
from touchbase.cli.output import NOTE, SHORT, SPARE, Column, output_file, print_json, print_list
from touchbase.cli.store import now_us
from touchbase.cli.through_api import PAGE, here, page_of, through_api
from touchbase.common.timestamps import Micros, from_text, to_text_or_none

if TYPE_CHECKING:
    from touchbase.do_not_contact.models import NewEntry
    from touchbase_client import Touchbase

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
@through_api(client="own")
@list_options
@filter_options
@click.option("--value", help="Only the entry of this address.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most entries to list.")
@click.option("--after", type=ID, help="The last id of the previous page.")
@json_option()
def list_(
    tb: Touchbase, client_id: str | None, installation: bool, kind: str | None, reason: str | None, source: str | None,
    active: bool | None, value: str | None, limit: int, after: int | None, as_json: bool,
) -> None:  # fmt: skip
    """List entries, newest last; without --client and --installation, of all clients."""
    filters = {"reason": reason, "source": source, "active": active}
    entries = _entries(tb, client_id, installation, kind=kind, value=value, limit=min(limit + 1, PAGE), **filters)
    page, more = page_of(entries, limit, after)
    names = (*(() if installation else ("client_id",)), "id", "kind", "value", "reason", "source", "since", "until", "tool", "note")
    more_text = f"there are more: --after {page[-1]['id']}" if more else ""
    columns = COLUMNS if installation else ("client", *COLUMNS)
    empty = "no entry matches: `touchbase suppressions add` makes one"
    print_list(page, columns, names, as_json=as_json, empty=empty, more=more_text)


@suppressions.command()
@through_api(client="own")
@list_options
@click.argument("addresses", nargs=-1, required=True)
@click.option("--kind", type=click.Choice(KINDS), help="The kind of the addresses; without it, it is recognised.")
@click.option("--reason", default="requested", show_default=True, type=click.Choice(REASONS), help="Why they must not be contacted.")
@click.option("--note", default="", help="A note for people.")
@click.option("--until", metavar="TIME", help="Until then; without it, permanently.")
@json_option()
def add(
    tb: Touchbase, client_id: str | None, installation: bool, addresses: tuple[str, ...], kind: str | None, reason: str, note: str,
    until: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Put e-mail addresses, domains or LinkedIn addresses on a list; one that is listed gets the new values.

    A text with linkedin.com/ is a LinkedIn address, one with @ an e-mail address, another one a domain.

    \b
    touchbase suppressions add --client acme jane.doe@example.com example.org --reason competitor
    """
    entries = _new_entries(addresses, kind, reason, note, until)
    results = _save(_list_of(tb, client_id, installation), entries)
    saved = [result for result in results if not isinstance(result, str)]
    if as_json:
        print_json(saved)
    else:
        for entry in saved:
            click.echo(f"{entry['outcome']}: {entry['value'] or 'an erased address'} ({entry['reason']})")
    wrong = [f"{entry.value}: {result}" for entry, result in zip(entries, results, strict=True) if isinstance(result, str)]
    if wrong:
        raise click.ClickException("; ".join(wrong))


@suppressions.command()
@through_api(client="own")
@list_options
@click.argument("addresses", nargs=-1, required=True, metavar="ADDRESS|ID...")
@json_option("Print JSON: the removed entries.")
def remove(tb: Touchbase, client_id: str | None, installation: bool, addresses: tuple[str, ...], as_json: bool) -> None:
    """Remove entries by address or id. A replay of an old event does not bring them back, a later event does."""
    removed = _remove(_list_of(tb, client_id, installation), [(address, *_key_of(address)) for address in addresses])
    if as_json:
        print_json(removed)
        return
    for entry in removed:
        click.echo(f"removed: {entry['value'] or 'an erased address'} ({entry['reason']})")


@suppressions.command("import")
@through_api(client="own")
@list_options
@click.argument("file", type=click.Path(path_type=str))
@click.option("--reason", default="requested", show_default=True, type=click.Choice(REASONS), help="The reason of rows without one.")
@click.option("--note", default="", help="The note of rows without one.")
@json_option()
def import_(tb: Touchbase, client_id: str | None, installation: bool, file: str, reason: str, note: str, as_json: bool) -> None:
    """Import a CSV file: an exported one, or one with a column email, domain, linkedin_url or value. `-` reads standard input.

    It is UTF-8, separated by comma, semicolon, tab or |. Bad rows are named and left out; then the exit status is 1. The same file
    twice changes nothing.
    """
    try:
        with click.open_file(file, encoding="utf-8-sig") as lines:
            counts, bad = _import(_list_of(tb, client_id, installation), lines, reason, note)
    except OSError as error:
        raise click.ClickException(f"cannot read {file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not UTF-8 (byte {error.start}): save it as CSV in UTF-8, and import it again") from None
    result = {name: counts[name] for name in ("created", "updated", "unchanged")} | {"invalid": len(bad)}
    if as_json:
        print_json({**result, "errors": [{"line": line, "detail": detail} for line, detail in bad]})
    else:
        click.echo(", ".join(f"{count} {name}" for name, count in result.items()))
        for line, detail in bad[:SHOWN_ERRORS]:
            click.echo(f"line {line}: {detail}", err=True)
        if len(bad) > SHOWN_ERRORS:
            click.echo(f"and {len(bad) - SHOWN_ERRORS} more; --json prints all", err=True)
    if bad:
        raise SystemExit(1)


@suppressions.command()
@through_api(client="own")
@list_options
@filter_options
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
@json_option("Print JSON in place of CSV.")
def export(
    tb: Touchbase, client_id: str | None, installation: bool, kind: str | None, reason: str | None, source: str | None,
    active: bool | None, out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Write the active entries as CSV, for other tools and for `import`; --over writes expired ones.

    Without --client and --installation the file has the entries of all clients, with a column for the client.
    """
    filters = {"kind": kind, "reason": reason, "source": source, "active": True if active is None else active}
    entries = _entries(tb, client_id, installation, limit=PAGE, **filters)
    _export(entries, ("client_id",) if client_id is None and not installation else (), out, as_json)


def _entries(tb: Touchbase, client_id: str | None, installation: bool, **filters: Any) -> Iterator[Any]:
    """Return the entries of the client's list or the installation's, or with neither option those of all clients."""
    if installation:
        return cast("Iterator[Any]", _list_of(tb, client_id, installation).iterate(**filters))
    return tb.team.suppressions.iterate(client=client_id, **filters)


def _list_of(tb: Touchbase, client_id: str | None, installation: bool) -> Any:
    """Return the operations on the list of the client or of the installation."""
    if installation == (client_id is not None) and (installation or here() is not None):  # a key may be of one client
        raise click.UsageError("name the list: --client CLIENT_ID, or --installation")
    return tb.admin.suppressions if installation else tb.suppressions


def _key_of(text: str) -> tuple[str, str]:
    """Return the kind and the normal form of an address; both are empty for an id."""
    return ("", "") if text.isascii() and text.isdigit() else _address(text, None)


def _new_entries(addresses: Sequence[str], kind: str | None, reason: str, note: str, until: str | None) -> list[NewEntry]:
    from touchbase.do_not_contact.models import MAX_ENTRIES, NOTE_LENGTH, NewEntry

    if len(addresses) > MAX_ENTRIES or len(note) > NOTE_LENGTH:
        raise click.UsageError(f"at most {MAX_ENTRIES} addresses, and {NOTE_LENGTH} characters of --note; a file can be imported")
    end = None if until is None else _future(until)
    return [NewEntry(*_address(address, kind), reason, "person", note.strip(), None, end) for address in addresses]


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


def _save(group: Any, entries: list[NewEntry]) -> list[Values | str]:
    """Store entries; return each as it is now, with its outcome, or why it was refused."""
    bodies = [
        {
            "kind": entry.kind, "value": entry.value, "reason": entry.reason, "source": entry.source, "note": entry.note,
            "since": to_text_or_none(entry.since_us),
            "until": to_text_or_none(entry.until_us),
        }
        for entry in entries
    ]  # fmt: skip
    saved = group.save({"entries": bodies})["data"] if bodies else []
    return [
        "; ".join(fault["detail"] for fault in item["errors"]) if item["errors"] else {**item["entry"], "outcome": item["outcome"]}
        for item in saved
    ]


def _import(group: Any, file: IO[str], reason: str, note: str) -> tuple[Counter[str], list[tuple[int, str]]]:
    """Store the rows of a file; return the number of rows by outcome, and the bad rows."""
    from touchbase.do_not_contact.list_reader import read_rows
    from touchbase.do_not_contact.models import MAX_ENTRIES, NewEntry

    counts, bad = Counter[str](), list[tuple[int, str]]()
    rows = read_rows(file, NewEntry("", "", reason, "import", note.strip()), now_us())
    while batch := list(islice(rows, MAX_ENTRIES)):
        results = iter(_save(group, [row for _, row in batch if not isinstance(row, str)]))
        for line, row in batch:
            result = row if isinstance(row, str) else next(results)
            if isinstance(result, str):
                bad.append((line, result))
            else:
                counts[result["outcome"]] += 1
    return counts, bad


def _remove(group: Any, addresses: list[tuple[str, str, str]]) -> list[Values]:
    """Remove entries by their ids, or by kind and address; return them as they were."""
    removed: list[Values] = []
    for text, kind, value in addresses:
        entries = group.list(kind=kind, value=value, limit=1)["data"] if kind else [group.get(int(text))]
        if not entries:
            raise click.ClickException(f"{text} is not on this list: `touchbase suppressions list` shows all")
        group.remove(entries[0]["id"])
        removed.append(entries[0])
    return removed


def _export(entries: Iterator[Any], more: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Write entries as CSV or JSON; `more`: further columns of the CSV."""
    from touchbase.common.formulas import harmless
    from touchbase.do_not_contact.csv_files import COLUMNS as HEADER
    from touchbase.do_not_contact.csv_files import to_csv

    with output_file(out) as file:
        file.write("[" if as_json else _plain_lines(to_csv([(*more, *HEADER)])))
        between = "\n"
        for entry in entries:
            if as_json:
                file.write(between + json.dumps(entry, ensure_ascii=False))
                between = ",\n"
            elif entry["value"] is not None:
                row = {**entry, "note": harmless(entry["note"])}
                file.write(_plain_lines(to_csv([[row[name] or "" for name in (*more, *HEADER)]])))
        if as_json:
            file.write("\n]\n")


def _plain_lines(text: str) -> str:
    """Return CSV with the line ends of text files, which the platform's file adds."""
    return text.replace("\r\n", "\n")

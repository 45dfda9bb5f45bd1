"""`touchbase import revyops`: contacts, companies and e-mails from RevyOps, through its API."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import touchbase
from touchbase.cli.failures import STOPPED
from touchbase.cli.options import Group, json_option, read_settings, setting_options
from touchbase.cli.output import SHORT, SPARE, Column, escape_controls, print_json, print_table
from touchbase.cli.store import find_client, now_us, opened, read_text, run_fast, without_password

if TYPE_CHECKING:
    from touchbase.events.work import ProcessingStore
    from touchbase.revyops_import.list_reader import ListReader
    from touchbase.revyops_import.models import Entry
    from touchbase.revyops_import.results import Result

KEY = "TOUCHBASE_REVYOPS_KEY"
SHOWN = 20
"""Differences and notices that the terminal shows; the files have all."""
_COUNTS = (
    "read", "created", "updated", "unchanged", "duplicates", "refused", "erased", "deleted", "suppressed", "late", "missing",
    "different", "here",
)  # fmt: skip
_ALWAYS = ("read", "created", "updated", "unchanged", "here")
"""Counts that are shown also if all are 0."""
_OF_IMPORT = ("page_size", "mode", "compare", "workspace", "only_mapped", "emails", "types")
"""Options that another run must have, too, to continue an import."""
_DIRECTIONS = {"sent": "sent", "reply": "received"}
Options = Mapping[str, Any]


@click.group("import", cls=Group)
def import_() -> None:
    """Import records from another product."""


@import_.command()
@setting_options("database")
@click.option("--base-url", required=True, help="The address before /public, such as https://app.example.com.")
@click.option("--master-key", "key", help=f"The key. Other users of the machine may see it in the list of processes; {KEY} hides it.")
@click.option(
    "--master-key-file", "key_file", type=click.Path(path_type=Path, allow_dash=True), help="Read the key from this file (- for stdin)."
)
@click.option("--workspace", metavar="CLIENT", help="The key is of one workspace: import its records into this client.")
@click.option(
    "--client", "pairs", multiple=True, metavar="THEIR=OURS", help="The client for the records of one of theirs; blank: leave them out."
)
@click.option("--only-mapped", is_flag=True, help="Leave out the records of clients without a --client.")
@click.option(
    "--mode",
    type=click.Choice(("upsert", "create")),
    default="upsert",
    show_default=True,
    help="create: existing records stay as they are.",
)
@click.option(
    "--compare", type=click.Choice(("all", "sample", "none")), default="all", show_default=True,
    help="Read the lists again, or 20 pages of each, and compare them with the store.",
)  # fmt: skip
@click.option(
    "--emails", type=click.Choice(("with", "only", "without")), default="with", show_default=True,
    help="With --workspace: import e-mails after the records, or only them.",
)  # fmt: skip
@click.option(
    "--email-type", "types", multiple=True, metavar="WORD=DIRECTION", help="Direction of e-mails with this email_type: sent or reply."
)
@click.option("--page-size", type=click.IntRange(1, 100), default=100, show_default=True, help="Records of one request.")
@click.option(
    "--work-folder", "folder", type=click.Path(path_type=Path, file_okay=False), default="revyops-import", show_default=True,
    metavar="FOLDER",
    help="Where the journal, the refused records and the differences are written.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Count what the import would do, and write no record.")
@json_option("Print JSON: the counts of each client, notices and files.")
def revyops(database: str | None, key: str | None, key_file: Path | None, as_json: bool, **options: Any) -> None:
    """Import the contacts and companies of all clients from RevyOps, or these and the e-mails of one workspace, and compare them.

    An import that was stopped or killed continues when the command is run again; the same import twice changes nothing.
    Ends with status 1 if a record was refused, is missing or differs.
    """
    given = _pairs(options)
    options["types"] = _types(options)
    result = run_fast(_import(database, _key(key, key_file), given, options))
    if as_json:
        print_json(result)
    else:
        _print(result)
        if not result.emails_read and options["emails"] != "without":
            click.echo("e-mails were not read: import each workspace with its own key, --workspace CLIENT and --emails only", err=True)
    if not result.is_complete:
        sys.exit(1)


def _key(key: str | None, file: Path | None) -> str:
    """Return the key, from one place."""
    if key is not None and file is not None:
        raise click.UsageError("give one of --master-key and --master-key-file")
    given = key if key is not None else read_text(file) if file is not None else os.environ.get(KEY, "")
    if not given.strip():
        raise click.UsageError(f"the key is missing: set {KEY}, or give --master-key-file FILE")
    if not given.strip().isascii() or len(given.split()) > 1:
        raise click.UsageError("the key is not one word of ASCII characters: is it the whole key, and nothing else?")
    return given.strip()


def _pairs(options: Options) -> dict[str, str]:
    """Return their ids of clients with ours."""
    if options["workspace"] is not None:
        if options["pairs"] or options["only_mapped"]:
            raise click.UsageError("--workspace names the client of all records; leave out --client and --only-mapped")
        return {options["workspace"]: options["workspace"]}
    if options["emails"] == "only":
        raise click.UsageError("--emails only needs --workspace CLIENT, and the key of that workspace: a master key reads no e-mails")
    pairs: dict[str, str] = {}
    for pair in options["pairs"]:
        theirs, mark, ours = pair.rpartition("=")
        if not mark or not theirs.strip():
            raise click.UsageError(f"--client {pair!r} must be THEIR=OURS; for a key of one workspace it is --workspace CLIENT")
        if theirs.strip() in pairs:
            raise click.UsageError(f"--client names {theirs.strip()!r} twice")
        pairs[theirs.strip()] = ours.strip()
    return pairs


def _types(options: Options) -> dict[str, str]:
    """Return the directions of e-mails by their `email_type`."""
    from touchbase.revyops_import.their_emails import plain_type

    types: dict[str, str] = {}
    for pair in options["types"]:
        word, mark, direction = pair.rpartition("=")
        if not mark or direction not in _DIRECTIONS:
            raise click.UsageError(f"--email-type {pair!r} must be WORD=sent or WORD=reply, such as 'OUT_MAIL=sent'")
        types[plain_type(word)] = _DIRECTIONS[direction]
    return types


async def _import(database: str | None, key: str, given: Mapping[str, str], options: Options) -> Result:
    from touchbase.enrichment.http_client import HttpClient
    from touchbase.revyops_import.journal import Head, Journal
    from touchbase.revyops_import.list_reader import ListReader, check_base_url

    await check_base_url(options["base_url"])
    base_url, dry_run = options["base_url"].rstrip("/"), options["dry_run"]
    chosen = {name: options[name] for name in _OF_IMPORT} | {"clients": dict(given)}
    address = without_password(read_settings(database=database).database)
    async with opened(database) as store:
        http = HttpClient(f"touchbase/{touchbase.__version__}", [base_url])
        journal = Journal(options["folder"], Head(base_url, address, chosen), dry_run=dry_run)
        try:
            if journal.continues:
                click.echo(f"continuing the import in {options['folder']}", err=True)
            reader = ListReader(
                http, base_url, key, now_us, all_clients=options["workspace"] is None, page_size=options["page_size"], on_wait=_show_wait
            )
            result = await _read(store, reader, journal, given, options)
            journal.end(Head(base_url, address, chosen))
            return result
        except (asyncio.CancelledError, KeyboardInterrupt):
            click.echo("\nstopped; the same command continues from the last page", err=True)
            sys.exit(STOPPED)
        finally:
            journal.close()
            await http.close()


async def _read(store: ProcessingStore, reader: ListReader, journal: Any, given: Mapping[str, str], options: Options) -> Result:
    from touchbase.revyops_import.client_map import ClientMap
    from touchbase.revyops_import.importer import ImportOptions, RevyOpsImport
    from touchbase.revyops_import.results import result_of

    workspace, dry_run = options["workspace"], options["dry_run"]
    clients = ClientMap(store, now_us, given, options["only_mapped"] or workspace is not None, dry_run)
    if workspace is not None:
        await find_client(store, workspace, lasting=True)
    await clients.check()
    wanted = ImportOptions(options["mode"], options["compare"], dry_run, workspace, options["emails"], options["types"])
    progress = await RevyOpsImport(store, now_us, reader, clients, journal, wanted, _show_page).run()
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    return await result_of(store, clients, progress, journal, reader.base_url, dry_run=dry_run)


def _show_page(entry: Entry) -> None:
    if sys.stderr.isatty():
        of = f" of {entry.pages}" if entry.pages else ""
        click.echo(f"\r\x1b[K{entry.stage} {entry.name}: page {entry.page}{of}", err=True, nl=False)


def _show_wait(why: str) -> None:
    start = "\r\x1b[K" if sys.stderr.isatty() else ""
    click.echo(f"{start}{why}", err=True)


def _print(result: Result) -> None:
    """Print the counts of each client, then what a person must know."""
    counts = [name for name in _COUNTS if name in _ALWAYS or any(getattr(one, name) for one in result.clients)]
    rows = [[one.their_client, one.list, *(getattr(one, name) for name in counts), one.client_id] for one in result.clients]
    print_table([Column("theirs", SHORT), "list", *counts, Column("client", SPARE)], rows, empty="the lists are empty")
    for theirs, ours in result.created_clients.items():
        click.echo(f"client {ours or '(new)'} {'would be' if result.dry_run else 'is'} added for {escape_controls(theirs)}", err=True)
    for theirs in result.unused_clients:
        click.echo(f"no record is of client {theirs!r}: is --client spelt as in their lists?", err=True)
    if result.left_out:
        click.echo(f"{result.left_out} records of other clients were left out", err=True)
    for name, records in result.unread.items():
        click.echo(f"{name}: their list counts {records} records more than its pages had; import again while no one writes there", err=True)
    for name in result.cut:
        click.echo(f"{name}: their server gives no more pages, and the list may have more than was read", err=True)
    notices = sorted(result.notices.items(), key=lambda each: -each[1])
    for notice, times in notices[:SHOWN]:
        click.echo(f"{times} x {notice}", err=True)
    for file in result.files:
        click.echo(f"see {file}", err=True)

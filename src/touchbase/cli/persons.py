"""`touchbase persons erase, export`: the data of one person."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.failures import STOPPED
from touchbase.cli.options import ALWAYS_JSON, OF_CLIENT, Group, json_option, person_options, read_identities
from touchbase.cli.output import json_text, output_file, print_json, print_list
from touchbase.cli.reapply_erasures import reapply_erasures
from touchbase.cli.server_options import ON_THE_HOST
from touchbase.cli.store import find_client
from touchbase.cli.through_api import PAGE, here, page_of, through_api

if TYPE_CHECKING:
    from touchbase.deliveries.work import ProcessingStore
    from touchbase.erasure.models import Erasure, Person
    from touchbase.erasure.service import Eraser
    from touchbase.history.identity_links import Ref
    from touchbase.routing.router import CellRouter
    from touchbase_client import Touchbase

WORDS = {
    "contacts": "contacts",
    "custom_fields": "custom fields",
    "events": "events of the timeline",
    "links": "former addresses and tool objects",
    "deliveries": "bodies of deliveries",
    "wanted_records": "records still to be fetched",
    "company_claims": "companies still to be known",
    "kept_answers": "responses stored for idempotency keys",
}


@click.group(cls=Group)
def persons() -> None:
    """Erase a person, export a person's data, and reapply erasures in a restored store."""


persons.add_command(reapply_erasures)


@persons.command()
@through_api(client="own")
@person_options
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--lift", is_flag=True, help="Undo the ban instead: the person may be stored again. Removed data stays removed.")
@json_option("Print JSON; nothing is asked, so give --yes or --dry-run.")
def erase(
    tb: Touchbase,
    client_id: str,
    email: str | None,
    linkedin_url: str | None,
    contact_id: int | None,
    dry_run: bool,
    yes: bool,
    lift: bool,
    as_json: bool,
) -> None:
    """Erase a person: contact, custom fields, timeline, links, and the body of every delivery about the person.

    The person is named by --email (also a former one), --linkedin or --id. It asks first, unless --yes is given, and cannot be
    undone. Keyed hashes of the addresses stay, so that a late webhook does not create the person again; --lift removes them. Ctrl+C
    stops the search of the inbox; a running server, or `touchbase worker`, continues it.

    \b
    touchbase persons erase --client acme --email ann@example.com --dry-run
    """
    refs, application = read_identities(email, linkedin_url, contact_id), here()
    if lift:
        if dry_run or contact_id is not None:
            raise click.UsageError("--lift takes --email or --linkedin, and no --dry-run")
        if application is None:
            raise click.UsageError(f"--lift does not work through a server: {ON_THE_HOST}")
        _print_lifted(application.on_store(lambda store: _lift(store, client_id, refs)), as_json)
        return
    if as_json and not (yes or dry_run):
        raise click.UsageError("--json asks nothing: give --yes or --dry-run")
    if application is None:
        if dry_run:
            raise click.UsageError("--dry-run goes with a store; with --url `persons export` shows what is stored")
        if not yes:
            _confirm()
        _print_counts("removed", tb.contacts.erase(_contact(tb, email, linkedin_url, contact_id))["removed"], as_json)
        return
    progress = _SearchProgress()
    try:
        if dry_run or not yes:
            _print_counts("would remove", application.on_store(lambda store: _count(store, client_id, contact_id, refs)), as_json)
        if not dry_run:
            if not yes:
                _confirm()
            removed = application.on_store(lambda store: _erase(store, client_id, contact_id, refs, progress))
            _print_counts("removed", removed, as_json)
            if progress.outstanding:
                click.echo(progress.outstanding, err=True)
    except KeyboardInterrupt:
        click.echo(f"\n{progress.stopped}", err=True)
        sys.exit(STOPPED)


@persons.command("requests")
@through_api(client="own")
@OF_CLIENT
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most requests to list.")
@json_option("Print JSON, with all fields of the contacts.")
def list_requests(tb: Touchbase, client_id: str | None, limit: int, as_json: bool) -> None:
    """List people whom a CRM asked to erase and nobody has decided about; without --client, of all clients.

    Each waits in the bin. `touchbase persons erase --id ID` confirms the request; `POST /public/v2/contacts/ID/restore` declines it.

    \b
    touchbase persons requests --client acme
    """
    contacts = tb.team.contacts.iterate_deleted(client=client_id, erasure_requested=True, limit=min(limit, PAGE))
    page, _ = page_of(contacts, limit)
    print_list(page, ("client", "id", "person", "asked"), _request_row, as_json=as_json, empty="no CRM's request to erase a person waits")


def _request_row(contact: Any) -> tuple[object, ...]:
    return (contact["client_id"], contact["id"], contact["email"] or contact["linkedin_url"] or "", contact["erasure_requested_at"])


@persons.command("erasures")
@through_api(client="own")
@OF_CLIENT
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most erasures to list.")
@json_option("Print JSON, with what was removed.")
def list_erasures(tb: Touchbase, client_id: str | None, limit: int, as_json: bool) -> None:
    """List erasures of people, newest first, and how far each is; without --client, of all clients.

    It names nobody: nothing of an erased person is stored.
    """
    page, has_more = page_of(tb.team.erasures.iterate(client=client_id, limit=min(limit, PAGE)), limit)
    names = ("client_id", "id", "asked_time", "searched_time", "done_time")
    columns = ("client", "id", "asked", "searched", "done")
    more = "there are more: raise --limit" if has_more else ""
    print_list(page, columns, names, as_json=as_json, empty="nobody was erased", more=more)


@persons.command("export")
@through_api(client="own")
@person_options
@json_option(ALWAYS_JSON)
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
def export(
    tb: Touchbase, client_id: str, email: str | None, linkedin_url: str | None, contact_id: int | None, as_json: bool, out: Path | None
) -> None:
    """Write all stored data of one person as JSON: fields, timeline, identities, sources, and deliveries about the person.

    A delivery about other people too is listed without its content. Only its owner can read the file of --out.
    """
    refs, application = read_identities(email, linkedin_url, contact_id), here()
    if application is None:
        number = _contact(tb, email, linkedin_url, contact_id)
    else:
        number = application.on_store(lambda store: _find_contact(store, client_id, refs, contact_id))
    with output_file(out) as file:
        text, cursor, more = ExportText(), None, True
        while more:
            page = tb.contacts.export_person(number, cursor=cursor)
            file.writelines(text.pieces(page))
            cursor = page["next_cursor"]
            more = cursor is not None
        file.write(text.end())


def _confirm() -> None:
    try:
        sure = click.confirm("Erase this person permanently?")
    except click.Abort:  # standard input is at its end
        click.echo()
        sure = False
    if not sure:
        raise click.ClickException("nothing was erased: answer y, or give --yes")


@dataclass
class _SearchProgress:
    """How far an erasure is, as the message that is printed if it is stopped now."""

    stopped: str = "stopped; nothing was erased"
    outstanding: str = ""
    """Work that is left after the command."""


async def _count(store: CellRouter, client_id: str, contact_id: int | None, refs: list[Ref]) -> dict[str, int]:
    from touchbase.erasure.sql.persons import find_person

    client = (await find_client(store, client_id)).number
    _refuse_several(await store.read(find_person(client, contact_id, refs)))
    counts = await _eraser(store).would_erase(client, contact_id, refs)
    if contact_id is not None and not counts.get("contacts"):
        raise click.ClickException(_no_contact(contact_id))
    return counts


async def _erase(
    store: CellRouter, client_id: str, contact_id: int | None, refs: list[Ref], progress: _SearchProgress
) -> Mapping[str, int]:
    from touchbase.erasure.sql.persons import find_person

    client = await find_client(store, client_id)
    eraser = _eraser(store)
    _refuse_several(await store.read(find_person(client.number, contact_id, refs)))
    progress.stopped = "stopped during the erasure; the same command with --dry-run says whether the person is still stored"
    erasure = await eraser.erase(client.number, contact_id, refs)
    progress.stopped = "erased; the search of the inbox stopped: a running server, or `touchbase worker`, continues it"
    await eraser.apply_pending(client.number)
    erasure = await eraser.search(erasure, on_page=_print_progress)
    progress.outstanding = _outstanding(erasure)
    return erasure.removed


async def _lift(store: CellRouter, client_id: str, refs: list[Ref]) -> int:
    from touchbase.erasure.sql.erasures import lift_erasure

    client = (await find_client(store, client_id)).number
    return await store.write(lift_erasure(client, refs))


def _eraser(store: ProcessingStore) -> Eraser:
    from touchbase.common.timestamps import clock
    from touchbase.connections.service import Connections
    from touchbase.erasure.service import Eraser
    from touchbase.inbox.translator_pool import TranslatorPool

    return Eraser(store, TranslatorPool(), clock, Connections(store, clock).of)


def _refuse_several(person: Person) -> None:
    """Fail if the options name more than one contact."""
    if len(person.contacts) > 1:
        raise click.ClickException(f"these are several contacts: {', '.join(map(str, person.contacts))}; name one with --id")


def _no_contact(contact_id: int) -> str:
    return f"this client has no contact with id {contact_id}: give --email, or search with GET /public/v2/contacts"


def _outstanding(erasure: Erasure) -> str:
    if erasure.searched_us is None:
        return f"the search waits for {erasure.waits_for}: a running server, or `touchbase worker`, continues it"
    if erasure.done_us is None and erasure.waits_for:
        return f"the erasure waits for {erasure.waits_for}: a running server, or `touchbase worker`, goes on within an hour"
    if erasure.done_us is None:
        return (
            "the store's files may still have the person's bytes: a running server cleans a file of up to 64 MiB within seconds; "
            "for a larger one run `touchbase vacuum` with the server stopped"
        )
    return ""


def _print_progress(erasure: Erasure) -> None:
    if sys.stderr.isatty():
        done = erasure.searched_us is not None
        click.echo(f"\rsearching the inbox: {max(0, erasure.swept_to)} of {erasure.sweep_until}", err=True, nl=done)


def _print_lifted(forgotten: int, as_json: bool) -> None:
    if as_json:
        print_json({"forgotten": forgotten})
        return
    if forgotten:
        click.echo(f"{forgotten} keyed hashes removed: the person may be stored again")
    else:
        click.echo("no person with this address was erased")


def _print_counts(what: str, removed: Mapping[str, int], as_json: bool) -> None:
    if as_json:
        print_json({what.replace(" ", "_"): removed})
        return
    counts = [f"{count} {WORDS.get(name, name)}" for name, count in removed.items() if count]
    click.echo(f"{what}: {', '.join(counts) or 'nothing; no such person is stored'}")


async def _find_contact(store: CellRouter, client_id: str, refs: list[Ref], contact_id: int | None) -> int:
    """Return the contact that the options name, also by a former address, which the API does not look up."""
    from touchbase.erasure.sql.persons import find_person

    client = await find_client(store, client_id)
    person = await store.read(find_person(client.number, contact_id, refs))
    if not person.contacts:
        none = "no such person is stored: try another address of the person, or --id"
        raise click.ClickException(none if contact_id is None else _no_contact(contact_id))
    _refuse_several(person)
    return person.contacts[0]


LISTS = ("timeline", "messages", "deliveries")
"""The members of an export that go on over its pages, one after the other."""


class ExportText:
    """The pages of a person's export as one JSON object whose last members are the long lists."""

    def __init__(self) -> None:
        self._list = -1
        self._comma = ""

    def pieces(self, page: Mapping[str, Any]) -> Iterator[str]:
        """Yield the part of the next page."""
        if self._list < 0:
            head = {name: value for name, value in page.items() if name not in (*LISTS, "next_cursor")}
            yield json_text(head, indent=2).rstrip("\n}")
        for position, name in enumerate(LISTS):
            for item in page.get(name, ()):
                yield f"{self._begin(position)}{self._comma}\n{json_text(item)}"
                self._comma = ","

    def end(self) -> str:
        """Return the end of the object."""
        return f"{self._begin(len(LISTS) - 1)}\n]}}\n"

    def _begin(self, position: int) -> str:
        """Return the heading of a new list, after the end of the list before; blank within a list."""
        text = ""
        while self._list < position:
            text += "" if self._list < 0 else "]"
            self._list, self._comma = self._list + 1, ""
            text += f',\n  "{LISTS[self._list]}": ['
        return text


def _contact(tb: Touchbase, email: str | None, linkedin_url: str | None, contact_id: int | None) -> int:
    """Return the one contact that the options name."""
    numbers = set() if contact_id is None else {contact_id}
    for filters in ({"email": email}, {"linkedin_url": linkedin_url}):
        if None not in filters.values():
            more: Any = filters
            numbers |= {contact["id"] for contact in tb.contacts.list(**more)["data"]}
    if not numbers:
        raise click.ClickException(
            "no contact has this address now; with --database, on the server's host, former addresses and erasures are looked up too"
        )
    if len(numbers) > 1:
        raise click.ClickException(f"these are several contacts: {', '.join(map(str, sorted(numbers)))}; name one with --id")
    return numbers.pop()

"""`touchbase persons erase`: a person removed from everywhere, and what was removed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import find_client, json_option, opened, print_json, run, setting_options
from touchbase.cli.person import named, no_contact, person_options, refuse_several

if TYPE_CHECKING:
    from touchbase.erasure.commands import Erasure, FindPerson
    from touchbase.erasure.service import Eraser
    from touchbase.events.work import ProcessingStore
    from touchbase.history.identity_links import Ref

WORDS = {
    "contacts": "contacts",
    "custom_fields": "custom fields",
    "events": "events of the timeline",
    "links": "former addresses and tool objects",
    "deliveries": "bodies of deliveries",
    "queued_fetches": "records still to be fetched",
    "pending_company_links": "companies still to be known",
    "idempotency_keys": "responses stored for idempotency keys",
}


@click.command()
@setting_options("database")
@person_options
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--lift", is_flag=True, help="Undo the ban instead: the person may be kept again. What was removed stays removed.")
@json_option("Print JSON; nothing is asked, so give --yes or --dry-run.")
def erase(
    database: str | None,
    client_id: str,
    email: str | None,
    linkedin_url: str | None,
    contact_id: int | None,
    dry_run: bool,
    yes: bool,
    lift: bool,
    as_json: bool,
) -> None:
    """Erase a person: contact, custom fields, timeline, links, and every kept call that tells of them.

    It cannot be undone. Keyed hashes of their addresses stay, so that a late call does not bring them back.
    Ctrl+C stops the search of the inbox; a running server, or `touchbase worker`, goes on with it.
    """
    refs = named(email, linkedin_url, contact_id)
    if lift:
        if dry_run or contact_id is not None:
            raise click.UsageError("--lift takes --email or --linkedin, and no --dry-run")
        _tell_lifted(run(_lift(database, client_id, refs)), as_json)
        return
    if as_json and not (yes or dry_run):
        raise click.UsageError("--json asks nothing: give --yes or --dry-run")
    progress = _Progress()
    try:
        if dry_run or not yes:
            _tell("would remove", run(_count(database, client_id, contact_id, refs)), as_json)
        if not dry_run:
            if not yes:
                _ask()
            _tell("removed", run(_erase(database, client_id, contact_id, refs, progress)), as_json)
    except KeyboardInterrupt:
        click.echo(f"\n{progress.stopped}", err=True)
        sys.exit(130)


def _ask() -> None:
    try:
        sure = click.confirm("Erase this person for good?")
    except click.Abort:  # nobody is there to answer
        click.echo()
        sure = False
    if not sure:
        raise click.ClickException("nothing was erased: answer y, or give --yes")


@dataclass
class _Progress:
    """What is true if we are stopped now."""

    stopped: str = "stopped; nothing was erased"


async def _count(database: str | None, client_id: str, contact_id: int | None, refs: list[Ref]) -> dict[str, int]:
    async with opened(database) as store:
        client = (await find_client(store, client_id)).number
        refuse_several(await store.read(_person(client, contact_id, refs)))
        found = await _eraser(store).would_erase(client, contact_id, refs)
    if contact_id is not None and not found.get("contacts"):
        raise click.ClickException(no_contact(contact_id))
    return found


async def _erase(database: str | None, client_id: str, contact_id: int | None, refs: list[Ref], progress: _Progress) -> Mapping[str, int]:
    async with opened(database) as store:
        client = await find_client(store, client_id)
        eraser = _eraser(store)
        refuse_several(await store.read(_person(client.number, contact_id, refs)))
        progress.stopped = "stopped while the person was being erased; the same command with --dry-run says whether they are there"
        erasure = await eraser.erase(client.number, contact_id, refs)
        progress.stopped = "erased; the search of the inbox stopped: a running server, or `touchbase worker`, goes on with it"
        await eraser.apply_pending(client.number)
        return (await eraser.search(erasure, on_page=_progress)).removed


def _person(client: int, contact_id: int | None, refs: list[Ref]) -> FindPerson:
    from touchbase.erasure.commands import FindPerson

    return FindPerson(client, contact_id, refs)


async def _lift(database: str | None, client_id: str, refs: list[Ref]) -> int:
    from touchbase.erasure.commands import LiftErasure

    async with opened(database) as store:
        client = (await find_client(store, client_id)).number
        return await store.write(LiftErasure(client, refs))


def _eraser(store: ProcessingStore) -> Eraser:
    from touchbase.app import clock
    from touchbase.connections.service import Connections
    from touchbase.erasure.service import Eraser
    from touchbase.events.translator_pool import TranslatorPool

    return Eraser(store, TranslatorPool(), clock, Connections(store, clock).of)


def _progress(erasure: Erasure) -> None:
    if sys.stderr.isatty():
        done = erasure.done_us is not None
        click.echo(f"\rsearching the inbox: {max(0, erasure.swept_to)} of {erasure.sweep_until}", err=True, nl=done)


def _tell_lifted(forgotten: int, as_json: bool) -> None:
    if as_json:
        print_json({"forgotten": forgotten})
        return
    if forgotten:
        click.echo(f"{forgotten} keyed hashes forgotten: the person may be kept again")
    else:
        click.echo("nobody with this address was erased")


def _tell(what: str, removed: Mapping[str, int], as_json: bool) -> None:
    if as_json:
        print_json({what.replace(" ", "_"): removed})
        return
    counts = [f"{count} {WORDS.get(name, name)}" for name, count in removed.items() if count]
    click.echo(f"{what}: {', '.join(counts) or 'nothing; nobody of this name is kept'}")

"""`touchbase erase`: a person removed from everywhere, and what was removed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import find_client, opened, run, setting_options
from touchbase.cli.person import named, person_options

if TYPE_CHECKING:
    from touchbase.domain.erasure import Erasure
    from touchbase.domain.links import Ref
    from touchbase.domain.ports import Store
    from touchbase.service.erase import Eraser

WORDS = {
    "contacts": "contacts",
    "custom_fields": "custom fields",
    "events": "events of the timeline",
    "links": "former addresses and tool objects",
    "deliveries": "bodies of deliveries",
}


@click.command()
@setting_options("database")
@person_options
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--lift", is_flag=True, help="Undo the ban instead: the person may be kept again. What was removed stays removed.")
def erase(
    database: str | None,
    client_id: str,
    email: str | None,
    linkedin_url: str | None,
    contact_id: int | None,
    dry_run: bool,
    yes: bool,
    lift: bool,
) -> None:
    """Erase a person: contact, custom fields, timeline, links, and every kept call that tells of them.

    It cannot be undone. Keyed hashes of their addresses stay, so that a late call does not bring them back.
    Ctrl+C stops the search of the inbox; the server, or the same command again, goes on with it.
    """
    refs = named(email, linkedin_url, contact_id)
    if lift:
        click.echo(f"{run(_lift(database, client_id, refs))} keyed hashes forgotten: the person may be kept again")
        return
    try:
        run(_erase(database, client_id, contact_id, refs, dry_run=dry_run, asked=yes))
    except KeyboardInterrupt:
        click.echo("\nerased; the search of the inbox stopped: the server, or this command again, goes on with it", err=True)
        sys.exit(130)


async def _erase(database: str | None, client_id: str, contact_id: int | None, refs: list[Ref], *, dry_run: bool, asked: bool) -> None:
    from touchbase.domain.errors import NotFound

    async with opened(database) as store:
        client = (await find_client(store, client_id)).number
        eraser = _eraser(store)
        if dry_run or not asked:
            found = await eraser.would_erase(client, contact_id, refs)
            if contact_id is not None and not found.get("contacts"):
                raise NotFound(f"there is no contact with id {contact_id}")
            _tell("would remove", found)
        if dry_run or not (asked or click.confirm("Erase this person for good?", abort=True)):
            return
        erasure = await eraser.erase(client, contact_id, refs)
        await eraser.apply_waiting(client)
        _tell("removed", (await eraser.search(erasure, on_page=_progress)).removed)


async def _lift(database: str | None, client_id: str, refs: list[Ref]) -> int:
    from touchbase.domain.erasure import LiftErasure

    if not refs:
        raise click.UsageError("say whose: --email or --linkedin")
    async with opened(database) as store:
        client = (await find_client(store, client_id)).number
        return await store.write(LiftErasure(client, refs))


def _eraser(store: Store) -> Eraser:
    from touchbase.adapters import load_adapters
    from touchbase.service.connections import Connections
    from touchbase.service.erase import Eraser
    from touchbase.wiring import clock

    return Eraser(store, load_adapters().translate, clock, Connections(store, clock).of)


def _progress(erasure: Erasure) -> None:
    if sys.stderr.isatty():
        done = erasure.done_us is not None
        click.echo(f"\rsearching the inbox: {max(0, erasure.swept_to)} of {erasure.sweep_until}", err=True, nl=done)


def _tell(what: str, removed: Mapping[str, int]) -> None:
    counts = [f"{count} {WORDS.get(name, name)}" for name, count in removed.items() if count]
    click.echo(f"{what}: {', '.join(counts) or 'nothing; nobody of this name is kept'}")

"""`touchbase persons export`: everything that is kept about one person, written page by page."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from touchbase.cli.common import ALWAYS_JSON, find_client, json_option, opened, run, setting_options
from touchbase.cli.person import named, no_contact, person_options, refuse_several

if TYPE_CHECKING:
    from touchbase.clients.models import Client
    from touchbase.erasure.api import PersonExport
    from touchbase.history.identity_links import Ref
    from touchbase.sql.store import Store

PAGE = 100


@click.command("export")
@setting_options("database")
@person_options
@json_option(ALWAYS_JSON)
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
def export_person(
    database: str | None, client_id: str, email: str | None, linkedin_url: str | None, contact_id: int | None, as_json: bool,
    out: Path | None,
) -> None:  # fmt: skip
    """Write everything that is kept about one person: fields, timeline, identities, sources, and the calls that told it.

    A call that tells of other people too is listed without its content.
    """
    refs = named(email, linkedin_url, contact_id)
    run(_export(database, client_id, refs, contact_id, out))


async def _export(database: str | None, client_id: str, refs: list[Ref], contact_id: int | None, out: Path | None) -> None:
    async with opened(database) as store:
        client = await find_client(store, client_id)
        number = await _contact(store, client, refs, contact_id)
        with written(out) as file:
            is_first = True
            async for page in _pages(store, client, number):
                for piece in _pieces(page, is_first):
                    file.write(piece)
                is_first = False
            file.write("\n]}\n")


@contextmanager
def written(out: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that only its owner can read, and that is there once it is whole."""
    if out is None or str(out) == "-" or (out.exists() and not out.is_file()):
        with click.open_file(str(out or "-"), "w", encoding="utf-8") as file:
            yield file
        return
    from touchbase.common.atomic_file import part_of

    try:
        with part_of(out) as part:
            with part.open("w", encoding="utf-8") as file:
                yield file
            os.replace(part, out)
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {error.strerror or error}") from error


async def _contact(store: Store, client: Client, refs: list[Ref], contact_id: int | None) -> int:
    from touchbase.erasure.commands import FindPerson

    found = await store.read(FindPerson(client.number, contact_id, refs))
    if not found.contacts:
        nobody = "nobody of this name is kept: try another address of theirs, or --id"
        raise click.ClickException(nobody if contact_id is None else no_contact(contact_id))
    refuse_several(found)
    return found.contacts[0]


async def _pages(store: Store, client: Client, number: int) -> AsyncIterator[PersonExport]:
    from touchbase.connections.commands import ListConnections
    from touchbase.erasure import export_person as service
    from touchbase.erasure.api import deliveries_out, with_person
    from touchbase.events.translator_pool import TranslatorPool
    from touchbase.events.worker import translator

    translate = translator(TranslatorPool(), await store.read(ListConnections(client.number)))
    exported = await service.export_person(store, client.number, number)
    after: int | None = 0
    is_first = True
    while after is not None:
        calls, after = await service.export_deliveries(store, translate, client.number, number, PAGE, after)
        page = deliveries_out(calls, None)
        if is_first:
            with_person(page, exported, client)
            is_first = False
        yield page


def _pieces(page: PersonExport, is_first: bool) -> Iterator[str]:
    """The page's part of one JSON object whose last member is the list of deliveries."""
    import json

    import msgspec

    made = msgspec.to_builtins(page)
    deliveries = made.pop("deliveries")
    del made["next_cursor"]
    if is_first:
        yield json.dumps(made, indent=2, ensure_ascii=False).rstrip("\n}") + ',\n  "deliveries": ['
    for place, delivery in enumerate(deliveries):
        comma = "" if is_first and place == 0 else ","
        yield f"{comma}\n{json.dumps(delivery, ensure_ascii=False)}"

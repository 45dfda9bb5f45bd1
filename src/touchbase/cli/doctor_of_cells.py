"""`touchbase doctor` of an installation with cells: each cell, and whether the directory and the cells name the same clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from touchbase.cli.each_cell import cells_as_they_are
from touchbase.cli.store import now_us
from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError

if TYPE_CHECKING:
    from touchbase.cells.models import Cell, Place
    from touchbase.deliveries.work import ProcessingStore
    from touchbase.doctor import Finding

NEXT = "restore the home store and the cells to one moment (docs/how-to/spread-clients-over-cells.md#back-up)"
SHOWN = 3


async def findings_of_cells(home: ProcessingStore, silent: Micros, mail_domains: Sequence[str]) -> list[Finding]:
    """Return the findings about the cells of a home store: for each cell its problems and notes, or that there are none."""
    from touchbase.doctor import PROBLEM, Finding

    try:
        async with cells_as_they_are(home) as cells:
            found = [
                Finding(f"cell {name}", PROBLEM, why, "`touchbase cells list`; its clients get 503") for name, why in cells.down.items()
            ]
            for cell, store in cells.stores.values():
                found += [each async for each in _of_cell(cell, store, cells.places, silent, mail_domains)]
            return found
    except TouchbaseError as error:
        return [Finding("cells", PROBLEM, f"the directory cannot be read: {error.detail}", "`touchbase encryption-keys check`")]


async def _of_cell(
    cell: Cell, store: ProcessingStore, places: Sequence[Place], silent: Micros, mail_domains: Sequence[str]
) -> AsyncIterator[Finding]:
    from touchbase.doctor import OK, PROBLEM, Finding, diagnose
    from touchbase.storage.schema_state import schema_state

    name = f"cell {cell.name}"
    try:
        if waiting := (await schema_state(cell.address)).pending:
            detail = f"the schema lacks {len(waiting)} migrations, from {waiting[0]} to {waiting[-1]}"
            yield Finding(name, PROBLEM, detail, f"stop servers of the previous version, then run `touchbase cells migrate {cell.name}`")
            return
        found = [Finding(name, PROBLEM, *disagreement) for disagreement in await _disagreements(cell, store, places)]
        for each in [each async for each in diagnose(store, now_us(), silent=silent, keys_needed=False, mail_domains=mail_domains)]:
            if each.level != OK:
                found.append(Finding(name, each.level, f"{each.check}: {each.detail}", each.next))
    except TouchbaseError as error:
        found = [Finding(name, PROBLEM, error.detail, "`touchbase cells list`; its clients get 503")]
    for each in found or [Finding(name, OK, "it answers, and has the clients that the directory names")]:
        yield each


async def _disagreements(cell: Cell, store: ProcessingStore, places: Sequence[Place]) -> list[tuple[str, str]]:
    """Return what the directory and the cell do not agree about, each with the next step."""
    from touchbase.clients.sql.clients import list_clients

    here = {client.number: client.client_id for client in await store.read(list_clients())}
    named = {place.number: place.client_id for place in places if place.cell == cell.number and place.number is not None}
    known = {place.number for place in places}
    found = []
    if lacking := [client_id for number, client_id in named.items() if number not in here]:
        found.append((f"it lacks clients that the directory has, whose requests are 404: {_some(lacking)}", NEXT))
    if unknown := [client_id for number, client_id in here.items() if number not in known]:
        found.append((f"it has clients that the directory lacks, whose requests are 404: {_some(unknown)}", NEXT))
    return found


def _some(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")

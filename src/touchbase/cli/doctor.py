"""`touchbase doctor`: what an operator should look at, with what to do next."""

from __future__ import annotations

import os
import shutil
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import json_option, print_json, run, setting_options, shown
from touchbase.cli.durations import duration
from touchbase.cli.tables import echo, harmless, output_width, styled
from touchbase.common.timestamps import DAY, Micros, to_text
from touchbase.config import BadSettings, Settings, unknown_names
from touchbase.errors import TouchbaseError

if TYPE_CHECKING:
    from touchbase.doctor import Finding

ROOM = 1024**3
"""Bytes that should be free on the disk of a SQLite store."""
OLD: Micros = 30 * DAY
"""After how long a copy next to the store is reported."""
MARGIN = 22


@click.command()
@setting_options("database")
@click.option(
    "--silent-after", default="7d", show_default=True, callback=duration(), metavar="DURATION",
    help="How long a connection may receive nothing before it is reported.",
)  # fmt: skip
@json_option()
def doctor(database: str | None, silent_after: Micros, as_json: bool) -> None:
    """Check settings, store, schema, clock, disk, encryption, keys, connections and inbox; say what to do about each problem.

    Only reads, also while a server runs. Ends with status 1 when there is a problem; notes may be as intended.
    """
    found = list(_findings(database, silent_after))
    problems, notes = (sum(each.level == level for each in found) for level in ("problem", "note"))
    if as_json:
        print_json({"ok": not problems, "problems": problems, "notes": notes, "findings": found})
    else:
        for each in found:
            _tell(each)
        echo(f"{problems} problem{'s' * (problems != 1)}, {notes} note{'s' * (notes != 1)}")
    if problems:
        raise SystemExit(1)


def _tell(finding: Finding) -> None:
    width = output_width()

    def wrapped(text: str) -> str:
        lines = [harmless(text)] if width is None else textwrap.wrap(harmless(text), max(30, width - MARGIN), break_on_hyphens=False)
        return f"\n{' ' * MARGIN}".join(lines)

    echo(f"{styled(f'{finding.level:<8}')}{finding.check:<{MARGIN - 8}}{wrapped(finding.detail)}")
    if finding.next is not None:
        echo(" " * MARGIN + wrapped(f"-> {finding.next}"))


def _findings(database: str | None, silent: Micros) -> Iterator[Finding]:
    from touchbase.doctor import OK, PROBLEM, Finding

    unknown = dict(unknown_names(os.environ))
    yield from (Finding("settings", PROBLEM, why.partition(";")[0], "correct the name, or unset it") for why in unknown.values())
    try:
        settings = Settings.read({name: value for name, value in os.environ.items() if name not in unknown}, database=database)
        settings.check_serving()
    except BadSettings as error:
        yield Finding("settings", PROBLEM, str(error), "set a usable value (docs/reference/settings.md); nothing else was checked")
        return
    if not unknown:
        yield Finding("settings", OK, "open mode, no key is needed" if settings.open_mode else "valid; calls but webhooks need a key")
    yield from _of_disk(settings)
    try:
        yield from run(_of_store(settings, silent))
    except TouchbaseError as error:
        yield Finding(
            "store", PROBLEM, f"{shown(settings.database)}: {error.detail}", "run this again afterwards: nothing in the store was checked"
        )


def _of_disk(settings: Settings) -> Iterator[Finding]:
    """Free room, and copies next to a SQLite store."""
    from touchbase.doctor import NOTE, OK, PROBLEM, Finding

    path = _file_of(settings)
    if path is None or not path.exists():
        return
    free, size = shutil.disk_usage(path.absolute().parent).free, path.stat().st_size
    room = f"{_size(free)} free, the store has {_size(size)}"
    if free < ROOM:
        yield Finding("disk", PROBLEM, room, "make room: a store whose disk is full takes no webhooks")
    elif free < size:
        yield Finding("disk", NOTE, room, "make room for as much again: `migrate`, `vacuum` and a backup on this disk need it")
    else:
        yield Finding("disk", OK, room)
    for copy in sorted(path.parent.glob(f"{path.name}.before-*")):
        made = copy.stat().st_mtime
        if not copy.name.endswith(".sha256") and made < time.time() - OLD / 1_000_000:
            when = to_text(int(made) * 1_000_000)[:10]
            yield Finding("backups", NOTE, f"{copy.name} of {when} holds people who were erased since", "remove it if all is well")


async def _of_store(settings: Settings, silent: Micros) -> list[Finding]:
    from touchbase.doctor import NOTE, OK, PROBLEM, Finding, clock_finding, diagnose
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.storage import check_address, open_store
    from touchbase.storage.schema_state import schema_state

    check_address(settings.database)
    path = _file_of(settings)
    if path is not None and not path.exists():
        return [
            Finding(
                "store", PROBLEM, f"there is no store at {settings.database}", "name it with --database, or make it: `touchbase migrate`"
            )
        ]
    state = await schema_state(settings.database)
    found = [Finding("store", OK, shown(settings.database))]
    if state.pending:
        detail = f"the schema waits for {len(state.pending)} migrations, from {state.pending[0]} to {state.pending[-1]}"
        return [*found, Finding("schema", PROBLEM, detail, "stop servers of the version before, then `touchbase migrate`")]
    found.append(Finding("schema", OK, "up to date"))
    if state.clock_us is not None:
        found.append(clock_finding(state.clock_us, _now()))
    keys = EncryptionKeys(settings.encryption_key, settings.encryption_key_old)
    if not settings.on_sqlite and not settings.encryption_key:
        found.append(
            Finding("encryption", NOTE, "no encryption key is set: no connection can have a secret", "`touchbase encryption-keys generate`")
        )
    store = await open_store(settings.database, as_is=True, encryption_keys=keys, upgrade=False)
    try:
        found += [Finding("store", PROBLEM, warning, "docs/how-to/run-on-postgresql.md says how") for warning in store.warnings]
        return found + [each async for each in diagnose(store, _now(), silent=silent, keys_needed=not settings.open_mode)]
    finally:
        await store.close()


def _file_of(settings: Settings) -> Path | None:
    """The file of a SQLite store."""
    from touchbase.errors import BadAddress
    from touchbase.storage.sqlite.connection import path_of

    if not settings.on_sqlite:
        return None
    try:
        path = path_of(settings.database)
    except BadAddress:  # reported when the store is opened
        return None
    return None if path is None else Path(path)


def _size(count: int) -> str:
    """Bytes as people read them."""
    amount = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def _now() -> Micros:
    return time.time_ns() // 1000

"""`touchbase doctor`: check the service; findings with the next step."""

from __future__ import annotations

import os
import shutil
import textwrap
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import touchbase
from touchbase.cli.each_cell import cells_as_they_are
from touchbase.cli.options import duration, json_option, setting_options
from touchbase.cli.output import echo, escape_controls, output_width, print_json, styled
from touchbase.cli.store import now_us, run, without_password
from touchbase.common.timestamps import DAY, SECOND, Micros, to_text
from touchbase.config import BadSettings, Settings, unknown_names
from touchbase.errors import TouchbaseError

if TYPE_CHECKING:
    from touchbase.cells.models import Cell, ClientPlace
    from touchbase.deliveries.work import ProcessingStore
    from touchbase.doctor import Finding
    from touchbase.presence import ServerFacts

MIN_FREE_BYTES = 1024**3
"""Less free disk space for a SQLite store is a problem."""
MAX_COPY_AGE: Micros = 30 * DAY
"""An older copy next to the store is reported."""
MARGIN = 22


@click.command()
@setting_options("database")
@click.option(
    "--silent-after", default="7d", show_default=True, callback=duration(), metavar="DURATION",
    help="How long a connection may receive nothing before it is reported.",
)  # fmt: skip
@json_option()
def doctor(database: str | None, silent_after: Micros, as_json: bool) -> None:
    """Check settings, store and databases, and print the next step for each problem.

    Checks settings, store, schema, clock, disk, encryption, keys, connections and inbox. Only reads, also while a
    server runs. Ends with status 1 if there is a problem; notes may be intended. What a running server is comes from the row that it
    renews in the store, not from the settings of the shell. Connections with the setting silence_alarm=false may be silent.
    """
    findings = list(_findings(database, silent_after))
    problems, notes = (sum(finding.level == level for finding in findings) for level in ("problem", "note"))
    if as_json:
        print_json({"ok": not problems, "problems": problems, "notes": notes, "findings": findings})
    else:
        for finding in findings:
            _print_finding(finding)
        echo(f"{problems} problem{'s' * (problems != 1)}, {notes} note{'s' * (notes != 1)}")
    if problems:
        raise SystemExit(1)


def _print_finding(finding: Finding) -> None:
    width = output_width()

    def wrapped(text: str) -> str:
        text = escape_controls(text)
        lines = [text] if width is None else textwrap.wrap(text, max(30, width - MARGIN), break_on_hyphens=False)
        return f"\n{' ' * MARGIN}".join(lines)

    echo(f"{styled(f'{finding.level:<8}')}{finding.check:<{MARGIN - 8}}{wrapped(finding.detail)}")
    if finding.next is not None:
        echo(" " * MARGIN + wrapped(f"-> {finding.next}"))


def _findings(database: str | None, silent_after: Micros) -> Iterator[Finding]:
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
        yield Finding("settings", OK, "valid, as in this shell")
    yield from _disk_findings(settings)
    yield from _spool_findings(settings)
    try:
        yield from run(_store_findings(settings, silent_after))
    except TouchbaseError as error:
        detail = f"{without_password(settings.database)}: {error.detail}"
        yield Finding("store", PROBLEM, detail, "then run this again: nothing in the store was checked")


def _disk_findings(settings: Settings) -> Iterator[Finding]:
    """Yield findings about free space, and copies next to a SQLite store."""
    from touchbase.doctor import NOTE, OK, PROBLEM, Finding

    path = _sqlite_path(settings)
    if path is None or not path.exists():
        return
    free, size = shutil.disk_usage(path.absolute().parent).free, path.stat().st_size
    space = f"{_size(free)} free, the store has {_size(size)}"
    if free < MIN_FREE_BYTES:
        yield Finding("disk", PROBLEM, space, "free disk space: with a full disk no webhook can be stored")
    elif free < size:
        yield Finding("disk", NOTE, space, "free as much space as the store has: `migrate`, `vacuum` and a backup on this disk need it")
    else:
        yield Finding("disk", OK, space)
    for copy in sorted(path.parent.glob(f"{path.name}.before-*")):
        copied_at = copy.stat().st_mtime
        if not copy.name.endswith(".sha256") and copied_at < time.time() - MAX_COPY_AGE / SECOND:
            when = to_text(int(copied_at) * SECOND)[:10]
            detail = f"{copy.name} of {when} contains people who were erased since"
            yield Finding("backups", NOTE, detail, "remove it if you do not need it any more")


def _spool_findings(settings: Settings) -> Iterator[Finding]:
    """Yield findings about webhooks that were set aside, in the spool that this shell's settings name."""
    from touchbase.doctor import OK, PROBLEM, Finding
    from touchbase.spool.counting import FAILED, SpoolCounter
    from touchbase.spool.spool import SET_ASIDE_DAYS

    if not settings.spool:
        return
    folder = Path(settings.spool)
    counts = SpoolCounter(folder).count()
    if counts.set_aside or counts.damaged:
        detail = f"{counts.set_aside} webhooks and {counts.damaged} damaged files were set aside in {folder / FAILED}"
        step = f"the server's log says why; move them back to {folder / '0'} once it is fixed: they are removed after {SET_ASIDE_DAYS} days"
        yield Finding("spool", PROBLEM, detail, step)
    else:
        yield Finding("spool", OK, "no webhook was set aside")


async def _read_database_findings(settings: Settings) -> list[Finding]:
    from touchbase.doctor import NOTE, OK, PROBLEM, Finding
    from touchbase.encryption.cipher import NO_CIPHER
    from touchbase.storage.postgres.standby import WAIT_SECONDS, Standby, StandbyFailed

    if not settings.read_database:
        return []
    standby = Standby(settings.read_database, NO_CIPHER)
    try:
        lag = await standby.lag_seconds()
    except StandbyFailed as error:
        return [
            Finding("read database", PROBLEM, str(error), "start it, or correct TOUCHBASE_READ_DATABASE; the primary answers meanwhile")
        ]
    finally:
        await standby.close()
    if lag > WAIT_SECONDS:
        return [Finding("read database", NOTE, f"it is {lag:.0f} s behind, so the primary answers", "give it a faster disk or network")]
    return [Finding("read database", OK, f"{without_password(settings.read_database)} is {lag:.0f} s behind")]


async def _store_findings(settings: Settings, silent_after: Micros) -> list[Finding]:
    from touchbase.doctor import NOTE, OK, PROBLEM, Finding, clock_finding, diagnose
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.presence import list_servers
    from touchbase.storage import check_address
    from touchbase.storage.schema_state import schema_state
    from touchbase.stores import open_store

    check_address(settings.database)
    path = _sqlite_path(settings)
    if path is not None and not path.exists():
        detail = f"there is no store at {settings.database}"
        return [Finding("store", PROBLEM, detail, "name it with --database, or make it: `touchbase migrate`")]
    state = await schema_state(settings.database)
    findings = [Finding("store", OK, without_password(settings.database))]
    if state.pending:
        detail = f"the schema lacks {len(state.pending)} migrations, from {state.pending[0]} to {state.pending[-1]}"
        return [*findings, Finding("schema", PROBLEM, detail, "stop servers of the previous version, then run `touchbase migrate`")]
    findings.append(Finding("schema", OK, "up to date"))
    if state.clock_us is not None:
        findings.append(clock_finding(state.clock_us, now_us()))
    keys = EncryptionKeys(settings.encryption_key, settings.encryption_key_old)
    if not settings.on_sqlite and not settings.encryption_key:
        findings.append(
            Finding("encryption", NOTE, "no encryption key is set: no connection can have a secret", "`touchbase encryption-keys generate`")
        )
    store = await open_store(settings.database, as_is=True, encryption_keys=keys, upgrade=False)
    try:
        findings += [Finding("store", PROBLEM, warning, "docs/how-to/run-on-postgresql.md says how") for warning in store.warnings]
        servers = await store.read(list_servers(now_us()))
        findings += _server_findings(servers, settings)
        needed = not all(server.open_mode for server in servers) if servers else not settings.open_mode
        domains = settings.recipient_domains
        findings += [finding async for finding in diagnose(store, now_us(), silent=silent_after, keys_needed=needed, mail_domains=domains)]
        findings += await _read_database_findings(settings)
        return findings + await findings_of_cells(store, silent_after, domains)
    finally:
        await store.close()


def _server_findings(servers: Sequence[ServerFacts], settings: Settings) -> Iterator[Finding]:
    """Yield findings about the running servers, from their rows in the store."""
    from touchbase.doctor import NOTE, OK, Finding

    if not servers:
        mode = _mode(settings.open_mode)
        detail = f"none has said in the last minute that it runs on this store; with this shell's settings one would be in {mode}"
        yield Finding("server", NOTE, detail, "start it with `touchbase serve`")
    for server in servers:
        since = to_text(server.started_us // SECOND * SECOND)
        detail = f"version {server.version} at {server.address} in {_mode(server.open_mode)}"
        detail = f"{detail}; process {server.pid} on {server.host} since {since}, as it says in the store"
        if server.version == touchbase.__version__:
            yield Finding("server", OK, detail)
        else:
            yield Finding("server", NOTE, detail, f"this command has version {touchbase.__version__}: restart the server if it is older")


def _mode(open_mode: bool) -> str:
    return "open mode, no key is needed" if open_mode else "key mode, every request except webhooks needs a key"


def _sqlite_path(settings: Settings) -> Path | None:
    """Return the path of a SQLite store; None for another store or an invalid address."""
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
    """Format a number of bytes."""
    amount = float(count)
    for unit in ("bytes", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


NEXT = "restore the home database and the others to one moment (docs/how-to/spread-clients-over-databases.md#back-up)"
SHOWN = 3


async def findings_of_cells(home: ProcessingStore, silent: Micros, mail_domains: Sequence[str]) -> list[Finding]:
    """Return the findings about the cells of a home store: for each cell its problems and notes, or that there are none."""
    from touchbase.doctor import PROBLEM, Finding

    try:
        async with cells_as_they_are(home) as cells:
            findings = [
                Finding(f"database {name}", PROBLEM, why, "`touchbase databases list`; its clients get 503")
                for name, why in cells.down.items()
            ]
            for cell, store in cells.stores.values():
                findings += [finding async for finding in _of_cell(cell, store, cells.places, silent, mail_domains)]
            return findings
    except TouchbaseError as error:
        return [Finding("databases", PROBLEM, f"the directory cannot be read: {error.detail}", "`touchbase encryption-keys check`")]


async def _of_cell(
    cell: Cell, store: ProcessingStore, places: Sequence[ClientPlace], silent: Micros, mail_domains: Sequence[str]
) -> AsyncIterator[Finding]:
    from touchbase.doctor import OK, PROBLEM, Finding, diagnose
    from touchbase.storage.schema_state import schema_state

    name = f"database {cell.name}"
    try:
        if waiting := (await schema_state(cell.address)).pending:
            detail = f"the schema lacks {len(waiting)} migrations, from {waiting[0]} to {waiting[-1]}"
            yield Finding(
                name, PROBLEM, detail, f"stop servers of the previous version, then run `touchbase databases migrate {cell.name}`"
            )
            return
        findings = [Finding(name, PROBLEM, *disagreement) for disagreement in await _disagreements(cell, store, places)]
        async for finding in diagnose(store, now_us(), silent=silent, keys_needed=False, mail_domains=mail_domains):
            if finding.level != OK:
                findings.append(Finding(name, finding.level, f"{finding.check}: {finding.detail}", finding.next))
    except TouchbaseError as error:
        findings = [Finding(name, PROBLEM, error.detail, "`touchbase databases list`; its clients get 503")]
    for finding in findings or [Finding(name, OK, "it answers, and has the clients that the directory names")]:
        yield finding


async def _disagreements(cell: Cell, store: ProcessingStore, places: Sequence[ClientPlace]) -> list[tuple[str, str]]:
    """Return differences between the directory and the cell, each with the next step."""
    from touchbase.clients.sql.clients import list_clients

    here = {client.number: client.client_id for client in await store.read(list_clients())}
    named = {place.number: place.client_id for place in places if place.cell == cell.number and place.number is not None}
    placed = {place.number for place in places}
    disagreements = []
    if lacking := [client_id for number, client_id in named.items() if number not in here]:
        disagreements.append((f"it lacks clients that the directory has, whose requests are 404: {_first_names(lacking)}", NEXT))
    if unknown := [client_id for number, client_id in here.items() if number not in placed]:
        disagreements.append((f"it has clients that the directory lacks, whose requests are 404: {_first_names(unknown)}", NEXT))
    return disagreements


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")

"""`touchbase demo`: a store full of fictitious data, and a server for it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from touchbase.cli.options import json_option, read_settings, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.store import is_missing, now_us, opened, run, run_fast, without_password

if TYPE_CHECKING:
    from touchbase.config import Settings
    from touchbase.demo.replay import Filled

DATABASE = "sqlite:///touchbase-demo.db"
MINUTE = 60_000_000


@click.command()
@click.option("--database", default=DATABASE, show_default=True, help="The store to fill: a new file, or an empty store.")
@click.option("--contacts", default=20_000, show_default=True, type=click.IntRange(100, 200_000), help="Contacts of all clients together.")
@click.option("--serve", "serves", is_flag=True, help="Serve it when it is made, without keys, on this machine only.")
@setting_options("port")
@json_option()
def demo(database: str, contacts: int, serves: bool, port: int | None, as_json: bool) -> None:
    """Create a store full of fictitious data: an agency with 12 clients, and three weeks of webhooks of eight tools, some of them wrong.

    The store is touchbase-demo.db unless --database names another; TOUCHBASE_DATABASE does not count here. The data is the same each
    time, but for the date; all addresses end in .example, and nothing is sent anywhere. It takes a minute or two. A store that has
    other clients is refused; one that has the demo is served as it is. Delete the file and its key file to make a new one. On
    PostgreSQL the demo has no endpoints without TOUCHBASE_ENCRYPTION_KEY.

    \b
    touchbase demo --serve                                     # then http://127.0.0.1:8000/console
    touchbase demo --contacts 500 --database sqlite:////tmp/small.db
    """
    settings = read_settings(database=database, auth="none", host="127.0.0.1", port=port)
    stored = None
    if not run(_is_filled(database)):
        with _quiet():
            stored = run_fast(_make(settings, contacts))
    if as_json:
        print_json(asdict(stored) if stored else None)
    elif stored is None:
        click.echo(f"{without_password(database)} has the demo already: remove it to make a new one")
    else:
        click.echo(
            f"{stored.contacts:,} contacts, {stored.companies:,} companies, {stored.calls:,} webhooks, {stored.refused} of them refused"
        )
    if serves:
        _serve(settings)
    elif not as_json:
        click.echo(f"look at it: touchbase demo --serve{'' if database == DATABASE else f' --database {without_password(database)}'}")


async def _is_filled(database: str) -> bool:
    """Return whether the store has the demo; fail if it has something else, or a part of the demo."""
    from touchbase.clients.sql.clients import list_clients
    from touchbase.demo.replay import is_complete, is_of_the_demo

    if is_missing(database):
        return False
    async with opened(database, new=True) as store:
        names = {client.client_id: client.name for client in await store.read(list_clients())}
    if not is_of_the_demo(names):
        raise click.ClickException(f"{without_password(database)} has clients that are not the demo's: name another store with --database")
    if names and not is_complete(names):
        raise click.ClickException(f"{without_password(database)} has a part of the demo, which was stopped: remove it, and begin again")
    return bool(names)


async def _make(settings: Settings, contacts: int) -> Filled:
    from touchbase.app import assembled
    from touchbase.demo.replay import DemoClock, MadeUpReceiver, RecordingReplay
    from touchbase.outgoing.api.event_objects import AS_IN_API
    from touchbase.outgoing.dispatcher import Dispatcher
    from touchbase.outgoing.models import Installation
    from touchbase.workers import job_worker

    clock = DemoClock(now_us() // MINUTE * MINUTE)
    async with assembled(_without_workers(settings), clock) as application:
        store, receiver = application.store, MadeUpReceiver(clock, clock.now)
        sending = Dispatcher(store, receiver, clock, AS_IN_API, place=Installation("http://127.0.0.1:8000"))
        jobs = job_worker(settings, store, clock)
        has_secrets = settings.on_sqlite or bool(settings.encryption_key)
        replay = RecordingReplay(application.app, store, clock, [application.worker, sending], jobs, application.calls, has_secrets)
        return await replay.fill(contacts, _say)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _without_workers(settings: Settings) -> Settings:
    """Return the settings of an application whose workers run when they are asked to."""
    return read_settings(database=settings.database, auth="none", host="127.0.0.1", inbox_worker=False)


def _serve(settings: Settings) -> None:
    from touchbase.cli.serve import serve_with
    from touchbase.server.logs import set_up_logging

    set_up_logging(settings.log_level, settings.log_format)
    serve_with(settings)


@contextmanager
def _quiet() -> Iterator[None]:
    """Log errors only: the demo has faults on purpose, such as a tool that falls silent."""
    log = logging.getLogger("touchbase")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
        sys.stdout.flush()

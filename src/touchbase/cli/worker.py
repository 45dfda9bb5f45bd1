"""`touchbase worker`: the inbox worker and the fetching of records, without a server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence

import click

from touchbase.cli.options import json_option, read_settings, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.store import must_exist, run_fast, without_password
from touchbase.config import Settings
from touchbase.tracing.setup import check_tracing


@click.command()
@setting_options("database", "migration_copy", "fetch_allowed_origins", "log_level", "log_format", "tracing")
@click.option("--once", is_flag=True, help="Apply all due deliveries, print the counts, and end.")
@click.option("--databases", default="", metavar="NAME,...", help="Only these (`touchbase databases list`); else all of them.")
@json_option("With --once: print JSON.")
def worker(once: bool, databases: str, as_json: bool, **options: object) -> None:
    """Run the inbox worker without a server, until it is stopped.

    It applies deliveries and fetches the records that they leave out, for servers started with
    --no-inbox-worker. Several workers may share a PostgreSQL store; each delivery is applied by one of them. With
    --databases each has some of the databases of clients. --once ends with status 1
    if a client's inbox could not be processed, such as one whose secrets cannot be decrypted; it delays no other client.
    """
    from touchbase.server.logs import set_up_logging

    if as_json and not once:
        raise click.UsageError("--json goes with --once: a worker without --once prints no result")
    settings = read_settings(**options)
    if settings.tracing:
        check_tracing()
    must_exist(settings.database)
    set_up_logging(settings.log_level, settings.log_format)
    names = databases.replace(",", " ").split()
    run_fast(_drain(settings, names, as_json) if once else _work(settings, names))


async def _drain(settings: Settings, databases: Sequence[str], as_json: bool) -> None:
    from touchbase import app
    from touchbase.server.server import freeze_gc

    async with app.standalone_workers(settings, databases=databases) as workers:
        freeze_gc()
        report, requests = await workers.drain()
    if as_json:
        print_json({"taken": report.taken, "ended": report.ended, "records_created": report.created, "calls_to_tools": requests})
    else:
        ended = ", ".join(f"{count} {state}" for state, count in report.ended.items()) or "none"
        click.echo(f"deliveries: {ended}; records created: {report.created}; requests to tools: {requests}")
    if report.failing:
        raise click.ClickException(f"the inbox of {report.failing} clients could not be processed: the lines above say why")


async def _work(settings: Settings, databases: Sequence[str]) -> None:
    from touchbase import app
    from touchbase.server.server import freeze_gc

    async with app.standalone_workers(settings, with_maintenance=True, databases=databases) as workers:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, workers.stop)
        freeze_gc()
        click.echo(f"The inbox worker works on {without_password(settings.database)}; stop it with Ctrl+C")
        await workers.run()

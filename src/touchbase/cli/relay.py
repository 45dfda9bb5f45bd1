"""`touchbase relay`: pass the events of a client on to a file, an HTTP receiver or a queue."""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
import signal
import sys
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import touchbase
from touchbase.cli.options import read_settings, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.store import find_client, now_us, opened, read_text, run_fast

if TYPE_CHECKING:
    from touchbase.errors import Fault
    from touchbase.relay.models import EventLogSource, Sink

KEY, SECRET, TO = "TOUCHBASE_RELAY_KEY", "TOUCHBASE_RELAY_SECRET", "TOUCHBASE_RELAY_TO"
PREFIX = "whsec_"
File = click.Path(path_type=Path, allow_dash=True)


@click.command()
@setting_options("database", "log_level", "log_format")
@click.option("--to", help=f"Where events go: https://..., nats://HOST:PORT/SUBJECT, file:PATH, or - for standard output. [{TO}]")
@click.option("--client", "client_id", help="The client whose events these are; with --url the key says it.")
@click.option("--url", help="Read the feed of this server, such as https://touchbase.example.com, and not the store.")
@click.option("--key-file", type=File, help=f"With --url: read the API key from this file (- for stdin); or set {KEY}.")
@click.option("--secret-file", type=File, help=f"Sign requests with the secret (whsec_...) in this file; or set {SECRET}.")
@click.option("--checkpoint", type=click.Path(path_type=Path, dir_okay=False), help="File that stores how far the relay has come.")
@click.option("--types", help="Only these types, separated by commas, such as contact.replied,company.*. Default: all.")
@click.option("--after", help="Where to begin without a checkpoint: the id of an event, or latest. Default: the oldest stored event.")
@click.option("--ignore-checkpoint", is_flag=True, help="Begin at --after although there is a checkpoint, this once.")
@click.option("--once", is_flag=True, help="Pass on what there is, print the count, and end; a failure ends it too.")
def relay(**options: Any) -> None:
    """Pass a client's events on, in order, each at least once, until stopped.

    It continues where it stopped or was killed: after the last event that the file or stream has, or that the checkpoint names.
    TOUCHBASE_RELAY_TO, TOUCHBASE_RELAY_KEY and TOUCHBASE_RELAY_SECRET hide secrets from the list of processes. --once prints the number of
    events and the cursor as JSON, and ends with status 1 if the target or the source fails.
    """
    from touchbase.server.logs import set_up_logging

    chosen = _RelayOptions(options)
    settings = read_settings(**{name: options[name] for name in ("database", "log_level", "log_format")})
    set_up_logging(settings.log_level, settings.log_format)
    sent, cursor = run_fast(_relay(chosen))
    if options["once"]:
        if chosen.to == "-":
            click.echo(f"{sent} events, up to {cursor}", err=True)
        else:
            print_json({"events": sent, "cursor": cursor})


class _RelayOptions:
    """The options, checked together before anything is opened."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.to: str = options["to"] or os.environ.get(TO, "")
        self.url: str | None = options["url"].rstrip("/") if options["url"] else None
        if not self.to:
            raise click.UsageError(f"say where events go: --to https://..., nats://..., file:PATH or -, or set {TO}")
        if (self.url is None) == (options["client_id"] is None):
            raise click.UsageError("give --client ID to read the store, or --url SERVER to read the feed of a server")
        if options["after"] == "latest" and options["checkpoint"] is None:
            raise click.UsageError("--after latest needs --checkpoint FILE, or a restart would leave out what happened in between")
        if options["ignore_checkpoint"] and options["after"] is None:
            raise click.UsageError("--ignore-checkpoint needs --after: where to begin")
        self.secret = _secret(_text(options["secret_file"], SECRET))
        self.key = _text(options["key_file"], KEY)
        if self.key is not None and not (self.key.isascii() and len(self.key.split()) == 1):
            raise click.UsageError("the key is not one word of ASCII characters: is it the whole key, and nothing else?")
        self._check_words()

    def _check_words(self) -> None:
        from touchbase.common.url_origin import origin_of
        from touchbase.errors import Invalid
        from touchbase.event_log.reading import sequence_of, types_of

        faults: list[Fault] = []
        sequence_of(self.options["after"], "--after", faults)
        self.types = types_of(self.options["types"], "--types", faults)
        if faults:
            raise Invalid(faults)
        try:
            if self.url is not None:
                origin_of(self.url)
        except ValueError:
            raise click.BadParameter("must be the address before /public, such as https://crm.example.com", param_hint="--url") from None


def _text(file: Path | None, variable: str) -> str | None:
    """Return the text of a file or of an environment variable."""
    if file is not None and os.environ.get(variable):
        raise click.UsageError(f"give the file or {variable}, not both")
    return (read_text(file) if file is not None else os.environ.get(variable, "").strip()) or None


def _secret(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        if base64.b64decode(text.removeprefix(PREFIX), validate=True):
            return text
    except (binascii.Error, ValueError):
        pass
    raise click.UsageError(f"the secret must be {PREFIX} and base64, such as `openssl rand -base64 32` makes it")


async def _relay(chosen: _RelayOptions) -> tuple[int, str | None]:
    """Relay until stopped; return the number of events and the cursor."""
    from touchbase.relay.service import CheckpointFile, Relay

    options = chosen.options
    async with AsyncExitStack() as stack:
        sink = _sink(chosen)
        stack.push_async_callback(sink.close)
        checkpoint = None
        if options["checkpoint"] is not None:
            checkpoint = CheckpointFile(options["checkpoint"])
            stack.callback(checkpoint.close)
        elif not sink.has_position and chosen.to != "-":
            raise click.UsageError("give --checkpoint FILE: an HTTP receiver does not say how far it has come")
        source = await _source(chosen, stack)
        work = Relay(source, sink, checkpoint)
        task = asyncio.ensure_future(work.run(options["after"], once=options["once"], from_checkpoint=not options["ignore_checkpoint"]))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            click.echo(f"stopped after {work.cursor or 'no event'}; the same command continues", err=True)
    return work.sent, work.cursor


def _sink(chosen: _RelayOptions) -> Sink:
    from touchbase.relay.sinks import sink_of

    try:
        return sink_of(chosen.to, sys.stdout.buffer, f"touchbase/{touchbase.__version__}", now_us, chosen.secret)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--to") from None


async def _source(chosen: _RelayOptions, stack: AsyncExitStack) -> EventLogSource:
    from touchbase.enrichment.http_client import HttpClient
    from touchbase.http.actors import ActorNames
    from touchbase.outgoing.api.event_objects import envelopes
    from touchbase.relay.sources import ServerSource, StoreSource

    if chosen.url is not None:
        source = ServerSource(
            HttpClient(f"touchbase/{touchbase.__version__}", [chosen.url]), chosen.url, chosen.key or "", now_us, chosen.options["types"]
        )  # fmt: skip
        stack.push_async_callback(source.close)
        return source
    store = await stack.enter_async_context(opened(chosen.options["database"]))
    show = partial(envelopes, actors=ActorNames(store, now_us))
    return StoreSource(store, await find_client(store, chosen.options["client_id"]), show, chosen.types)

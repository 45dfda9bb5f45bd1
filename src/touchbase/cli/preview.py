"""`touchbase preview`: what a webhook call means, without keeping it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import ALWAYS_JSON, channel_of, find_client, json_option, opened, print_json, read_file, run, setting_options
from touchbase.connections.models import CHANNELS

if TYPE_CHECKING:
    from touchbase.connections.models import Connection


@click.command()
@click.option("--channel", type=click.Choice(CHANNELS), help="Which webhook address the call went to; not needed with a --tool on one.")
@click.option("--tool", help="Read it as this tool's call; without it, the content tells.")
@click.option("--header", "-H", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header of the call; may be given several times.")
@click.option("--query", default="", help="The query string of the call.")
@click.option(
    "--client",
    "--connection",
    "client_id",
    metavar="CLIENT_ID",
    help="Read it with what this client has decided about its connected tools.",
)
@setting_options("database")
@json_option(ALWAYS_JSON)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def preview(
    channel: str | None, tool: str | None, headers: tuple[str, ...], query: str, client_id: str | None, database: str | None,
    as_json: bool, file: Path,
) -> None:  # fmt: skip
    """Show what a webhook call means: the body in FILE (- for standard input) as events, in JSON.

    Nothing is stored. Ends with status 1 when no adapter understands the body.
    """
    from touchbase.adapters.kit.describe import describe
    from touchbase.adapters.registry import load_adapters
    from touchbase.inbox.webhook_request import request_of

    channel = channel_of(channel, tool)
    adapters = load_adapters()
    if tool is not None and tool not in adapters.tools(channel):
        raise click.BadParameter(f"no {channel} tool is called {tool!r}: `touchbase tools` lists them", param_hint="'--tool'")
    connections = run(_connections(database, client_id)) if client_id is not None else ()
    request = request_of(channel, dict(map(_header, headers)), query.removeprefix("?"), read_file(file), connections=connections)
    print_json(describe(adapters.translate(request, tool)))


async def _connections(database: str | None, client_id: str) -> Sequence[Connection]:
    from touchbase.connections.commands import ListConnections

    async with opened(database) as store:
        return await store.read(ListConnections((await find_client(store, client_id)).number))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise click.UsageError(f"a header reads 'NAME: VALUE', not {text!r}")
    return name.strip().lower(), value.strip()

"""`touchbase tools, preview, openapi, completion`: commands that only print, and store nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

import touchbase
from touchbase.cli.options import ALWAYS_JSON, find_channel, json_option, read_settings, setting_options
from touchbase.cli.output import NOTE, SHORT, Column, print_json, print_table
from touchbase.cli.store import find_client, opened, read_file, run
from touchbase.history.events import CHANNELS

if TYPE_CHECKING:
    from touchbase.connections.models import Connection

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every event that is understood.")
def tools(as_json: bool) -> None:
    """List the tools whose webhooks are understood.

    With what was seen of each (documentation, a running program, a captured body), and what its API is used for: these requests were
    tried against servers of ours that speak the published calls, on no live account.
    """
    from dataclasses import asdict

    from touchbase.adapters.catalogue import catalogue
    from touchbase.loading.requests import uses_of_api

    tool_rows = catalogue()
    uses = [uses_of_api(tool.channel, tool.tool, is_fetched=tool.is_fetched) for tool in tool_rows]
    if as_json:
        print_json(
            [
                {**asdict(tool), "seen": tool.evidence, "api_tested_against_our_server": use}
                for tool, use in zip(tool_rows, uses, strict=True)
            ]
        )
    else:
        # What was seen of each is in `sure` too, as marks; JSON has the words.
        columns = ("tool", "channel", "events", "sure", Column("API, by our server", SHORT), "signs", Column("recognised by", NOTE))
        rows = (
            (
                tool.tool,
                tool.channel,
                len(tool.understood),
                tool.marks,
                ", ".join(use),
                bool(tool.proofs),
                "; ".join(tool.recognised),
            )
            for tool, use in zip(tool_rows, uses, strict=True)
        )
        print_table(columns, rows)


@click.command()
@click.option("--channel", type=click.Choice(CHANNELS), help="The channel whose address got the webhook; needed only without --tool.")
@click.option("--tool", help="Read it as this tool's webhook; without it, the content tells.")
@click.option("--header", "-H", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header of the request; may be repeated.")
@click.option("--query", default="", help="The query string of the request.")
@click.option("--client", "--connection", "client_id", metavar="CLIENT_ID", help="Apply the connections of this client.")
@setting_options("database")
@json_option(ALWAYS_JSON)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def preview(
    channel: str | None, tool: str | None, headers: tuple[str, ...], query: str, client_id: str | None, database: str | None,
    as_json: bool, file: Path,
) -> None:  # fmt: skip
    """Print the events of a webhook, without storing it.

    FILE is its body (- for standard input); a content-encoding header is undone. Ends with status 1 if no adapter understands the
    body, 2 if the channel has no such tool. Only --client needs a store.

    \b
    touchbase preview --channel email_campaign --header 'Content-Type: application/json' call.json
    """
    from touchbase.adapters.kit.describe import describe
    from touchbase.adapters.registry import load_adapters
    from touchbase.deliveries.webhook_request import request_of

    channel = find_channel(channel, tool)
    adapters = load_adapters()
    if tool is not None and tool not in adapters.tools(channel):
        raise click.BadParameter(f"no {channel} tool is called {tool!r}: `touchbase tools` lists them", param_hint="'--tool'")
    connections = run(_connections(database, client_id)) if client_id is not None else ()
    request = request_of(channel, dict(map(_parse_header, headers)), query.removeprefix("?"), read_file(file), connections=connections)
    print_json(describe(adapters.translate(request, tool)))


async def _connections(database: str | None, client_id: str) -> Sequence[Connection]:
    from touchbase.connections.sql.connections import list_connections

    async with opened(database) as store:
        return await store.read(list_connections((await find_client(store, client_id)).number))


def _parse_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise click.UsageError("--header is 'NAME: VALUE', with a colon")
    return name.strip().lower(), value.strip()


@click.command()
@setting_options("host", "auth", "public_url")
@json_option(ALWAYS_JSON)
def openapi(as_json: bool, **options: object) -> None:
    """Print the API's OpenAPI document.

    It is the document of a server with these options.
    """
    from touchbase.routes import description

    settings = read_settings(**options)
    print_json(description(touchbase.__version__, keys_needed=not settings.open_mode, public_url=settings.public_url.rstrip("/")))


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash:  touchbase completion bash >> ~/.bashrc
    zsh:   touchbase completion zsh >> ~/.zshrc
    fish:  touchbase completion fish > ~/.config/fish/completions/touchbase.fish
    """
    script = get_completion_class(shell)
    assert script is not None, "click knows every shell in SHELLS"
    click.echo(script(ctx.find_root().command, {}, "touchbase", "_TOUCHBASE_COMPLETE").source())

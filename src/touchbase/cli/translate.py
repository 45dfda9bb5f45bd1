"""`touchbase translate`: what a webhook call means, without keeping it."""

from __future__ import annotations

from pathlib import Path

import click

from touchbase.cli.common import print_json, read_file
from touchbase.domain.delivery import CHANNELS, WebhookRequest


@click.command()
@click.option("--channel", type=click.Choice(CHANNELS), required=True, help="Which of the two webhook addresses the call went to.")
@click.option("--tool", help="Read it as this tool's call; without it, the content tells.")
@click.option("--header", "-H", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header of the call; may be given several times.")
@click.option("--query", default="", help="The query string of the call.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def translate(channel: str, tool: str | None, headers: tuple[str, ...], query: str, file: Path) -> None:
    """Show what a webhook call means: the body in FILE (- for standard input) as events, in JSON.

    Nothing is stored. Ends with status 1 when no adapter understands the body.
    """
    from touchbase.adapters import load_adapters
    from touchbase.adapters.kit.describe import describe

    request = WebhookRequest(channel, dict(map(_header, headers)), query.removeprefix("?"), read_file(file))
    print_json(describe(load_adapters().translate(request, tool)))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise click.UsageError(f"a header reads 'NAME: VALUE', not {text!r}")
    return name.strip().lower(), value.strip()

"""`touchbase attention`: problems that a person must solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import json_option
from touchbase.cli.output import NOTE, Column, print_list
from touchbase.cli.through_api import through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("severity", "client", "since", Column("what", NOTE), Column("what to do", NOTE))


@click.command()
@through_api()
@click.option("--kind", help="Only items of this kind, such as refused_webhooks.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1000), help="Most items to list.")
@json_option()
def attention(tb: Touchbase, kind: Any, limit: int, as_json: bool) -> None:
    """List problems that a person must solve, of all clients: refused webhooks, silent tools, stopped endpoints, waiting replies."""
    items = [item for item, _ in zip(tb.attention.iterate(kind=kind), range(limit), strict=False)]
    print_list(items, COLUMNS, _row, as_json=as_json, empty="nothing needs a person")


def _row(item: dict[str, Any]) -> tuple[object, ...]:
    return tuple(item[name] for name in ("severity", "client_id", "since", "title", "next"))

"""`touchbase attention`: problems that a person must solve."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import Group, json_option
from touchbase.cli.output import NOTE, SPARE, Column, print_json, print_list
from touchbase.cli.through_api import through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

COLUMNS = ("id", "severity", "client", "since", Column("snoozed until", SPARE), Column("what", NOTE), Column("what to do", NOTE))


class _ListingGroup(Group):
    """A group that lists without the name of a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments of `list` where none names a command."""
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["list", *args])


@click.group(cls=_ListingGroup)
def attention() -> None:
    """List problems that a person must solve, snooze them and wake them."""


@attention.command("list")
@through_api()
@click.option("--kind", help="Only items of this kind, such as refused_webhooks.")
@click.option("--state", type=click.Choice(("open", "snoozed")), default="open", show_default=True, help="Only items in this state.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 1000), help="Most items to list.")
@json_option()
def list_(tb: Touchbase, limit: int, as_json: bool, **filters: Any) -> None:
    """List problems that a person must solve, of all clients: refused webhooks, silent tools, stopped endpoints, waiting replies."""
    items = [*islice(tb.attention.iterate(**filters), limit)]
    print_list(
        items, COLUMNS, _row, as_json=as_json, empty="nothing needs a person" if filters["state"] == "open" else "nothing is snoozed"
    )


def _row(item: dict[str, Any]) -> tuple[object, ...]:
    return tuple(item[name] for name in ("id", "severity", "client_id", "since", "snoozed_until", "title", "next"))


@attention.command()
@through_api()
@click.argument("item_id")
@click.option("--until", metavar="TIME", required=True, help="Such as 2026-11-30T08:00:00Z.")
def snooze(tb: Touchbase, item_id: str, until: str) -> None:
    """Leave an item out of the list until a time, or until it gets critical or begins anew."""
    print_json(tb.attention.change(item_id, {"snoozed_until": until}))


@attention.command()
@through_api()
@click.argument("item_id")
def wake(tb: Touchbase, item_id: str) -> None:
    """End the snooze of an item."""
    print_json(tb.attention.change(item_id, {"snoozed_until": None}))

"""`touchbase notifications`: what a person was told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from touchbase.cli.options import Group, json_option
from touchbase.cli.output import NOTE, Column, print_json, print_list
from touchbase.cli.through_api import PAGE, page_of, through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase


@click.group(cls=Group)
def notifications() -> None:
    """List and read what you were told of: by a server, with a personal key."""


@notifications.command("list")
@through_api()
@click.option("--unread", is_flag=True, help="Only what you have not read.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most notifications to list.")
@json_option()
def list_(tb: Touchbase, unread: bool, limit: int, as_json: bool) -> None:
    """List your notifications, newest first."""
    page, _ = page_of(tb.team.notifications.iterate(unread=unread, limit=min(limit, PAGE)), limit)
    members = ("created_at", "client_id", "text", "read")
    print_list(page, ("at", "client", Column("text", NOTE), "read"), members, as_json=as_json, empty="you were told of nothing")


@notifications.command()
@through_api()
@json_option()
def read(tb: Touchbase, as_json: bool) -> None:
    """Mark all your notifications as read; what is read is not emailed any more."""
    tb.team.notifications.read()
    print_json({"read": True}) if as_json else click.echo("all notifications are read")

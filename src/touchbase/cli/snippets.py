"""`touchbase snippets`: texts that a team uses again in answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from touchbase.cli.options import Group, json_option
from touchbase.cli.output import NOTE, Column, print_json, print_list
from touchbase.cli.through_api import through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase


@click.group(cls=Group)
def snippets() -> None:
    """List, add and remove snippets: texts for answers, which / and a name insert."""


@snippets.command("list")
@through_api()
@json_option()
def list_(tb: Touchbase, as_json: bool) -> None:
    """List snippets, by name."""
    rows = tb.team.snippets.list()["data"]
    print_list(rows, ("name", Column("text", NOTE)), ("name", "text"), as_json=as_json, empty="there are no snippets")


@snippets.command()
@through_api()
@click.argument("name")
@click.argument("text")
@json_option()
def add(tb: Touchbase, name: str, text: str, as_json: bool) -> None:
    """Add a snippet, such as `Dear {{first_name}}, ...`."""
    snippet = tb.team.snippets.create({"name": name, "text": text})
    print_json(snippet) if as_json else click.echo(f"/{name} is added")


@snippets.command()
@through_api()
@click.argument("name")
@json_option()
def remove(tb: Touchbase, name: str, as_json: bool) -> None:
    """Remove a snippet."""
    snippet = next((snippet for snippet in tb.team.snippets.list()["data"] if snippet["name"].casefold() == name.casefold()), None)
    if snippet is None:
        raise click.ClickException(f"there is no snippet {name!r}: `touchbase snippets list` shows all")
    tb.team.snippets.delete(snippet["id"])
    print_json({"name": snippet["name"]}) if as_json else click.echo(f"/{snippet['name']} is removed")

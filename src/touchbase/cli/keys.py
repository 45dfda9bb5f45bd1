"""`touchbase keys`: API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.auth.api_key import KEY_STATES
from touchbase.cli.options import Group, duration, json_option, keep_old_option
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_list, print_values
from touchbase.cli.store import now_us
from touchbase.cli.through_api import PAGE, page_of, through_api
from touchbase.common.timestamps import SECOND, Micros, to_text

if TYPE_CHECKING:
    from touchbase_client import Touchbase

SCOPES = ("records:read", "records:write", "admin")
COLUMNS = (
    "key",
    Column("name", SHORT),
    "client",
    "state",
    "expires",
    Column("scopes", SPARE),
    Column("last used", SPARE),
    Column("begins", SPARE),
)


def _id_in_key(ctx: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Return the id in a key's text, so that a key that was found somewhere can be shown or revoked; other texts as they are."""
    from touchbase.auth.api_key import KEY_TEXT

    key = KEY_TEXT.fullmatch(text or "")
    return text if key is None else key[1]


KEY_ID = click.argument("key_id", callback=_id_in_key)


@click.group(cls=Group)
def keys() -> None:
    """Create, list, rotate and revoke API keys."""


@keys.command("create")
@through_api()
@click.option("--client", "client_id", help="The client whose records the key gives access to; without it, all clients.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What the key allows; may be given several times.")
@click.option("--name", required=True, help="What the key is for, shown in lists.")
@click.option("--env", default="live", show_default=True, help="A word in the key's text, to tell several keys apart.")
@click.option("--expires-in", callback=duration(), metavar="DURATION", help="The key's lifetime, such as 90d; without it, no end.")
@json_option()
def create(
    tb: Touchbase, client_id: str | None, scopes: tuple[str, ...], name: str, env: str, expires_in: Micros | None, as_json: bool
) -> None:
    """Create a key and print it: it is shown only once, and only its hash is stored.

    Without --scope it allows reading and writing records.
    """
    allowed: Any = list(scopes) or list(SCOPES[:2])
    expires = None if expires_in is None else to_text(now_us() + expires_in)
    body: Any = {"client_id": client_id, "scopes": allowed, "name": name.strip(), "env": env, "expires_time": expires}
    key = tb.admin.keys.create(body)
    if as_json:
        print_json(key)
    else:
        click.echo(key["key"])


@keys.command("list")
@through_api()
@click.option("--client", "client_id", help="Only the keys of this client.")
@click.option("--state", type=click.Choice(KEY_STATES), help="Only keys in this state.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most keys to list.")
@click.option("--before", callback=_id_in_key, help="The last key id of the previous page.")
@json_option()
def list_(tb: Touchbase, client_id: str | None, state: Any, limit: int, before: str | None, as_json: bool) -> None:
    """List keys, newest first, each with the beginning of its text."""
    listed = tb.admin.keys.iterate(client=client_id, state=state, limit=min(limit + 1, PAGE))
    page, more = page_of(listed, limit, before, "--before", "key_id")
    names = ("key_id", "name", "client_id", "state", "expires_time", "scopes", "last_used_time", "prefix")
    more_text = f"there are more: --before {page[-1]['key_id']}" if more else ""
    print_list(page, COLUMNS, names, as_json=as_json, empty="no key matches: `touchbase keys create` makes one", more=more_text)


@keys.command()
@through_api()
@KEY_ID
@json_option()
def show(tb: Touchbase, key_id: str, as_json: bool) -> None:
    """Show a key, without its text."""
    key = tb.admin.keys.get(key_id)
    print_values(key, as_json=as_json)


@keys.command()
@through_api()
@KEY_ID
@keep_old_option("24h", "How long the key stays valid after its successor is made.")
@json_option("Print JSON: the successor.")
def rotate(tb: Touchbase, key_id: str, keep_old: Micros, as_json: bool) -> None:
    """Create a key's successor and print it; it is shown only once. The key itself ends after --keep-old.

    The successor has the key's client and scopes. At most two are valid at once: a predecessor of the key ends now.

    \b
    touchbase keys rotate 3f9a1c27b0de --keep-old 24h
    """
    key = tb.admin.keys.rotate(key_id, {"keep_old_seconds": keep_old // SECOND})
    if as_json:
        print_json(key)
    else:
        click.echo(key["key"])
    click.echo(f"key {key_id} ends at {tb.admin.keys.get(key_id)['expires_time']}", err=True)


@keys.command()
@through_api()
@KEY_ID
@json_option()
def revoke(tb: Touchbase, key_id: str, as_json: bool) -> None:
    """Revoke a key; running servers refuse it within a second."""
    tb.admin.keys.revoke(key_id)
    if as_json:
        print_json(tb.admin.keys.get(key_id))
    else:
        click.echo(f"key {key_id} is revoked")

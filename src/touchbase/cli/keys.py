"""`touchbase keys`: API keys."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from touchbase.auth.api_key import KEY_STATES, ApiKey
from touchbase.cli.common import Group, find_client, json_option, opened, print_json, run, saying, setting_options
from touchbase.cli.durations import duration, keep_old_option
from touchbase.cli.tables import SHORT, SPARE, Column, print_record, print_table
from touchbase.common.timestamps import Micros, to_text

if TYPE_CHECKING:
    from touchbase.sql.store import Store

SCOPES = ("records:read", "records:write", "admin")
KNOWN = "`touchbase keys list` shows those that are there"
Shown = dict[str, object]
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


@click.group(cls=Group)
def keys() -> None:
    """Make, list, rotate and revoke API keys."""


@keys.command("create")
@setting_options("database")
@click.option("--client", "client_id", help="The client whose records the key opens; without it, any client's.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What the key allows; may be given several times.")
@click.option("--name", required=True, help="What or whom the key is for; you will see it in lists.")
@click.option("--env", default="live", show_default=True, help="A word in the key's text, for people who hold several.")
@click.option("--expires-in", callback=duration(), metavar="DURATION", help="After how long the key ends, such as 90d; without it, never.")
@json_option()
def create(
    database: str | None, client_id: str | None, scopes: tuple[str, ...], name: str, env: str, expires_in: Micros | None, as_json: bool
) -> None:
    """Make a key and print it: it is shown this once, and only its hash is kept.

    Without --scope it may read and write records.
    """
    text, made = run(_create(database, client_id, list(scopes) or list(SCOPES[:2]), name.strip(), env, expires_in))
    if as_json:
        print_json({**made, "key": text})
    else:
        click.echo(text)


@keys.command("list")
@setting_options("database")
@click.option("--client", "client_id", help="Only the keys of this client.")
@click.option("--state", type=click.Choice(KEY_STATES), help="Only keys in this state.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="How many at most.")
@click.option("--before", help="The last key id of the page before.")
@json_option()
def list_(database: str | None, client_id: str | None, state: str | None, limit: int, before: str | None, as_json: bool) -> None:
    """List keys, newest first; their texts are never shown again, only how they begin."""
    found, more = run(_list(database, client_id, state, limit, before))
    if as_json:
        print_json(found)
        return
    names = ("key_id", "name", "client_id", "state", "expires_time", "scopes", "last_used_time", "prefix")
    print_table(COLUMNS, ([each[name] for name in names] for each in found), empty="no key matches: `touchbase keys create` makes one")
    if more:
        click.echo(f"there are more: --before {found[-1]['key_id']}", err=True)


@keys.command()
@setting_options("database")
@click.argument("key_id")
@json_option()
def show(database: str | None, key_id: str, as_json: bool) -> None:
    """Show what is known of a key; never its text."""
    found = run(_show(database, key_id))
    if as_json:
        print_json(found)
    else:
        print_record(found)


@keys.command()
@setting_options("database")
@click.argument("key_id")
@keep_old_option("24h", "How long the key stays valid beside its successor.")
@json_option("Print JSON: the successor.")
def rotate(database: str | None, key_id: str, keep_old: Micros, as_json: bool) -> None:
    """Make a key's successor and print it, this once; the key itself ends after a while.

    The successor may do what the key may. At most two are valid at once: a key before this one ends now.
    """
    text, made, ends = run(_rotate(database, key_id, keep_old))
    if as_json:
        print_json({**made, "key": text})
    else:
        click.echo(text)
    click.echo(f"key {key_id} ends at {ends}", err=True)


@keys.command()
@setting_options("database")
@click.argument("key_id")
@json_option()
def revoke(database: str | None, key_id: str, as_json: bool) -> None:
    """End a key now; running servers refuse it within a second."""
    revoked = run(_revoke(database, key_id))
    if as_json:
        print_json(revoked)
    else:
        click.echo(f"key {key_id} is revoked")


async def _create(
    database: str | None, client_id: str | None, scopes: list[str], name: str, env: str, expires_in: Micros | None
) -> tuple[str, Shown]:
    """The key's text, and what is known of it."""
    from touchbase.auth.service import ENV, KEY_ID, add_key, get_key
    from touchbase.common.field_limits import NAME, why_not_storable

    if not name or len(name) > NAME or why_not_storable(name):
        raise click.UsageError(f"--name says what or whom the key is for, in 1 to {NAME} characters")
    if expires_in == 0:
        raise click.UsageError("--expires-in is above 0: a key that has ended opens nothing")
    if ENV.fullmatch(env) is None:
        raise click.UsageError("--env is 1 to 16 small letters and digits")
    async with opened(database) as store:
        client = (await find_client(store, client_id, lasting=True)).number if client_id is not None else None
        at = _now()
        expires = None if expires_in is None else at + expires_in
        text = await add_key(store, client, list(dict.fromkeys(scopes)), name, at, env=env, expires_us=expires)
        return text, await _as_values(store, await get_key(store, text[KEY_ID]))


async def _list(database: str | None, client_id: str | None, state: str | None, limit: int, before: str | None) -> tuple[list[Shown], bool]:
    from touchbase.auth.service import get_key, list_keys

    async with opened(database) as store:
        client = (await find_client(store, client_id)).number if client_id is not None else None
        place = None
        if before is not None:
            with saying(KNOWN):
                last = await get_key(store, before)
            place = (last.created_us, last.key_id)
        page, more = await list_keys(store, _now(), limit, client=client, state=state, before=place)
        return [await _as_values(store, key) for key in page], more is not None


async def _show(database: str | None, key_id: str) -> Shown:
    from touchbase.auth.service import get_key

    async with opened(database) as store:
        with saying(KNOWN):
            return await _as_values(store, await get_key(store, key_id))


async def _rotate(database: str | None, key_id: str, keep_old: Micros) -> tuple[str, Shown, str]:
    from touchbase.auth.service import get_key, rotate_key

    async with opened(database) as store:
        with saying(KNOWN):
            text, made = await rotate_key(store, key_id, _now(), keep_old)
        return text, await _as_values(store, made), to_text((await get_key(store, key_id)).expires_us or 0)


async def _revoke(database: str | None, key_id: str) -> Shown:
    from touchbase.auth.commands import RevokeKey

    async with opened(database) as store:
        with saying(KNOWN):
            return await _as_values(store, await store.write(RevokeKey(key_id, _now())))


async def _as_values(store: Store, key: ApiKey) -> Shown:
    """A key as plain values, in the words of the admin API."""
    import msgspec

    from touchbase.auth.api import described
    from touchbase.clients.commands import FindClientByNumber

    client = None if key.client is None else await store.read(FindClientByNumber(key.client))
    values: Shown = msgspec.to_builtins(described(key, client.client_id if client else None, _now()))
    return values


def _now() -> Micros:
    return time.time_ns() // 1000

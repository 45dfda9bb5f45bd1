"""`touchbase keys`: API keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.auth.api_key import KEY_STATES, ApiKey
from touchbase.cli.options import Group, duration, json_option, keep_old_option, setting_options
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_record, print_table
from touchbase.cli.remote import PAGE, fetch, say_more, some, through_server
from touchbase.cli.store import explain_not_found, find_client, now_us, opened
from touchbase.common.timestamps import SECOND, Micros, to_text

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.sql.store import Store

SCOPES = ("records:read", "records:write", "admin")
LIST_ALL = "`touchbase keys list` shows all"
Values = dict[str, object]
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
@through_server()
@setting_options("database")
@click.option("--client", "client_id", help="The client whose records the key gives access to; without it, all clients.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What the key allows; may be given several times.")
@click.option("--name", required=True, help="What the key is for, shown in lists.")
@click.option("--env", default="live", show_default=True, help="A word in the key's text, to tell several keys apart.")
@click.option("--expires-in", callback=duration(), metavar="DURATION", help="The key's lifetime, such as 90d; without it, no end.")
@json_option()
def create(
    database: str | None, client_id: str | None, scopes: tuple[str, ...], name: str, env: str, expires_in: Micros | None, as_json: bool
) -> None:
    """Create a key and print it: it is shown only once, and only its hash is stored.

    Without --scope it allows reading and writing records.
    """
    allowed = list(scopes) or list(SCOPES[:2])
    text, made = fetch(
        lambda tb: _create_at_server(tb, client_id, allowed, name.strip(), env, expires_in),
        lambda: _create(database, client_id, allowed, name.strip(), env, expires_in),
    )
    if as_json:
        print_json({**made, "key": text})
    else:
        click.echo(text)


@keys.command("list")
@through_server(only_store=("before",))
@setting_options("database")
@click.option("--client", "client_id", help="Only the keys of this client.")
@click.option("--state", type=click.Choice(KEY_STATES), help="Only keys in this state.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000), help="Most keys to list.")
@click.option("--before", callback=_id_in_key, help="The last key id of the previous page.")
@json_option()
def list_(database: str | None, client_id: str | None, state: Any, limit: int, before: str | None, as_json: bool) -> None:
    """List keys, newest first, each with the beginning of its text."""
    found, more = fetch(
        lambda tb: some(tb.admin.keys.iterate(client=client_id, state=state, limit=min(limit, PAGE)), limit),
        lambda: _list(database, client_id, state, limit, before),
    )
    if as_json:
        print_json(found)
        return
    names = ("key_id", "name", "client_id", "state", "expires_time", "scopes", "last_used_time", "prefix")
    print_table(COLUMNS, ([each[name] for name in names] for each in found), empty="no key matches: `touchbase keys create` makes one")
    if more:
        say_more("--before", found[-1]["key_id"])


@keys.command()
@through_server()
@setting_options("database")
@KEY_ID
@json_option()
def show(database: str | None, key_id: str, as_json: bool) -> None:
    """Show a key, without its text."""
    found = fetch(lambda tb: tb.admin.keys.get(key_id), lambda: _show(database, key_id))
    if as_json:
        print_json(found)
    else:
        print_record(found)


@keys.command()
@through_server()
@setting_options("database")
@KEY_ID
@keep_old_option("24h", "How long the key stays valid after its successor is made.")
@json_option("Print JSON: the successor.")
def rotate(database: str | None, key_id: str, keep_old: Micros, as_json: bool) -> None:
    """Create a key's successor and print it; it is shown only once. The key itself ends after --keep-old.

    The successor has the key's client and scopes. At most two are valid at once: a predecessor of the key ends now.
    """
    text, made, ends = fetch(lambda tb: _rotate_at_server(tb, key_id, keep_old), lambda: _rotate(database, key_id, keep_old))
    if as_json:
        print_json({**made, "key": text})
    else:
        click.echo(text)
    click.echo(f"key {key_id} ends at {ends}", err=True)


@keys.command()
@through_server()
@setting_options("database")
@KEY_ID
@json_option()
def revoke(database: str | None, key_id: str, as_json: bool) -> None:
    """Revoke a key; running servers refuse it within a second."""
    revoked = fetch(lambda tb: _revoke_at_server(tb, key_id), lambda: _revoke(database, key_id))
    if as_json:
        print_json(revoked)
    else:
        click.echo(f"key {key_id} is revoked")


def _create_at_server(
    tb: Touchbase, client_id: str | None, scopes: list[Any], name: str, env: str, expires_in: Micros | None
) -> tuple[str, Values]:
    expires = None if expires_in is None else to_text(now_us() + expires_in)
    made = tb.admin.keys.create({"client_id": client_id, "scopes": scopes, "name": name, "env": env, "expires_time": expires})
    return made["key"], {**made}


def _rotate_at_server(tb: Touchbase, key_id: str, keep_old: Micros) -> tuple[str, Values, str | None]:
    made = tb.admin.keys.rotate(key_id, {"keep_old_seconds": keep_old // SECOND})
    return made["key"], {**made}, tb.admin.keys.get(key_id)["expires_time"]


def _revoke_at_server(tb: Touchbase, key_id: str) -> Values:
    tb.admin.keys.revoke(key_id)
    return {**tb.admin.keys.get(key_id)}


async def _create(
    database: str | None, client_id: str | None, scopes: list[str], name: str, env: str, expires_in: Micros | None
) -> tuple[str, Values]:
    """Return the key's text, and its values."""
    from touchbase.auth.service import ENV, KEY_ID, add_key, get_key
    from touchbase.common.field_limits import NAME, why_not_storable

    if not name or len(name) > NAME or why_not_storable(name):
        raise click.UsageError(f"--name is a text of 1 to {NAME} characters that says what the key is for")
    if expires_in == 0:
        raise click.UsageError("--expires-in must be above 0")
    if ENV.fullmatch(env) is None:
        raise click.UsageError("--env must be 1 to 16 lower-case letters and digits")
    async with opened(database) as store:
        client = (await find_client(store, client_id, lasting=True)).number if client_id is not None else None
        at = now_us()
        expires = None if expires_in is None else at + expires_in
        text = await add_key(store, client, list(dict.fromkeys(scopes)), name, at, env=env, expires_us=expires)
        return text, await _as_values(store, await get_key(store, text[KEY_ID]))


async def _list(
    database: str | None, client_id: str | None, state: str | None, limit: int, before: str | None
) -> tuple[list[Values], bool]:
    from touchbase.auth.service import get_key, list_keys

    async with opened(database) as store:
        client = (await find_client(store, client_id)).number if client_id is not None else None
        last_row = None
        if before is not None:
            with explain_not_found(LIST_ALL):
                last = await get_key(store, before)
            last_row = (last.created_us, last.key_id)
        page, more = await list_keys(store, now_us(), limit, client=client, state=state, before=last_row)
        return [await _as_values(store, key) for key in page], more is not None


async def _show(database: str | None, key_id: str) -> Values:
    from touchbase.auth.service import get_key

    async with opened(database) as store:
        with explain_not_found(LIST_ALL):
            return await _as_values(store, await get_key(store, key_id))


async def _rotate(database: str | None, key_id: str, keep_old: Micros) -> tuple[str, Values, str]:
    from touchbase.auth.service import get_key, rotate_key

    async with opened(database) as store:
        with explain_not_found(LIST_ALL):
            text, made = await rotate_key(store, key_id, now_us(), keep_old)
        return text, await _as_values(store, made), to_text((await get_key(store, key_id)).expires_us or 0)


async def _revoke(database: str | None, key_id: str) -> Values:
    from touchbase.auth.commands import RevokeKey

    async with opened(database) as store:
        with explain_not_found(LIST_ALL):
            return await _as_values(store, await store.write(RevokeKey(key_id, now_us())))


async def _as_values(store: Store, key: ApiKey) -> Values:
    """Return a key with the member names of the admin API."""
    import msgspec

    from touchbase.auth.api import described
    from touchbase.clients.commands import FindClientByNumber

    client = None if key.client is None else await store.read(FindClientByNumber(key.client))
    values: Values = msgspec.to_builtins(described(key, client.client_id if client else None, now_us()))
    return values

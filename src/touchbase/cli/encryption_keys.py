"""`touchbase encryption-keys`: generate, check and rotate the key that encrypts secrets in the store, or replace a lost one."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.each_cell import cells_as_they_are, keys_at_hand
from touchbase.cli.options import Group, json_option, read_settings, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.store import opened, run

if TYPE_CHECKING:
    from touchbase.encryption.cipher import EncryptionState, SecretLocation
    from touchbase.sql.store import Store

PAGE = 200
WORDS = {"secrets": "secret", "access_token": "access token"}


@click.group(cls=Group)
def encryption_keys() -> None:
    """Generate, check and rotate the key that encrypts secrets in all databases."""


@encryption_keys.command()
@json_option()
def generate(as_json: bool) -> None:
    """Print a new encryption key, for TOUCHBASE_ENCRYPTION_KEY or the file that TOUCHBASE_ENCRYPTION_KEY_FILE names."""
    from touchbase.encryption.keys import encode_key, new_key

    text = encode_key(new_key())
    if as_json:
        print_json({"encryption_key": text})
    else:
        click.echo(text)


@encryption_keys.command()
@setting_options("database")
@json_option()
def check(database: str | None, as_json: bool) -> None:
    """Try to decrypt every secret, in all databases, and count the secrets by their key.

    Only reads, also while a server runs or if the key is missing. Ends with status 1 if a secret cannot be decrypted or is not encrypted.
    """
    state, lost, down = run(_check(database))
    if as_json:
        print_json({"sealed": state.by_key, "in_clear": state.clear, "lost": lost, **({"not_checked": down} if down else {})})
    else:
        _print_state(state, lost)
        for name, why in down.items():
            click.echo(f"database {name} was not checked: {why}", err=True)
    if lost or state.clear or down:
        raise SystemExit(1)


def _print_state(state: EncryptionState, lost: list[str]) -> None:
    for key_id, count in sorted(state.by_key.items()):
        click.echo(f"{count} encrypted with the encryption key {key_id}")
    for why in lost:
        click.echo(f"cannot be decrypted: {why}")
    if state.clear:
        click.echo(f"{state.clear} not encrypted: start the server, or run `touchbase migrate`, with an encryption key")
    if lost:
        click.echo("set the missing key (TOUCHBASE_ENCRYPTION_KEY, TOUCHBASE_ENCRYPTION_KEY_OLD, or the key file next to the store);")
        click.echo("if it is lost permanently, see `touchbase encryption-keys replace-lost`")
    if not lost and not state.clear:
        click.echo("every secret can be decrypted" if state.by_key else "there are no secrets")


@encryption_keys.command()
@setting_options("database")
@json_option()
def rotate(database: str | None, as_json: bool) -> None:
    """Encrypt every secret again with the present encryption key, also in all databases, and retire the previous one.

    Servers may run during it. With TOUCHBASE_ENCRYPTION_KEY, first start every server with the new key there and the previous one in
    TOUCHBASE_ENCRYPTION_KEY_OLD. On a SQLite store with a key file the command makes the new key, and a running server finds it by
    itself. Stopped half way, it continues when it is run again.
    """
    encrypted, retired, aside = run(_rotate(database))
    if as_json:
        print_json({"sealed": encrypted, "forgotten": retired, "key_before": str(aside[0]) if aside else None})
        return
    keys = f"; no longer needed: {', '.join(retired)}" if retired else ""
    click.echo(f"encrypted {_secrets(encrypted)} again{keys}")
    for file in aside:
        click.echo(f"the previous key is in {file}: store it as long as you have backups from before now, but not in the same place")


@encryption_keys.command("replace-lost")
@setting_options("database")
@click.option("--yes", is_flag=True, help="Replace them; without it, only list them.")
@json_option()
def replace_lost(database: str | None, yes: bool, as_json: bool) -> None:
    """Replace each secret that only a lost encryption key decrypts by a random one.

    Webhooks that must prove such a secret are refused until `touchbase connections add` sets a new one.
    """
    _, lost, down = run(_check(database))
    for name, why in down.items():
        click.echo(f"database {name} was not checked: {why}", err=True)
    if as_json:
        print_json({"lost": lost, "replaced": run(_replace_lost(database)) if yes and lost else []})
        return
    for why in lost:
        click.echo(f"lost: {why}")
    if not lost:
        click.echo("no secret is lost: there is nothing to replace")
        return
    if not yes:
        click.echo("nothing was changed; --yes replaces them")
        return
    replaced = run(_replace_lost(database))
    for place in replaced:
        click.echo(f"replaced: {place}")
    click.echo(f"replaced {_secrets(len(replaced))} by random ones: set new ones with `touchbase connections add`")


def _secrets(count: int) -> str:
    return f"{count} {'secret' if count == 1 else 'secrets'}"


async def _check(database: str | None) -> tuple[EncryptionState, list[str], dict[str, str]]:
    """Return the state of all stores, a text for each secret that cannot be decrypted, and why a cell could not be checked."""
    from touchbase.encryption.cipher import EncryptionState
    from touchbase.encryption.encrypted_columns import check_encryption

    total, lost = EncryptionState(), list[str]()
    async with _every_store(database) as (stores, down):
        for prefix, store in stores:
            state = await store.read(check_encryption())
            for key_id, count in state.by_key.items():
                total.by_key[key_id] = total.by_key.get(key_id, 0) + count
            total.clear += state.clear
            lost += [f"{prefix}{await _describe(store, value.location)} {value.why}" for value in state.lost]
    return total, lost, down


@asynccontextmanager
async def _every_store(database: str | None) -> AsyncIterator[tuple[list[tuple[str, Store]], dict[str, str]]]:
    """Open all stores, also without their keys; yield each with a heading for its secrets, and the reason if a cell cannot be used."""
    from touchbase.encryption.encrypted_columns import check_encryption
    from touchbase.storage.cell_names import cell_names

    async with _opened_without_key(database) as home:
        if (await home.read(check_encryption())).lost:
            names = await cell_names(read_settings(database=database).database)
            yield [("", home)], dict.fromkeys(names, "the home database's key is missing, which encrypts its address")
            return
        async with cells_as_they_are(home) as cells:
            yield [("", home), *((f"database {name}: ", store) for name, (_, store) in cells.stores.items())], cells.down


async def _describe(store: Store, place: SecretLocation) -> str:
    """Return a text that names a secret by the options of `touchbase connections add`."""
    from touchbase.clients.sql.clients import find_client_by_number

    table, column, *key = place
    if table != "connection":
        return f"the check value of encryption key {key[0]}"
    number, channel, tool = key
    assert isinstance(number, int)
    client = await store.read(find_client_by_number(number))
    return f"the {WORDS[str(column)]} of {tool} ({channel}) of client {(client.client_id if client else number)!r}"


async def _replace_lost(database: str | None) -> list[str]:
    from touchbase.encryption import encrypted_columns as sql_encrypted_columns

    async with _every_store(database) as (stores, _):
        return [
            f"{prefix}{await _describe(store, place)}"
            for prefix, store in stores
            for place in await store.write(sql_encrypted_columns.replace_lost())
        ]


async def _rotate(database: str | None) -> tuple[int, list[str], list[Path]]:
    """Rotate in the home store, then in each cell. Nothing is done while a secret of any store is lost, or a cell is down."""
    from touchbase.encryption.encrypted_columns import check_encryption

    total = 0
    async with opened(database) as router, cells_as_they_are(router.home) as cells:
        cells.refuse_down("nothing was changed, since a database that misses a rotation keeps the previous key")
        settings = read_settings(database=database)
        stores = [(settings.database, router.home), *((cell.address, store) for cell, store in cells.stores.values())]
        for _, store in stores:
            state = await store.read(check_encryption())
            if state.lost:
                first = state.lost[0]
                raise click.ClickException(
                    f"{await _describe(store, first.location)} {first.why}: `touchbase encryption-keys check` lists all of them"
                )
            total += sum(state.by_key.values())
        if not total:
            raise click.ClickException("this store has no encrypted secret: there is nothing to rotate")
        encrypted, retired, aside = 0, set[str](), list[Path]()
        for address, store in stores:
            rotated, no_longer, file = await _rotate_store(address, store)
            encrypted += rotated
            retired |= set(no_longer)
            aside += [file] if file is not None else []
    return encrypted, sorted(retired), aside


async def _rotate_store(address: str, store: Store) -> tuple[int, list[str], Path | None]:
    """Encrypt the secrets of one store again; return how many, the keys that it needs no longer, and the file of the previous key."""
    from touchbase.encryption.encrypted_columns import check_encryption, reencrypt_batch, retire_keys
    from touchbase.encryption.key_file import KeyFile
    from touchbase.storage import keys_of

    total, encrypted = sum((await store.read(check_encryption())).by_key.values()), 0
    if not total:
        return 0, [], None
    keys = keys_of(address, keys_at_hand())
    if isinstance(keys, KeyFile):
        keys.begin_rotation()
    while batch := await store.write(reencrypt_batch(PAGE)):
        encrypted += batch
        if sys.stderr.isatty():
            click.echo(f"\r{encrypted} of {total}", err=True, nl=encrypted >= total)
    retired = await store.write(retire_keys())
    return encrypted, list(retired), keys.end_rotation() if isinstance(keys, KeyFile) else None


@asynccontextmanager
async def _opened_without_key(database: str | None) -> AsyncIterator[Store]:
    """Open the store, also if its encryption key is missing."""
    from touchbase.encryption.encrypted_columns import check_encryption
    from touchbase.errors import UnusableStore

    try:
        async with opened(database):
            pass
    except UnusableStore as error:
        async with opened(database, as_is=True) as store:
            try:
                await store.read(check_encryption())
            except Exception:
                raise error from None  # the cause is not a missing key
    async with opened(database, as_is=True) as store:
        yield store

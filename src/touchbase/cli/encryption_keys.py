"""`touchbase encryption-keys`: the encryption key that seals secrets in the store: made, checked, replaced, given up for lost."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import Group, json_option, opened, print_json, read_settings, run, setting_options

if TYPE_CHECKING:
    from touchbase.encryption.commands import EncryptionState, Place
    from touchbase.sql.store import Store

PAGE = 200
WORDS = {"secrets": "secret", "access_token": "access token"}


@click.group(cls=Group)
def encryption_keys() -> None:
    """Look after the encryption key that seals secrets in the store."""


@encryption_keys.command()
@json_option()
def generate(as_json: bool) -> None:
    """Print a new encryption key, for TOUCHBASE_ENCRYPTION_KEY or the file that TOUCHBASE_ENCRYPTION_KEY_FILE names."""
    from touchbase.encryption.keys import new_key, text_of

    text = text_of(new_key())
    if as_json:
        print_json({"encryption_key": text})
    else:
        click.echo(text)


@encryption_keys.command()
@setting_options("database")
@json_option()
def check(database: str | None, as_json: bool) -> None:
    """Try to open every secret, and count them by the key that seals them.

    Only reads, also beside a running server. Ends with status 1 when one cannot be opened, or lies there in clear.
    """
    found, lost = run(_check(database))
    if as_json:
        print_json({"sealed": found.by_key, "in_clear": found.clear, "lost": lost})
    else:
        _tell_seals(found, lost)
    if lost or found.clear:
        raise SystemExit(1)


def _tell_seals(found: EncryptionState, lost: list[str]) -> None:
    for key_id, count in sorted(found.by_key.items()):
        click.echo(f"{count} sealed with the encryption key {key_id}")
    for why in lost:
        click.echo(f"cannot be opened: {why}")
    if found.clear:
        click.echo(f"{found.clear} in clear: start the server, or run `touchbase migrate`, with an encryption key")
    if lost:
        click.echo("give the missing key back (TOUCHBASE_ENCRYPTION_KEY, TOUCHBASE_ENCRYPTION_KEY_OLD, the key file beside the store);")
        click.echo("if it is lost for good, see `touchbase encryption-keys replace-lost`")
    if not lost and not found.clear:
        click.echo("every secret can be opened" if found.by_key else "there are no secrets")


@encryption_keys.command()
@setting_options("database")
@json_option()
def rotate(database: str | None, as_json: bool) -> None:
    """Seal every secret again with the present encryption key, and let go of the one before.

    Servers may run meanwhile. With TOUCHBASE_ENCRYPTION_KEY, first start every server with the new key there and the one before in
    TOUCHBASE_ENCRYPTION_KEY_OLD. On a SQLite store with a key file the new key is made here, and a running server finds it by
    itself. Stopped half way, it goes on when it is run again.
    """
    sealed, forgotten, aside = run(_rotate(database))
    if as_json:
        print_json({"sealed": sealed, "forgotten": forgotten, "key_before": None if aside is None else str(aside)})
        return
    keys = f"; no longer needed: {', '.join(forgotten)}" if forgotten else ""
    click.echo(f"sealed {_many(sealed)} again{keys}")
    if aside is not None:
        click.echo(f"the key before is in {aside}: keep it as long as there are backups from before now, but not beside them")


@encryption_keys.command("replace-lost")
@setting_options("database")
@click.option("--yes", is_flag=True, help="Do it; without this, only say what would be done.")
@json_option()
def replace_lost(database: str | None, yes: bool, as_json: bool) -> None:
    """When an encryption key is lost for good: replace each secret that only it opens by a random one that nobody knows.

    Calls that had to prove such a secret are refused until `touchbase connections add` sets a new one: nobody gets in unproven.
    """
    _, lost = run(_check(database))
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
    click.echo(f"replaced {_many(len(replaced))} by random ones: set new ones with `touchbase connections add`")


def _many(count: int) -> str:
    return f"{count} {'secret' if count == 1 else 'secrets'}"


async def _check(database: str | None) -> tuple[EncryptionState, list[str]]:
    """What was found, and each secret that is lost in words."""
    from touchbase.encryption.commands import CheckEncryption

    async with _opened_anyhow(database) as store:
        found = await store.read(CheckEncryption())
        return found, [f"{await _named(store, one.place)} {one.why}" for one in found.lost]


async def _named(store: Store, place: Place) -> str:
    """Where a secret stands, in words that `touchbase connections add` takes: the store itself knows a client by its number."""
    from touchbase.clients.commands import FindClientByNumber

    table, column, *key = place
    if table != "connection":
        return f"the mark of encryption key {key[0]}"
    number, channel, tool = key
    assert isinstance(number, int)
    client = await store.read(FindClientByNumber(number))
    return f"the {WORDS[str(column)]} of {tool} ({channel}) of client {(client.client_id if client else number)!r}"


async def _replace_lost(database: str | None) -> list[str]:
    from touchbase.encryption.commands import ReplaceLost

    async with _opened_anyhow(database) as store:
        return [await _named(store, place) for place in await store.write(ReplaceLost())]


async def _rotate(database: str | None) -> tuple[int, list[str], Path | None]:
    from touchbase.encryption.commands import CheckEncryption, Reencrypt, RetireKeys
    from touchbase.encryption.key_file import KeyFile

    keys = _keys(database)
    async with opened(database) as store:
        found = await store.read(CheckEncryption())
        if found.lost:
            first = found.lost[0]
            raise click.ClickException(
                f"{await _named(store, first.place)} {first.why}: `touchbase encryption-keys check` names all that cannot be opened"
            )
        total, sealed = sum(found.by_key.values()), 0
        if not total:
            raise click.ClickException("no secret is sealed in this store yet: there is nothing to rotate")
        if isinstance(keys, KeyFile):
            keys.begin_rotation()
        while some := await store.write(Reencrypt(PAGE)):
            sealed += some
            if sys.stderr.isatty():
                click.echo(f"\r{sealed} of {total}", err=True, nl=sealed >= total)
        forgotten = await store.write(RetireKeys())
    return sealed, forgotten, keys.end_rotation() if isinstance(keys, KeyFile) else None


def _keys(database: str | None) -> object:
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.storage import keys_of

    settings = read_settings(database=database)
    return keys_of(settings.database, EncryptionKeys(settings.encryption_key, settings.encryption_key_old))


@asynccontextmanager
async def _opened_anyhow(database: str | None) -> AsyncIterator[Store]:
    """The store, also one whose encryption key is not at hand."""
    from touchbase.encryption.commands import CheckEncryption
    from touchbase.errors import UnusableStore

    try:
        async with opened(database):
            pass
    except UnusableStore as error:
        async with opened(database, as_is=True) as store:
            try:
                await store.read(CheckEncryption())
            except Exception:
                raise error from None  # it is not the key that is missing
    async with opened(database, as_is=True) as store:
        yield store

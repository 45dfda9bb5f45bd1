"""Secrets are sealed where they are kept, open only in their place and with their key, and are never taken for absent."""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ENCRYPTION_KEYS, ExecuteSql, bytes_in, names_in

from touchbase.clients.sql.clients import ensure_client
from touchbase.connections.models import NO_SETTINGS, Connection, Sender
from touchbase.connections.sql.connections import add_connection, change_connection, list_connections
from touchbase.encryption import key_file
from touchbase.encryption.cipher import AesGcmCipher, DecryptionFailed
from touchbase.encryption.encrypted_columns import check_encryption, reencrypt_batch, replace_lost, retire_keys
from touchbase.encryption.key_file import KeyFile
from touchbase.encryption.keys import NO_KEYS, EncryptionKeys, StaticKeys, decode_key, encode_key, new_key
from touchbase.errors import Invalid, Overloaded, UnusableStore
from touchbase.sql.store import Store
from touchbase.stores import open_store

SECRET = "a-secret-of-ours"
OLD, NEW = encode_key(new_key()), encode_key(new_key())
BEFORE, BOTH, AFTER = EncryptionKeys(OLD), EncryptionKeys(NEW, OLD), EncryptionKeys(NEW)

Open = Callable[..., Awaitable[Store]]


@pytest.fixture
async def open_with_keys(engine_url: str) -> AsyncIterator[Open]:
    """Opens the store with these encryption keys; closes it after the test."""
    async with AsyncExitStack() as opened:

        async def open_it(keys: EncryptionKeys, **options: bool) -> Store:
            store = await open_store(engine_url, encryption_keys=keys, **options)
            opened.push_async_callback(store.close)
            return store

        yield open_it


async def connect(store: Store, tool: str = "hubspot", secret: str | None = SECRET) -> Connection:
    client = (await store.write(ensure_client("acme", 1))).number
    return await store.write(add_connection(Connection(client, "crm", tool, 1, 1, [secret] if secret else [])))


async def secrets(store: Store) -> list[list[str]]:
    return [connection.secrets for connection in await store.read(list_connections(1))]


async def test_connection_secret__is_stored_only_encrypted(store: Store, engine_url: str, execute_sql: ExecuteSql, tmp_path: Path) -> None:
    await connect(store)
    await store.write(change_connection(1, "crm", "hubspot", ["another-secret", SECRET], NO_SETTINGS, 2))

    remaining = await execute_sql("SELECT secrets FROM connection")
    files = bytes_in(tmp_path) if engine_url.startswith("sqlite") else str(remaining).encode()

    assert remaining[0][0].startswith("sealed:1:")
    assert SECRET.encode() not in files
    assert b"another-secret" not in files
    assert await secrets(store) == [["another-secret", SECRET]]


async def test_encrypted_secret__fails_to_decrypt_in_another_row(store: Store, execute_sql: ExecuteSql) -> None:
    await connect(store)
    await connect(store, "close", "the other one")
    await execute_sql("UPDATE connection SET secrets = (SELECT secrets FROM connection WHERE tool = 'close') WHERE tool = 'hubspot'")

    with pytest.raises(Overloaded, match="cannot be decrypted now"):
        await secrets(store)
    (lost,) = (await store.read(check_encryption())).lost
    assert lost.location == ("connection", "secrets", 1, "crm", "hubspot")
    assert lost.why.startswith("was changed or moved")


@pytest.mark.parametrize("keys", [EncryptionKeys(NEW), NO_KEYS])
async def test_open_store__refuses_a_missing_or_wrong_encryption_key(open_with_keys: Open, keys: EncryptionKeys) -> None:
    await connect(await open_with_keys(BEFORE))

    with pytest.raises(UnusableStore, match=f"encrypted with the key {decode_key(OLD, '').id}, which is missing or wrong"):
        await open_with_keys(keys)
    with pytest.raises(Overloaded):
        await secrets(await open_with_keys(keys, as_is=True))


async def test_change_connection__refuses_only_the_connection_that_fails_to_decrypt(open_with_keys: Open, execute_sql: ExecuteSql) -> None:
    before = await open_with_keys(BEFORE)
    await connect(before)
    await connect(before, "close", None)
    store = await open_with_keys(AFTER, as_is=True)

    for at in range(2, 6):  # more often than there are connections that write
        async with asyncio.timeout(30):
            refused, changed = await asyncio.gather(
                store.write(change_connection(1, "crm", "hubspot", None, NO_SETTINGS, at)),
                store.write(change_connection(1, "crm", "close", [SECRET], NO_SETTINGS, at)),
                return_exceptions=True,
            )

        assert isinstance(refused, DecryptionFailed)
        assert isinstance(changed, Connection)
    assert await execute_sql("SELECT tool, updated_us FROM connection ORDER BY tool") == [("close", 5), ("hubspot", 1)]


async def test_open_store__refuses_a_changed_canary(open_with_keys: Open, execute_sql: ExecuteSql) -> None:
    await connect(await open_with_keys(BEFORE))
    await execute_sql("UPDATE encryption_key SET canary = (SELECT secrets FROM connection)")

    with pytest.raises(UnusableStore, match="missing or wrong"):
        await open_with_keys(BEFORE)


async def test_store_without_secrets__needs_no_encryption_key(open_with_keys: Open, tmp_path: Path) -> None:
    await connect(await open_with_keys(NO_KEYS), secret=None)

    again = await open_with_keys(NO_KEYS)

    assert await secrets(again) == [[]]
    assert "touchbase.db.key" not in names_in(tmp_path)


async def test_postgresql_without_an_encryption_key__refuses_secrets_with_an_instruction(postgres_url: str) -> None:
    store = await open_store(postgres_url)
    await connect(store, "close", None)

    refused = await asyncio.gather(
        connect(store), store.write(change_connection(1, "crm", "close", [SECRET], NO_SETTINGS, 2)), return_exceptions=True
    )
    result = await secrets(store)
    await store.close()

    assert [type(item) for item in refused] == [Invalid, Invalid]
    assert all("/secrets: cannot be stored" in str(item) and "`touchbase encryption-keys generate`" in str(item) for item in refused)
    assert result == [[]]


async def test_open_store__encrypts_secrets_stored_in_clear(
    open_with_keys: Open, engine_url: str, execute_sql: ExecuteSql, tmp_path: Path
) -> None:
    first = await open_with_keys(BEFORE)
    tools = [f"tool{n}" for n in range(40)]
    for tool in tools:
        await connect(first, tool, None)
    await first.close()
    await execute_sql("UPDATE connection SET secrets = ?", f'["{SECRET}"]')

    again = await open_with_keys(BEFORE)
    files = bytes_in(tmp_path)

    assert (await execute_sql("SELECT secrets FROM connection"))[0][0].startswith("sealed:1:")
    assert await secrets(again) == [[SECRET]] * 40
    assert (await again.read(check_encryption())).clear == 0
    assert SECRET.encode() not in files


async def test_open_store__refuses_unencrypted_secrets_without_a_key_on_postgresql(postgres_url: str) -> None:
    store = await open_store(postgres_url, encryption_keys=BEFORE)
    await connect(store)
    await store.close()
    connection = await asyncpg.connect(postgres_url, server_settings={"touchbase.clients": "all"})
    await connection.execute(f"UPDATE connection SET secrets = '[\"{SECRET}\"]'; DELETE FROM encryption_key")
    await connection.close()

    with pytest.raises(UnusableStore, match="contains unencrypted secrets"):
        await open_store(postgres_url)


async def test_encryption_key_rotation__encrypts_all_secrets_again_while_servers_read(open_with_keys: Open) -> None:
    first = await open_with_keys(BEFORE)
    for tool in ("attio", "close", "hubspot"):
        await connect(first, tool)
    await connect(first, "zoho", None)
    server, command = await open_with_keys(BOTH), await open_with_keys(BOTH)

    steps, observed = [], []
    while steps[-1:] != [0]:
        steps.append(await command.write(reencrypt_batch(2)))
        observed.append(await secrets(server))
    forgotten = await command.write(retire_keys())

    assert steps == [2, 1, 0]
    assert observed == [[[SECRET], [SECRET], [SECRET], []]] * 3
    assert forgotten == [decode_key(OLD, "").id]
    assert await secrets(await open_with_keys(AFTER)) == [[SECRET], [SECRET], [SECRET], []]
    with pytest.raises(UnusableStore, match="missing or wrong"):
        await open_with_keys(BEFORE)


async def test_unfinished_encryption_key_rotation__needs_both_keys(open_with_keys: Open) -> None:
    first = await open_with_keys(BEFORE)
    await connect(first)
    await connect(first, "close")
    await (await open_with_keys(BOTH)).write(reencrypt_batch(1))

    for keys in (BEFORE, AFTER):
        with pytest.raises(UnusableStore, match="missing or wrong"):
            await open_with_keys(keys)


async def test_secret_encrypted_with_a_retired_key__is_readable_with_both_keys(open_with_keys: Open) -> None:
    forgotten_server = await open_with_keys(BEFORE)
    await connect(forgotten_server)
    command = await open_with_keys(BOTH)
    await command.write(reencrypt_batch(100))
    await command.write(retire_keys())

    await connect(forgotten_server, "close", "sealed with the old key")

    with pytest.raises(UnusableStore, match=f"encrypted with the key {decode_key(OLD, '').id}"):
        await open_with_keys(AFTER)
    assert await secrets(await open_with_keys(BOTH)) == [["sealed with the old key"], [SECRET]]


async def test_replace_lost__replaces_undecryptable_secrets_with_random_ones(open_with_keys: Open) -> None:
    first = await open_with_keys(BEFORE)
    await connect(first)
    await connect(first, "zoho", None)

    replaced = await (await open_with_keys(AFTER, as_is=True)).write(replace_lost())

    hubspot, zoho = await secrets(await open_with_keys(AFTER))
    assert replaced == [("connection", "secrets", 1, "crm", "hubspot")]
    assert (len(hubspot), len(hubspot[0]) > 30, zoho) == (1, True, [])


async def test_key_file__is_created_with_the_first_secret_and_readable_by_its_owner_only(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(sqlite_url)
    file = tmp_path / "touchbase.db.key"

    before = file.exists()
    with caplog.at_level(logging.WARNING):
        await connect(store)
    await store.close()
    again = await open_store(sqlite_url)
    result = await secrets(again)
    await again.close()

    assert (before, stat.S_IMODE(file.stat().st_mode)) == (False, 0o600)
    assert f"created {file}" in caplog.text
    assert file.read_text().strip() not in caplog.text
    assert result == [[SECRET]]
    assert names_in(tmp_path) == ["touchbase.db", "touchbase.db.key"]


async def test_running_store__reads_an_encryption_key_that_another_process_made_or_rotated(sqlite_url: str, tmp_path: Path) -> None:
    server, command = await open_store(sqlite_url), await open_store(sqlite_url)
    keys = KeyFile(tmp_path / "touchbase.db.key")

    await connect(command)
    new_secrets = await secrets(server)
    keys.begin_rotation()
    await command.write(reencrypt_batch(100))
    await command.write(retire_keys())
    aside = keys.end_rotation()
    rotated = await secrets(server)
    await connect(server, "close", "sealed with the new key")
    await server.close()
    await command.close()
    aside.unlink()  # type: ignore[union-attr]
    again = await open_store(sqlite_url)
    result = await secrets(again)
    await again.close()

    assert new_secrets == rotated == [[SECRET]]
    assert result == [["sealed with the new key"], [SECRET]]


def test_key_file_rotation__resumes_with_the_key_that_it_made(tmp_path: Path) -> None:
    key_file.create_key_file(tmp_path / "k")
    KeyFile(tmp_path / "k").begin_rotation()
    first = KeyFile(tmp_path / "k").current()

    KeyFile(tmp_path / "k").begin_rotation()

    assert KeyFile(tmp_path / "k").current() == first


async def test_key_file__is_created_once_by_concurrent_processes(tmp_path: Path) -> None:
    results = await asyncio.gather(*(asyncio.to_thread(KeyFile(tmp_path / "k").current) for _ in range(8)))

    assert len({key.id for key in results}) == 1
    assert names_in(tmp_path) == ["k"]


@pytest.mark.parametrize("content", [b"", b"short", b"\xff\xfe", b"no base64 at all, no base64 at all, no base"])
def test_key_file__refuses_invalid_content_without_showing_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "k").write_bytes(content)

    with pytest.raises(UnusableStore, match="key file") as refused:
        KeyFile(tmp_path / "k").current()
    assert not content or content.decode("latin-1") not in refused.value.detail


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (EncryptionKeys("wrong-key"), "TOUCHBASE_ENCRYPTION_KEY is not an encryption key"),
        (EncryptionKeys("", OLD), "without TOUCHBASE_ENCRYPTION_KEY"),
    ],
)
async def test_open_store__refuses_an_invalid_encryption_key_without_showing_it(keys: EncryptionKeys, says: str) -> None:
    with pytest.raises(UnusableStore, match=says) as refused:
        await open_store("sqlite://", encryption_keys=keys)
    assert "wrong-key" not in refused.value.detail


PLACES = st.tuples(st.sampled_from(["connection", "other"]), st.sampled_from(["secrets", "token"]), st.integers(), st.text(), st.text())


@given(st.text(), PLACES, PLACES)
def test_cipher__decrypts_any_text_only_with_its_key_and_in_its_location(
    text: str, place: tuple[object, ...], second: tuple[object, ...]
) -> None:
    key, another = new_key(), new_key()
    sealed = AesGcmCipher(StaticKeys([key])).encrypt(text, place)

    assert AesGcmCipher(StaticKeys([another, key])).decrypt(sealed, place) == text
    assert not text.strip() or len(text) < 8 or text not in sealed
    with pytest.raises(DecryptionFailed):
        AesGcmCipher(StaticKeys([another])).decrypt(sealed, place)
    if second != place:
        with pytest.raises(DecryptionFailed):
            AesGcmCipher(StaticKeys([key])).decrypt(sealed, second)


@given(st.binary(min_size=1))
def test_cipher__refuses_any_other_text(raw: bytes) -> None:
    key = new_key()

    with pytest.raises(DecryptionFailed):
        AesGcmCipher(StaticKeys([key])).decrypt(f"sealed:1:{key.id}:{raw.decode('latin-1')}", ("connection", "secrets", 1))


def test_repr__hides_secrets_and_encryption_keys() -> None:
    connection = Connection(1, "crm", "hubspot", 1, 1, [SECRET])
    shown = [
        connection,
        add_connection(connection),
        change_connection(1, "crm", "hubspot", [SECRET], NO_SETTINGS, 1),
        Sender("hubspot", True, (SECRET,)),
    ]

    assert SECRET not in repr(shown)
    assert OLD not in repr([BEFORE, EncryptionKeys(NEW, OLD), decode_key(OLD, "")])
    assert ENCRYPTION_KEYS.current not in repr(ENCRYPTION_KEYS)


async def test_unreadable_key_file__is_logged_and_refuses_a_secret_for_now(
    sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(sqlite_url)
    (tmp_path / "touchbase.db.key").write_text("not a key")

    with pytest.raises(Overloaded, match="cannot be encrypted now"):
        await connect(store)
    result = await secrets(store)
    await store.close()

    assert "is not an encryption key" in caplog.text
    assert result == []


def test_create_key_file__leaves_no_file_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)

    with pytest.raises(UnusableStore, match="No space left"):
        key_file.create_key_file(tmp_path / "touchbase.db.key")
    assert names_in(tmp_path) == []

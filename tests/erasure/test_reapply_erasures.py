"""Whom one store knows to be erased is erased in a restored one: every page, every client that is there, none else's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import ensure_client, rotate_client_id
from touchbase.common.normalize import email_key
from touchbase.do_not_contact.models import NewEntry
from touchbase.do_not_contact.sql.entries import remove_entry, save_entries
from touchbase.do_not_contact.sql.lookup import list_clear_addresses, list_entries
from touchbase.erasure import reapply as module
from touchbase.erasure.reapply import finish_erasures, reapply_erasures
from touchbase.erasure.service import Eraser
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.sql.store import Store
from touchbase.stores import open_store


def now() -> int:
    return 9


def eraser(store: Store) -> Eraser:
    return Eraser(store, load_adapters().translate, now)


async def filled(path: Path, *client_ids: str) -> Store:
    """A store with five people at each of these clients; each client is made at a time of its own."""
    store = await open_store(f"sqlite:///{path}")
    for client_id in client_ids:
        client = (await store.write(ensure_client(client_id, len(client_id)))).number
        for n in range(5):
            email = f"person{n}@example.com"
            await store.write(create_contact(Creation(Contact(client, 0, 5, 5, email=email, email_key=email_key(email)))))
    return store


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[tuple[Store, Store]]:
    """A restored store, and the one that was in use meanwhile, where most people of acme and one of other were erased."""
    restored, known = await filled(tmp_path / "restored.db", "acme", "other"), await filled(tmp_path / "known.db", "acme", "other", "later")
    for client, contacts in ((1, (1, 2, 3, 4)), (2, (6,)), (3, (11,))):
        for contact in contacts:
            erasure = await eraser(known).erase(client, contact)
            await eraser(known).search(erasure)
    yield restored, known
    await restored.close()
    await known.close()


async def emails(store: Store, client: int) -> list[str | None]:
    return [contact.email for contact in await store.read(list_records(Listing(CONTACT_TYPE, client, 50)))]


async def test_reapply_erasures__applies_every_page_to_the_restored_store(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    restored, known = stores
    monkeypatch.setattr(module, "PAGE", 3)

    added = await reapply_erasures(restored, known, now())
    await finish_erasures(restored, eraser(restored))

    assert added == 5
    assert await emails(restored, 1) == ["person4@example.com"]
    assert await emails(restored, 2) == [f"person{n}@example.com" for n in (1, 2, 3, 4)]


async def test_reapply_erasures__repeated_adds_nothing(stores: tuple[Store, Store]) -> None:
    restored, known = stores
    await reapply_erasures(restored, known, now())

    assert await reapply_erasures(restored, known, now()) == 0


async def test_reapply_erasures__skips_a_client_with_a_different_number(tmp_path: Path, stores: tuple[Store, Store]) -> None:
    other = await filled(tmp_path / "other.db", "other", "acme")

    added = await reapply_erasures(other, stores[1], now())
    await finish_erasures(other, eraser(other))

    assert added == 0
    assert [len(await emails(other, client)) for client in (1, 2)] == [5, 5]
    await other.close()


async def test_reapply_erasures__recognises_a_client_with_a_rotated_id(stores: tuple[Store, Store]) -> None:
    restored, known = stores
    await known.write(rotate_client_id(1, "acme-now", 7))

    await reapply_erasures(restored, known, now())
    await finish_erasures(restored, eraser(restored))

    assert await emails(restored, 1) == ["person4@example.com"]


async def test_reapply_erasures__skips_a_different_client_with_an_equal_number(tmp_path: Path, stores: tuple[Store, Store]) -> None:
    other = await filled(tmp_path / "other.db", "somebody else", "other")

    await reapply_erasures(other, stores[1], now())
    await finish_erasures(other, eraser(other))

    assert [len(await emails(other, client)) for client in (1, 2)] == [5, 4]
    await other.close()


async def test_restored_list__stores_an_erased_address_as_a_hash(tmp_path: Path, stores: tuple[Store, Store]) -> None:
    restored, known = stores
    listed = [NewEntry("email", f"person{n}@example.com") for n in (0, 1, 4)]
    saved = await restored.write(save_entries(1, listed, now()))
    await restored.write(remove_entry(1, saved[0].entry.id, now()))

    await reapply_erasures(restored, known, now())
    await finish_erasures(restored, eraser(restored))

    assert await restored.read(list_clear_addresses(1, 9)) == [("email", "person4@example.com")]
    left = await restored.read(list_entries(1, 9, now()))
    assert {each.id: each.value for each in left} == {saved[1].entry.id: None, saved[2].entry.id: "person4@example.com"}

"""Who may fill a spool: clients that were known before share it, ids that are not known have a tenth, and a restart changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient, CountedMetrics, MakeClient

from touchbase.encryption.cipher import NO_CIPHER
from touchbase.errors import StoreUnavailable
from touchbase.spool.files import SpoolFiles
from touchbase.spool.spool import Spool
from touchbase.sql.store import Store

MB = 1_000_000
MOST_BYTES = 20 * MB
RECORD = 100 + 8
"""Bytes of a record of 100 bytes in a file."""


class DownStore:
    """A store whose database is away."""

    async def read(self, query: object) -> Any:
        """Raise `StoreUnavailable`."""
        raise StoreUnavailable("the database is away")

    write = read


def new_spool(folder: Path) -> Spool:
    return Spool(folder / "spool", MOST_BYTES, NO_CIPHER, CountedMetrics())


@pytest.fixture
async def restarted(memory: Store, make_client: MakeClient, tmp_path: Path) -> ApiClient:
    """A server that was started while its database is away; before, the clients `honest` and `other` had webhooks."""
    before = new_spool(tmp_path)
    call = make_client(memory, spool=before)
    for client_id in ("honest", "other"):
        assert (await call.post(f"/public/crm-webhook/{client_id}", {"n": 1})).status == 200
    before.close()
    return make_client(DownStore(), spool=new_spool(tmp_path))  # type: ignore[arg-type]


async def statuses(call: ApiClient, client_ids: list[str]) -> list[int]:
    """Send a webhook of a megabyte for each of these ids."""
    return [
        (await call("POST", f"/public/crm-webhook/{client_id}", raw=b"%03d" % number + b"x" * MB)).status
        for number, client_id in enumerate(client_ids)
    ]


async def test_unknown_ids__fill_a_tenth_and_the_known_client_is_accepted(restarted: ApiClient) -> None:
    unknown = await statuses(restarted, [f"guess-{number}" for number in range(23)])
    honest = await statuses(restarted, ["honest"])

    # A megabyte is 1.33 in the file, since a body stands there in base64.
    assert unknown == [200] + [503] * 22
    assert honest == [200]


async def test_one_known_client__fills_half_and_leaves_room_for_another(restarted: ApiClient) -> None:
    honest = await statuses(restarted, ["honest"] * 20)
    other_statuses = await statuses(restarted, ["other"] * 20)

    assert 5 <= honest.count(200) <= 7
    assert 2 <= other_statuses.count(200) <= 4


async def test_known_clients__are_not_written_by_their_id(restarted: ApiClient, tmp_path: Path) -> None:
    text = (tmp_path / "spool" / "known-clients").read_bytes()

    assert len(text.splitlines()) == 2
    assert b"honest" not in text


async def test_without_any_known_client__all_ids_share_the_spool(make_client: MakeClient, tmp_path: Path) -> None:
    call = make_client(DownStore(), spool=new_spool(tmp_path))  # type: ignore[arg-type]

    assert await statuses(call, ["honest"] * 4) == [200] * 4


async def test_spooled_webhooks_of_unknown_ids__are_stored_too(restarted: ApiClient, make_client: MakeClient, memory: Store) -> None:
    await statuses(restarted, ["guess-1", "honest"])
    spool = restarted.parts.spool
    assert spool is not None
    make_client(memory, spool=spool)

    assert await spool.drain() == 2


def test_share__is_what_is_free_and_begins_anew_after_a_part_was_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.spool.files.SIZE_SECONDS", 0)
    files = SpoolFiles(tmp_path, 9 * RECORD)
    record = b"x" * 100

    alone = files.append_shared([("a", record)] * 9)
    with_another = files.append_shared([("b", record)] * 9)
    taken = files.take()
    assert taken is not None
    taken.remove()
    anew = files.append_shared([("a", record)] * 9)

    assert (alone.count(True), with_another.count(True), anew.count(True)) == (5, 2, 5)

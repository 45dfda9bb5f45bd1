"""Recent calls: what stands beside the deliveries goes and comes with them."""

from __future__ import annotations

from tests.conftest import ExecuteSql
from tests.storage.test_contract_erasure import EMAIL, REF, House, house, sent

from touchbase.history.dedupe_keys import body_key

__all__ = ["house"]


async def test_dedupe_key__is_deleted_with_the_body_of_an_erased_person(house: House, execute_sql: ExecuteSql) -> None:
    body = b'[{"event": "email_sent", "email": "%s", "occurred_us": 5}]' % EMAIL.encode()
    first = await house.keep(body)
    await house.tell(sent("bob@example.com", 2))
    assert await house.keep(body) == first

    await house.erase(refs=(REF,))

    keys = [bytes(key) for (key,) in await execute_sql("SELECT key FROM dedupe_key")]
    assert (len(keys), body_key("crm", "", "", body) in keys) == (1, False)
    again = await house.keep(body)
    await house.work()
    assert again != first
    assert (await house.state(again))[:2] == ("ignored", "erased")


async def test_newer_equal_webhook__that_waits_is_erased_with_the_older_one(house: House) -> None:
    body = b'[{"event": "email_sent", "email": "%s", "occurred_us": 5}]' % EMAIL.encode()
    await house.keep(body)
    await house.work()
    house.now += 3601 * 1_000_000
    newer = await house.keep(body)

    await house.erase(refs=(REF,))

    assert (await house.state(newer))[:2] == ("ignored", "erased")
    again = await house.keep(body)
    await house.work()
    assert again != newer
    assert (await house.state(again))[:2] == ("ignored", "erased")

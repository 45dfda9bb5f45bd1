"""When the newest webhook of each client arrived."""

from __future__ import annotations

from tests.asgi_client import MakeClient
from tests.house import House, read
from tests.reports.test_campaigns import mail

from touchbase.auth.authentication import ADMIN, READ, add_key
from touchbase.sql.store import Store

PATH = "/team/v1/deliveries/newest"


async def test_newest__is_of_each_active_client_that_the_key_may_see(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, read=read)
    acme, beta, _ = [await House.of(call, name) for name in ("acme", "beta", "silent")]
    await acme.hook("camp", mail("ann", -60))
    at_first = call.clock.move(60)
    await beta.hook("camp", mail("ann", -60))
    await beta.hook("camp", mail("bob", -60), apply=False)
    at_last = call.clock.move(60)
    await acme.hook("camp", mail("cat", -60))

    everything = (await call.get(PATH)).json()["data"]
    guarded = make_client(store, read=read, auth="api-key")
    guarded.clock.now = call.clock.now
    keys = [await add_key(store, beta.number, [scope], "own", call.clock()) for scope in (ADMIN, READ)]
    own, refused = [await guarded.get(PATH, authorization=f"Bearer {key}") for key in keys]

    assert everything == [{"client_id": "acme", "received_at": at_last}, {"client_id": "beta", "received_at": at_first}]
    assert own.json()["data"] == everything[1:]
    assert refused.status == 403

"""An endpoint that misses an event, and knows an entry of the installation's list, for tests about all tables."""

from __future__ import annotations

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.models import DOMAIN, INSTALLATION, NewEntry
from touchbase.do_not_contact.sql.entries import remove_entry, save_entries
from touchbase.outgoing.models import ACTIVE, Attempt, Endpoint, Pending, Secret
from touchbase.outgoing.sql.announced import announce_installation_list
from touchbase.outgoing.sql.dispatch import lead_shards, store_progress
from touchbase.outgoing.sql.endpoints import add_endpoint
from touchbase.sql.store import Store

TOKEN = "a-process"


async def miss_an_event(store: Store, client: int, at: Micros, *, secret: str = "", text: str = "down") -> Endpoint:
    """Add an endpoint that refused the client's first event, and then release the leases."""
    secrets = [Secret(secret)] if secret else []
    new = Endpoint(client, 0, f"https://{text}.example/hooks", at, at, secrets=secrets, state_us=at, description=text)
    endpoint = await store.write(add_endpoint(new))
    await store.write(lead_shards(TOKEN, at, at + 1))
    attempt = Attempt(client, endpoint.id, 1, "contact.created", at, 1, "refused", 500, 5, text)
    waiting = Pending(1, (1, 1), 1, at, at + 5)
    kept = await store.write(store_progress(client, endpoint.id, TOKEN, at, 1, [waiting], [], [attempt], at, None, ACTIVE))
    assert kept
    await store.write(lead_shards(TOKEN, at, 0, leaving=True))
    [listed] = await store.write(save_entries(INSTALLATION, [NewEntry(DOMAIN, f"{text}.example")], at))
    await store.write(announce_installation_list(client, endpoint.id, at))
    await store.write(remove_entry(INSTALLATION, listed.entry.id, at))
    return endpoint

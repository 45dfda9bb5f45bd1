"""Endpoints that miss events: one knows an entry of the installation's list, one pushes to a tool; for tests of all tables."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.models import DOMAIN, INSTALLATION, NewEntry
from touchbase.do_not_contact.sql.entries import remove_entry, save_entries
from touchbase.outgoing.models import ACTIVE, Attempt, Endpoint, Pending, Secret
from touchbase.outgoing.sql.announced import announce_installation_list
from touchbase.outgoing.sql.dispatch import lead_shards, store_progress
from touchbase.outgoing.sql.endpoints import add_endpoint
from touchbase.sql.store import Store

TOKEN = "a-process"
PUSHED = ("delivered", "refused")
"""Outcomes of the pushes of `miss_a_push`, in their order."""


async def miss_an_event(store: Store, client: int, at: Micros, *, secret: str = "", text: str = "down") -> Endpoint:
    """Add an endpoint that refused the client's first event, and then release the leases."""
    secrets = [Secret(secret)] if secret else []
    new = Endpoint(client, 0, f"https://{text}.example/hooks", at, at, secrets=secrets, state_us=at, description=text)
    endpoint = await store.write(add_endpoint(new))
    await store.write(lead_shards(TOKEN, at, at + 1))
    attempt = Attempt(client, endpoint.id, 1, "contact.created", at, 1, "refused", 500, 5, text)
    waiting = Pending(1, (1, 1), 1, at, at + 5)
    progress = await store.write(store_progress(client, endpoint.id, TOKEN, at, 1, [waiting], [], [attempt], at, None, ACTIVE))
    assert progress
    await store.write(lead_shards(TOKEN, at, 0, leaving=True))
    [listed] = await store.write(save_entries(INSTALLATION, [NewEntry(DOMAIN, f"{text}.example")], at))
    await store.write(announce_installation_list(client, endpoint.id, at))
    await store.write(remove_entry(INSTALLATION, listed.entry.id, at))
    return endpoint


async def miss_a_push(store: Store, client: int, endpoint_id: int, sequences: Sequence[int], at: Micros) -> None:
    """Store attempts of an endpoint of the kind blocklist for events of entries: the first was taken, the second was refused and waits."""
    await store.write(lead_shards(TOKEN, at, at + 1))
    attempts = [
        Attempt(client, endpoint_id, sequence, "suppression.added", at, 1, outcome, 200 if outcome == "delivered" else 400, 5, outcome)
        for sequence, outcome in zip(sequences, PUSHED, strict=True)
    ]
    waiting = Pending(sequences[1], (1, 1), 1, at, at + 5)
    progress = await store.write(store_progress(client, endpoint_id, TOKEN, at, sequences[1], [waiting], [], attempts, at, None, ACTIVE))
    assert progress
    await store.write(lead_shards(TOKEN, at, 0, leaving=True))

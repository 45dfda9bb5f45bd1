"""Diagnosis of a store: what an operator should look at, each finding with what to do next. Only reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from touchbase.auth.api_key import ACTIVE as ACTIVE_KEY
from touchbase.auth.api_key import ApiKey
from touchbase.auth.service import list_keys
from touchbase.clients.commands import ListClients
from touchbase.clients.models import ACTIVE, Client
from touchbase.common.timestamps import DAY, SECOND, Micros, to_text
from touchbase.connections.commands import ListConnections, ListFetching
from touchbase.connections.fetch_settings import fetching_state
from touchbase.connections.models import Connection
from touchbase.encryption.commands import CheckEncryption
from touchbase.errors import Overloaded
from touchbase.inbox.delivery import FAILED, PARKED, RECEIVED, UNRECOGNISED, Delivery
from touchbase.inbox.queries import BusyClients, CountInbox, ListDeliveries
from touchbase.sql.store import Store

OK, NOTE, PROBLEM = "ok", "note", "problem"
FAST: Micros = 60 * SECOND
"""How far a delivery's time may be ahead of the clock."""
DRIFT: Micros = 5 * SECOND
"""How far the database server's clock may be from this machine's."""
BEHIND: Micros = 600 * SECOND
"""How long a delivery may wait to be applied."""
SOON: Micros = 14 * DAY
"""How long before its end a key is reported."""
UNUSED: Micros = 30 * DAY
"""After how long a key that was never used is reported."""
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `ok`, a `note` that may be as intended, or a `problem` with what to do `next`."""

    check: str
    level: str
    detail: str
    next: str | None = None


async def diagnose(store: Store, now: Micros, *, silent: Micros, keys_needed: bool) -> AsyncIterator[Finding]:
    """Yield the findings of a store whose schema is up to date, check by check; `silent`: how long a connection may receive nothing."""
    clients = [client for client in await store.read(ListClients()) if client.state == ACTIVE]
    for name, look in (
        ("clock", _clock(store, now)),
        ("encryption", _encryption(store)),
        ("keys", _keys(store, clients, now, keys_needed)),
        ("connections", _connections(store, clients, now, silent)),
        ("inbox", _inbox(store, now)),
    ):
        found = [Finding(name, *each) async for each in look]
        for each in found:
            yield each


Looked = AsyncIterator[tuple[str, str, str | None]]
"""Level, detail, and what to do next."""


def clock_finding(clock_us: Micros, now: Micros) -> Finding:
    """Compare the database server's clock with this machine's."""
    drift = abs(clock_us - now)
    if drift <= DRIFT:
        return Finding("clock", OK, "the database server's clock agrees with this machine's")
    detail = f"the database server's clock is {drift / SECOND:.0f} seconds {'ahead of' if clock_us > now else 'behind'} this machine's"
    return Finding("clock", PROBLEM, detail, "synchronise both with NTP: signatures and retention depend on the time")


async def _clock(store: Store, now: Micros) -> Looked:
    newest = await _newest(store)
    if newest is not None and newest.received_us > now + FAST:
        late = (newest.received_us - now) / SECOND
        detail = f"this machine's clock is {late:.0f} seconds behind the newest delivery, received at {_time(newest.received_us)}"
        yield PROBLEM, detail, "set the clock (NTP): one that was put back makes events look older than they are"
    else:
        yield OK, "the clock is not behind the newest delivery", None


async def _encryption(store: Store) -> Looked:
    found = await store.read(CheckEncryption())
    if found.lost:
        yield (
            PROBLEM,
            f"{len(found.lost)} secrets cannot be decrypted with the keys at hand",
            "`touchbase encryption-keys check` names them",
        )
    if found.clear:
        yield PROBLEM, f"{found.clear} secrets are stored in clear", "start the server with an encryption key: it encrypts them"
    if not found.lost and not found.clear:
        many = sum(found.by_key.values())
        yield OK, f"all {many} secrets can be decrypted" if many else "no secrets are stored", None


async def _keys(store: Store, clients: Sequence[Client], now: Micros, needed: bool) -> Looked:
    keys: list[ApiKey] = []
    page, more = await list_keys(store, now, PAGE, state=ACTIVE_KEY)
    while True:
        keys += page
        if more is None:
            break
        page, more = await list_keys(store, now, PAGE, state=ACTIVE_KEY, before=more)
    fine = True
    for key in keys:
        if key.expires_us is not None and key.expires_us < now + SOON and key.replaced_by is None:
            fine = False
            yield PROBLEM, f"key {key.key_id} ({key.name}) ends at {_time(key.expires_us)}", f"`touchbase keys rotate {key.key_id}`"
        elif key.last_used_us is None and key.created_us < now - UNUSED:
            fine = False
            detail = f"key {key.key_id} ({key.name}) was never used since {to_text(key.created_us)[:10]}"
            yield NOTE, detail, f"`touchbase keys revoke {key.key_id}`, if it is not needed"
    owners = {key.client for key in keys}
    if needed and not keys:
        fine = False
        yield PROBLEM, "no key is active, and every call but webhooks needs one", "`touchbase keys create --name NAME --scope admin`"
    elif needed and (without := [client for client in clients if client.number not in owners]):
        fine = False
        named = ", ".join(client.client_id for client in without[:3]) + (", ..." if len(without) > 3 else "")
        yield NOTE, f"{len(without)} clients have no key of their own: {named}", "`touchbase keys create --client CLIENT --name NAME`"
    if fine:
        yield OK, f"{len(keys)} keys are active" if keys or needed else "no key is needed", None


async def _connections(store: Store, clients: Sequence[Client], now: Micros, silent: Micros) -> Looked:
    many, fine = 0, True
    for client in clients:
        try:
            connected = await store.read(ListConnections(client.number))
        except Overloaded as error:  # a secret that cannot be decrypted
            fine = False
            yield PROBLEM, f"the connections of {client.client_id} cannot be read: {error.detail}", "`touchbase encryption-keys check`"
            continue
        many += len(connected)
        for connection in connected:
            if (found := await _silence(store, client, connection, now, silent)) is not None:
                fine = False
                yield found
        for going in await store.read(ListFetching(client.number)):
            if fetching_state(going) == "stopped":
                fine = False
                detail = f"{client.client_id} {going.tool}: fetching records has stopped: {going.error}"
                yield PROBLEM, detail, f"`touchbase connections add --client {client.client_id} --tool {going.tool} --access-token TOKEN`"
    if fine:
        yield OK, f"all {many} connections receive webhooks" if many else "no tool is connected", None


async def _silence(store: Store, client: Client, one: Connection, now: Micros, silent: Micros) -> tuple[str, str, str] | None:
    """The finding about a connection that has received nothing for so long."""
    newest = await _newest(store, client, one)
    since = one.created_us if newest is None else newest.received_us
    if since > now - silent:
        return None
    days = (now - since) // DAY
    heard = f"nothing was ever received, in {days} days" if newest is None else f"nothing was received for {days} days"
    place = f"--client {client.client_id} --channel {one.channel} --tool {one.tool}"
    check = f"check the webhook in {one.tool}; `touchbase refusals list {place}` shows calls that were refused"
    return PROBLEM, f"{client.client_id} {one.tool} ({one.channel}): {heard}", check


async def _inbox(store: Store, now: Micros) -> Looked:
    counts = await store.read(CountInbox())
    waiting_us = counts.oldest_us.get(RECEIVED, now)
    busy = await store.read(BusyClients(now))
    fine = True
    if busy and waiting_us < now - BEHIND:
        fine = False
        detail = f"{counts.by_state.get(RECEIVED, 0)} deliveries wait, the oldest since {_time(waiting_us)}"
        yield PROBLEM, detail, "start `touchbase serve` or `touchbase worker`; one that runs says in its log why it does not apply them"
    if failed := counts.by_state.get(FAILED, 0):
        fine = False
        yield (
            PROBLEM,
            f"{failed} deliveries failed",
            "`touchbase inbox list --group --state failed` says why; `touchbase inbox replay --state failed`",
        )
    for state, why in (
        (UNRECOGNISED, "no adapter understands them"),
        (PARKED, "they name objects that no other delivery has connected with an address yet"),
    ):
        if many := counts.by_state.get(state, 0):
            fine = False
            yield NOTE, f"{many} deliveries are {state}: {why}", f"`touchbase inbox list --group --state {state}`"
    if fine:
        yield OK, "no delivery failed or waits too long", None


def _time(at: Micros) -> str:
    """A time to the second."""
    return to_text(at - at % SECOND)


async def _newest(store: Store, client: Client | None = None, one: Connection | None = None) -> Delivery | None:
    """The newest delivery, of all or of one connection."""
    place = (None, None, None) if client is None or one is None else (client.number, one.channel, one.tool)
    return next(iter(await store.read(ListDeliveries(1, *place))), None)

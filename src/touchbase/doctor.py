"""Diagnosis of a store for operators: findings, each with the next step. Only reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from touchbase.attention.plans import KEY_NOTICE, MAX_FAILING
from touchbase.auth.api_key import ACTIVE as ACTIVE_KEY
from touchbase.auth.api_key import ApiKey
from touchbase.auth.service import list_keys
from touchbase.clients.models import ACTIVE, MOVING, Client
from touchbase.clients.sql.clients import list_clients
from touchbase.clients.sql.stored_bytes import list_near_limit
from touchbase.clients.stored_bytes import WARNING_PERCENT, is_above, percent_of
from touchbase.common.timestamps import DAY, SECOND, Micros, to_text
from touchbase.connections.fetch_state import fetching_state
from touchbase.connections.models import Connection
from touchbase.connections.rhythm import CallStatistics
from touchbase.connections.silence import duration, usual_text
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.sql.fetching import list_fetching
from touchbase.connections.sql.silence import list_calls
from touchbase.deliveries.delivery import FAILED, PARKED, RECEIVED, UNRECOGNISED, Delivery
from touchbase.deliveries.sql.objects import any_object, count_objects
from touchbase.encryption.encrypted_columns import check_encryption
from touchbase.erasure.sql.persons import open_erasures
from touchbase.errors import Overloaded
from touchbase.history.events import CRM
from touchbase.inbox.sql.queries import busy_clients, count_inbox, list_deliveries
from touchbase.outgoing.line import PAUSE_AFTER
from touchbase.outgoing.mail_client import recipients, why_not_mailed
from touchbase.outgoing.models import ACTIVE as ACTIVE_ENDPOINT
from touchbase.outgoing.models import Trouble
from touchbase.outgoing.sql.dispatch import list_mail_endpoints, list_troubles
from touchbase.projection.bin_rows import asked_erasures
from touchbase.sql.store import Store

OK, NOTE, PROBLEM = "ok", "note", "problem"
MAX_CLOCK_LAG: Micros = 60 * SECOND
"""Maximum time that a delivery may be ahead of the clock."""
MAX_CLOCK_DRIFT: Micros = 5 * SECOND
"""Maximum difference between the clocks of the database server and this machine."""
MAX_DELIVERY_AGE: Micros = 600 * SECOND
"""Maximum time that a delivery may wait to be applied."""
MAX_UNUSED_AGE: Micros = 30 * DAY
"""Age from which a key that was never used is reported."""
MAX_ERASURE_AGE: Micros = 600 * SECOND
"""Time that an erasure may take."""
MAX_REMOVAL_AGE = 2 * 3600 * SECOND
"""Objects of restored bodies are removed an hour later."""
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: `ok`, a `note` that may be intended, or a `problem` with the `next` step."""

    check: str
    level: str
    detail: str
    next: str | None = None


async def diagnose(
    store: Store, now: Micros, *, silent: Micros, keys_needed: bool, mail_domains: Sequence[str] = ()
) -> AsyncIterator[Finding]:
    """Yield the findings of a store whose schema is up to date, check by check.

    `silent`: how long a connection may receive nothing; `mail_domains`: where e-mail may be sent, empty if that is not known.
    """
    every_client = await store.read(list_clients())
    clients = [client for client in every_client if client.state == ACTIVE]
    for name, check in (
        ("moves", _moves(every_client)),
        ("clock", _clock(store, now)),
        ("encryption", _encryption(store)),
        ("keys", _keys(store, clients, now, keys_needed)),
        ("connections", _connections(store, clients, now, silent)),
        ("inbox", _inbox(store, now)),
        ("storage", _storage(store, clients)),
        ("webhooks", _webhooks(store, now, mail_domains)),
        ("objects", _objects(store, now)),
        ("erasures", _erasures(store, now)),
    ):
        findings = [Finding(name, *result) async for result in check]
        for finding in findings:
            yield finding


Results = AsyncIterator[tuple[str, str, str | None]]
"""Level, detail, and next step."""


async def _moves(clients: Sequence[Client]) -> Results:
    for client_id in sorted({client.client_id for client in clients if client.state == MOVING}):
        yield (
            PROBLEM,
            f"client {client_id} is being moved to another database: nothing of it is written",
            f"wait, or if no `touchbase clients move` runs, repeat it; `--to` with its former database ends it: clients move {client_id}",
        )


def clock_finding(clock_us: Micros, now: Micros) -> Finding:
    """Compare the database server's clock with this machine's."""
    drift = abs(clock_us - now)
    if drift <= MAX_CLOCK_DRIFT:
        return Finding("clock", OK, "the database server's clock agrees with this machine's")
    detail = f"the database server's clock is {drift / SECOND:.0f} seconds {'ahead of' if clock_us > now else 'behind'} this machine's"
    return Finding("clock", PROBLEM, detail, "synchronise both with NTP: signatures and retention depend on the time")


async def _clock(store: Store, now: Micros) -> Results:
    newest = await _newest(store)
    if newest is not None and newest.received_us > now + MAX_CLOCK_LAG:
        late = (newest.received_us - now) / SECOND
        detail = f"this machine's clock is {late:.0f} seconds behind the newest delivery, received at {_time(newest.received_us)}"
        yield PROBLEM, detail, "set the clock (NTP): a clock that was set back makes events look older than they are"
    else:
        yield OK, "the clock is not behind the newest delivery", None


async def _encryption(store: Store) -> Results:
    state = await store.read(check_encryption())
    if state.lost:
        yield (
            PROBLEM,
            f"{len(state.lost)} secrets cannot be decrypted with the keys at hand",
            "`touchbase encryption-keys check` names them",
        )
    if state.clear:
        yield PROBLEM, f"{state.clear} secrets are stored in clear", "start the server with an encryption key: it encrypts them"
    if not state.lost and not state.clear:
        many = sum(state.by_key.values())
        yield OK, f"all {many} secrets can be decrypted" if many else "no secrets are stored", None


async def _keys(store: Store, clients: Sequence[Client], now: Micros, needed: bool) -> Results:
    keys: list[ApiKey] = []
    page, more = await list_keys(store, now, PAGE, state=ACTIVE_KEY)
    while True:
        keys += page
        if more is None:
            break
        page, more = await list_keys(store, now, PAGE, state=ACTIVE_KEY, before=more)
    fine = True
    for key in keys:
        if key.expires_us is not None and key.expires_us < now + KEY_NOTICE and key.replaced_by is None:
            fine = False
            yield PROBLEM, f"key {key.key_id} ({key.name}) ends at {_time(key.expires_us)}", f"`touchbase keys rotate {key.key_id}`"
        elif key.last_used_us is None and key.created_us < now - MAX_UNUSED_AGE:
            fine = False
            detail = f"key {key.key_id} ({key.name}) was never used since {to_text(key.created_us)[:10]}"
            yield NOTE, detail, f"`touchbase keys revoke {key.key_id}`, if it is not needed"
    owners = {key.client for key in keys}
    if needed and not keys:
        fine = False
        yield PROBLEM, "no key is active, and every request except webhooks needs one", "`touchbase keys create --name NAME --scope admin`"
    elif needed and (without := [client for client in clients if client.number not in owners]):
        fine = False
        named = ", ".join(client.client_id for client in without[:3]) + (", ..." if len(without) > 3 else "")
        yield NOTE, f"{len(without)} clients have no separate key: {named}", "`touchbase keys create --client CLIENT --name NAME`"
    if fine:
        yield OK, f"{len(keys)} keys are active" if keys or needed else "no key is needed", None


async def _connections(store: Store, clients: Sequence[Client], now: Micros, silent: Micros) -> Results:
    many, fine = 0, True
    for client in clients:
        try:
            connected = await store.read(list_connections(client.number))
        except Overloaded as error:  # a secret that cannot be decrypted
            fine = False
            yield PROBLEM, f"the connections of {client.client_id} cannot be read: {error.detail}", "`touchbase encryption-keys check`"
            continue
        many += len(connected)
        calls = {(statistics.channel, statistics.tool): statistics for statistics in await store.read(list_calls(client.number, now))}
        for connection in connected:
            statistics = calls.get((connection.channel, connection.tool))
            if (finding := await _silence(store, client, connection, statistics, now, silent)) is not None:
                fine = False
                yield finding
        with_token = {connection.tool for connection in connected if connection.channel == CRM and connection.access_token}
        for going in await store.read(list_fetching(client.number)):
            add_token = f"`touchbase connections add --client {client.client_id} --tool {going.tool} --access-token TOKEN`"
            if going.wanted and going.tool not in with_token:
                fine = False
                detail = f"{client.client_id} {going.tool}: records wait ({going.wanted}), because its webhooks leave out their values"
                yield NOTE, detail, f"{add_token} lets a worker fetch them, or let {going.tool} send addresses and values"
            elif fetching_state(going) == "stopped":
                fine = False
                detail = f"{client.client_id} {going.tool}: fetching records has stopped: {going.error}"
                yield PROBLEM, detail, add_token
    if fine:
        yield OK, f"all {many} connections receive webhooks" if many else "no tool is connected", None


async def _silence(
    store: Store, client: Client, connection: Connection, calls: CallStatistics | None, now: Micros, silent: Micros
) -> tuple[str, str, str] | None:
    """Return a finding if a connection is silent by its rhythm, or has received nothing for `silent` microseconds."""
    if not connection.settings.silence_alarm:
        return None
    named, options = (
        f"{connection.tool} ({connection.channel})",
        f"--client {client.client_id} --channel {connection.channel} --tool {connection.tool}",
    )
    check = f"look at the webhook in {connection.tool}; `touchbase refusals list {options}` shows refused webhooks"
    if calls is not None and calls.silent_since_us is not None:
        passed = duration(now, calls.silent_since_us)
        return PROBLEM, f"nothing from {named} for {client.client_id} for {passed}; usually {usual_text(calls)}", check
    newest = await _newest(store, client, connection)
    since = connection.created_us if newest is None else newest.received_us
    if since > now - silent:
        return None
    days = (now - since) // DAY
    received = f"nothing was ever received, in {days} days" if newest is None else f"nothing was received for {days} days"
    return PROBLEM, f"{client.client_id} {named}: {received}", check


async def _inbox(store: Store, now: Micros) -> Results:
    counts = await store.read(count_inbox())
    waiting_us = counts.oldest_us.get(RECEIVED, now)
    busy = await store.read(busy_clients(now))
    fine = True
    if busy and waiting_us < now - MAX_DELIVERY_AGE:
        fine = False
        detail = f"{counts.by_state.get(RECEIVED, 0)} deliveries wait, the oldest since {_time(waiting_us)}"
        yield PROBLEM, detail, "start `touchbase serve` or `touchbase worker`; a running one logs why it does not apply them"
    if failed := counts.by_state.get(FAILED, 0):
        fine = False
        yield (
            PROBLEM,
            f"{failed} deliveries failed",
            "`touchbase inbox list --group --state failed` says why; `touchbase inbox replay --state failed`",
        )
    for state, why in (
        (UNRECOGNISED, "no adapter understands them"),
        (PARKED, "they name objects that no delivery has linked to an address yet"),
    ):
        if many := counts.by_state.get(state, 0):
            fine = False
            yield NOTE, f"{many} deliveries are {state}: {why}", f"`touchbase inbox list --group --state {state}`"
    if fine:
        yield OK, "no delivery failed or waits too long", None


def _failing(trouble: Trouble, since: Micros, now: Micros) -> str:
    """Describe an active endpoint that fails: since when, why, what waits, and what follows."""
    answer = trouble.error or (f"the receiver answers {trouble.status}" if trouble.status else "no response")
    waits = f"{_events(trouble.waiting)} waiting for another attempt" if trouble.waiting else "nothing waits for another attempt"
    lost = f", {_events(trouble.failed)} with all attempts failed" if trouble.failed else ""
    then = f"; if nothing succeeds it is paused at {_time(since + PAUSE_AFTER)}" if trouble.waiting and now - since >= MAX_FAILING else ""
    return f"has failed since {_time(since)} ({duration(now, since)}), {answer}: {waits}{lost}{then}"


def _events(count: int) -> str:
    return f"{count} event{'s' * (count != 1)}"


async def _webhooks(store: Store, now: Micros, mail_domains: Sequence[str] = ()) -> Results:
    fine = True
    for trouble in await store.read(list_troubles()):
        fine = False
        named = f"webhook endpoint {trouble.endpoint_id} of {trouble.client_id or 'the audit log'} ({trouble.url})"
        options = f"--client {trouble.client_id or 'all'}"
        replay = f"`touchbase endpoints replay {options} {trouble.endpoint_id} --failed-since 30d` sends them again"
        if trouble.state != ACTIVE_ENDPOINT:
            detail = f"{named} is {trouble.state} since {_time(trouble.state_us)}: {trouble.reason}"
            yield PROBLEM, detail, f"`touchbase endpoints test {options} {trouble.endpoint_id}`, then `resume`, or `remove`"
        elif trouble.failing_since_us is None:
            yield PROBLEM, f"{named} works, but {_events(trouble.failed)} failed in all attempts", replay
        else:
            shows = f"`touchbase endpoints attempts {options} --endpoint {trouble.endpoint_id}` shows the responses"
            level = NOTE if now - trouble.failing_since_us < MAX_FAILING and not trouble.failed else PROBLEM
            yield level, f"{named} {_failing(trouble, trouble.failing_since_us, now)}", f"{shows}; {replay}" if trouble.failed else shows
    for endpoint in await store.read(list_mail_endpoints()) if mail_domains else ():
        reasons = [why for address in recipients(endpoint.url) if (why := why_not_mailed(address, mail_domains)) is not None]
        if reasons:
            fine = False
            detail = f"webhook endpoint {endpoint.endpoint_id} of {endpoint.client_id}: {reasons[0].partition(';')[0]}; its events wait"
            yield PROBLEM, detail, "add the domain to TOUCHBASE_MAIL_DOMAINS, or change the recipients of the endpoint"
    if fine:
        yield OK, "no webhook endpoint fails or is paused", None


async def _storage(store: Store, clients: Sequence[Client]) -> Results:
    names, fine = {client.number: client.client_id for client in clients}, True
    for share in await store.read(list_near_limit()):
        if share.client not in names:
            continue
        fine = False
        used = percent_of(share.stored_bytes, share.limit_bytes)
        detail = f"{names[share.client]} stores {share.stored_bytes} bytes, {used} % of its {share.limit_bytes}"
        full = is_above(100, share.stored_bytes, share.limit_bytes)
        next_step = "delete data, shorten `keep_bodies_days`, or raise `max_stored_bytes` with `touchbase clients configure`"
        yield (PROBLEM if full else NOTE), detail + ("; new records, messages and imports are refused" if full else ""), next_step
    if fine:
        yield OK, f"no client is above {WARNING_PERCENT} % of the bytes that it may store", None


async def _objects(store: Store, now: Micros) -> Results:
    if not await store.read(any_object()):
        return
    counts = await store.read(count_objects())
    next_step = "set TOUCHBASE_OBJECTS_URL and its keys for `touchbase serve` or `touchbase worker`; its log says what the storage answers"
    if counts.oldest_us is not None and counts.oldest_us < now - MAX_REMOVAL_AGE:
        detail = f"{counts.removals} objects wait to be removed from object storage, and {counts.erasures} erasures in files of events, "
        detail += f"the oldest since {_time(counts.oldest_us)}"
        yield PROBLEM, f"{detail}; erasures and deletions of clients wait for them", next_step
    if counts.wanted:
        yield NOTE, f"{counts.wanted} replayed deliveries wait for their bodies in object storage", next_step
    elif counts.oldest_us is None or counts.oldest_us >= now - MAX_REMOVAL_AGE:
        yield OK, "nothing waits for object storage", None


async def _erasures(store: Store, now: Micros) -> Results:
    late = [erasure for erasure in await store.read(open_erasures()) if (erasure.searched_us or erasure.asked_us) < now - MAX_ERASURE_AGE]
    searching = [erasure for erasure in late if erasure.searched_us is None]
    if searching:
        detail = f"{len(searching)} erasures of people are still searched for, the oldest since {_time(searching[0].asked_us)}"
        yield (
            PROBLEM,
            detail,
            "start `touchbase serve` or `touchbase worker`; the search waits for imports at work",
        )
    if cleaning := [erasure for erasure in late if erasure.searched_us is not None]:
        detail = f"the store's files may still have bytes of {len(cleaning)} erased people"
        yield PROBLEM, detail, "`touchbase vacuum` with the server stopped: the file is too large to be rewritten meanwhile, or was in use"
    if requested := await store.read(asked_erasures()):
        detail = f"{len(requested)} people that a CRM asked to erase wait to be confirmed, the first since {_time(requested[0][2])}"
        yield NOTE, detail, "`touchbase persons requests` lists them; erase or restore each"
    if not late and not requested:
        yield OK, "every erasure is done", None


def _time(at: Micros) -> str:
    """Format a time to the second."""
    return to_text(at - at % SECOND)


async def _newest(store: Store, client: Client | None = None, connection: Connection | None = None) -> Delivery | None:
    """Return the newest delivery, of all or of one connection."""
    filters = (None, None, None) if client is None or connection is None else (client.number, connection.channel, connection.tool)
    return next(iter(await store.read(list_deliveries(1, *filters))), None)

"""Plans of the processes that send: leases, progress, attempts, and operators' requests."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.encryption.encrypted_columns import WEBHOOK_TABLE, decrypt_row
from touchbase.history.events import CONTACT, CRM
from touchbase.outgoing.models import (
    ACTIVE,
    AUDIT,
    SHARDS,
    Attempt,
    EndpointProgress,
    Leadership,
    MailEndpoint,
    Pending,
    Served,
    Trouble,
    WriteBack,
)
from touchbase.outgoing.sql.statements import (
    ADVANCE,
    ATTEMPT,
    DROP_LEASE,
    ENDPOINT,
    FIND_ENDPOINTS,
    INSERT_ATTEMPT,
    NEW_LEASE,
    REMOVE_PENDING,
    SAVE_LEASE,
    SAVE_PENDING,
    SERVED,
    STOP_ENDPOINT,
    WAITING,
    attempt_of,
    attempt_row,
    endpoint_of,
    pending_of,
    pending_row,
)
from touchbase.sql.cell_answers import CONCATENATED, Division, divide_clients, named_clients, sorted_page
from touchbase.sql.filters import Where, among
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Select

_PROCESS = "process "


def _shard(number: int) -> str:
    return f"shard {number:02}"


@command(scope=ALL_CLIENTS, background=True)
def lead_shards(token: str, at: Micros, until_us: Micros, give_back: Collection[int] = (), leaving: bool = False) -> Plan[Leadership]:
    """Renew the leases of a process and take free shards up to its share; `give_back` releases some, and `leaving` all."""
    leases = yield from _leases()
    if sum(not name.startswith(_PROCESS) for name in leases) < SHARDS:
        yield Execute(NEW_LEASE, [(_shard(number), "", 0) for number in range(SHARDS)])
        leases = yield from _leases()
    me = _PROCESS + token
    ended = sorted(name for name, (_, until) in leases.items() if name.startswith(_PROCESS) and until <= at and name != me)
    live = {current_token for name, (current_token, until) in leases.items() if name.startswith(_PROCESS) and until > at} | {token}
    fair = -(-SHARDS // len(live))
    mine = {number for number in range(SHARDS) if leases[_shard(number)][0] == token} - {*give_back}
    free = [number for number in range(SHARDS) if leases[_shard(number)][1] <= at and number not in mine]
    mine |= {*free[: max(0, fair - len(mine))]} - {*give_back}
    released = {*give_back}
    if leaving:
        released, mine, ended = released | mine, set(), [*ended, me]
    held = [number for number in sorted(released) if leases[_shard(number)][0] == token]
    saved = [(_shard(number), "", 0) for number in held] + [(_shard(number), token, until_us) for number in sorted(mine)]
    if not leaving:
        saved.append((me, token, until_us))
    yield Execute(SAVE_LEASE, sorted(saved))
    if ended:
        yield Execute(DROP_LEASE, [(name,) for name in sorted(ended)])
    return Leadership(frozenset(mine), fair)


def _leases() -> Plan[dict[str, tuple[str, Micros]]]:
    """Return all leases, locked until the commit: name -> token and end."""
    sql = "SELECT name, token, until_us FROM dispatch_lease WHERE name NOT LIKE 'server %' ORDER BY name"  # see presence.py
    rows = yield Select(sql, (), f"{sql} FOR UPDATE")
    return {name: (token, until) for name, token, until in rows}


def _store_progress(commands: Sequence[Any], ids: Ids) -> Plan[list[bool]]:
    """Store the progress of several endpoints."""
    rows = yield Select("SELECT name, token FROM dispatch_lease", ())
    tokens: dict[str, str] = dict(rows)
    there = {*(yield Execute(FIND_ENDPOINTS, sorted({(command.client, command.id) for command in commands})))}
    led = [tokens.get(_shard(command.client % SHARDS)) == command.token and (command.client, command.id) in there for command in commands]
    waiting = [command for command, is_led in zip(commands, led, strict=True) if is_led]
    while waiting:  # one statement changes a row once, so an endpoint's second command waits
        once = {(command.client, command.id): command for command in reversed(waiting)}
        yield from _store_once([once[key] for key in sorted(once)], ids)
        waiting = [command for command in waiting if once[command.client, command.id] is not command]
    return led


def _store_once(commands: Sequence[Any], ids: Ids) -> Plan[None]:
    """Store the progress of different endpoints, in the order of their keys. Endpoints are locked before positions, as by other plans."""
    stopped = [(command.client, command.id, command.state, command.reason, command.at) for command in commands if command.state != ACTIVE]
    yield Execute(STOP_ENDPOINT, stopped)
    yield Execute(
        ADVANCE, [(command.client, command.id, command.position, command.failing_since_us, command.delivered_us) for command in commands]
    )
    yield Execute(SAVE_PENDING, [pending_row(command.client, command.id, pending) for command in commands for pending in command.save])
    yield Execute(REMOVE_PENDING, [(command.client, command.id, sequence) for command in commands for sequence in sorted(command.remove)])
    yield from _insert([attempt for command in commands for attempt in command.attempts], ids)


@command(ids=lambda calls: {"webhook_attempt": sum(len(call.attempts) for call in calls)}, batch=_store_progress, background=True)
def store_progress(
    client: int,
    id: int,
    token: str,
    at: Micros,
    position: int,
    save: Sequence[Pending] = (),
    remove: Sequence[int] = (),
    attempts: Sequence[Attempt] = (),
    failing_since_us: Micros | None = None,
    delivered_us: Micros | None = None,
    state: str = ACTIVE,
    reason: str | None = None,
) -> Plan[bool]:
    """Store a process's progress on an endpoint; False, and nothing is stored, if it no longer leads the client's shard.

    `remove`: Sequences that are delivered. `delivered_us`: None leaves it. `state`: Another one pauses or disables the endpoint, if it
    is active.
    """
    raise NotImplementedError


@command(ids="webhook_attempt", client="attempt.client", background=True)
def store_attempt(ids: Ids, attempt: Attempt) -> Plan[None]:
    """Store one attempt, of a test."""
    yield from _insert([attempt], ids)


def _insert(attempts: Sequence[Attempt], ids: Ids) -> Plan[None]:
    for attempt in attempts:
        attempt.id = ids.take("webhook_attempt")
    if attempts:
        yield Execute(INSERT_ATTEMPT, [attempt_row(attempt) for attempt in attempts])


@command(scope=ALL_CLIENTS, background=True)
def forget_attempts(before_us: Micros, limit: int = 1_000) -> Plan[int]:
    """Remove the oldest attempts from before a time, up to a number; return how many."""
    rows = yield Select(
        "DELETE FROM webhook_attempt WHERE (client, id) IN "
        "(SELECT client, id FROM webhook_attempt WHERE at < ? ORDER BY at, client, id LIMIT ?) RETURNING id",
        (before_us, limit),
    )
    return len(rows)


@query
def list_attempts(
    client: int,
    limit: int,
    before: int | None = None,
    endpoint_id: int | None = None,
    sequence: int | None = None,
    outcome: str | None = None,
) -> Plan[list[Attempt]]:
    """A client's attempts, newest first, before an id; None: no filter."""
    where = Where("client = ?", client)
    where.equal("endpoint_id", endpoint_id)
    where.equal("sequence", sequence)
    where.equal("outcome", outcome)
    where.less("id", before)
    sql = f"SELECT {names(ATTEMPT)} FROM webhook_attempt WHERE {where} ORDER BY id DESC LIMIT ?"
    return [attempt_of(row) for row in (yield Select(sql, (*where.params, limit)))]


def _place_of(attempt: Attempt) -> tuple[Micros, int, int]:
    return attempt.at, attempt.client, attempt.id


_NEWEST = sorted_page(_place_of, newest=True)


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, _NEWEST.join, partial=True), merge=_NEWEST)
def list_all_attempts(
    clients: Sequence[int] | None,
    limit: int,
    before: tuple[Micros, int, int] | None = None,
    endpoint_id: int | None = None,
    outcome: str | None = None,
) -> Plan[list[Attempt]]:
    """Attempts of these clients, None: of all, newest first, before a time, client and id.

    `endpoint_id`: Of a client's endpoint, or of one of all clients and its copies.
    """
    if clients == []:
        return []
    where = Where("true")
    if clients is not None:
        condition, numbers = among(clients)
        where.add(f"a.client {condition}", *numbers)
    if endpoint_id is not None:
        copies = "SELECT 1 FROM webhook_endpoint e WHERE e.client = a.client AND e.id = a.endpoint_id AND e.shared_id = ?"
        where.add(f"(a.endpoint_id = ? OR EXISTS ({copies}))", endpoint_id, endpoint_id)
    where.equal("a.outcome", outcome)
    if before is not None:
        where.add("(a.at, a.client, a.id) < (?, ?, ?)", *before)
    sql = f"SELECT {names(ATTEMPT, 'a.')} FROM webhook_attempt a WHERE {where} ORDER BY a.at DESC, a.client DESC, a.id DESC LIMIT ?"
    return [attempt_of(row) for row in (yield Select(sql, (*where.params, limit)))]


@query(scope=ALL_CLIENTS)
def endpoint_versions(shards: Collection[int]) -> Plan[dict[tuple[int, int], int]]:
    """The active endpoints of active clients, and those of the audit log, in some shards: client and id -> version."""
    current_shards = sorted(shards)
    if not current_shards:
        return {}
    rows = yield Select(
        "SELECT e.client, e.id, e.version FROM webhook_endpoint e LEFT JOIN client c ON c.id = e.client "
        f"WHERE e.state = 'active' AND (c.state = 'active' OR e.kind = '{AUDIT}') "
        f"AND e.client % {SHARDS} IN ({', '.join('?' * len(current_shards))}) ORDER BY e.client, e.id",
        tuple(current_shards),
    )
    return {(client, number): version for client, number, version in rows}


@query(cipher=True)
def read_served(cipher: Cipher, client: int, ids: list[int]) -> Plan[list[Served]]:
    """Endpoints of a client as the process that serves them reads them; missing ones are left out."""
    keys = [(client, number) for number in sorted(ids)]
    rows = yield Execute(SERVED, keys)
    waiting: dict[int, list[Pending]] = {}
    for row in sorted((yield Execute(WAITING, keys))):
        waiting.setdefault(row[1], []).append(pending_of(row))
    served, width = [], len(ENDPOINT)
    for row in rows:
        endpoint = endpoint_of(decrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, row[:width]))
        served.append(Served(endpoint, row[width], EndpointProgress(*row[width + 1 :]), waiting.get(endpoint.id, [])))
    return served


@query(scope=ALL_CLIENTS, merge=sorted_page(lambda trouble: (trouble.client_id, trouble.endpoint_id)))
def list_troubles(limit: int = 100) -> Plan[list[Trouble]]:
    """Endpoints that fail, are paused, were disabled because of a response, or have events of which all attempts failed."""
    pending = "FROM pending_webhook p WHERE p.client = e.client AND p.endpoint_id = e.id AND p.next_us IS"
    rows = yield Select(
        f"SELECT COALESCE(c.client_id, ''), e.id, e.url, e.state, e.reason, s.failing_since_us, e.state_us, "
        f"(SELECT count(*) {pending} NOT NULL), (SELECT count(*) {pending} NULL), a.status, a.error FROM webhook_endpoint e "
        "JOIN webhook_position s ON s.client = e.client AND s.endpoint_id = e.id LEFT JOIN client c ON c.id = e.client "
        "LEFT JOIN webhook_attempt a ON a.client = e.client AND a.id = (SELECT max(n.id) FROM webhook_attempt n "
        "WHERE n.client = e.client AND n.endpoint_id = e.id AND n.sequence > 0) "
        "WHERE e.state = 'paused' OR (e.state = 'disabled' AND e.reason IS NOT NULL) "
        f"OR (e.state = 'active' AND (s.failing_since_us IS NOT NULL OR EXISTS (SELECT 1 {pending} NULL))) "
        "ORDER BY 1, 2 LIMIT ?",
        (limit,),
    )
    return [Trouble(*row) for row in rows]


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def list_mail_endpoints() -> Plan[list[MailEndpoint]]:
    """Endpoints of the kind email that are not disabled, of all clients; for the operator."""
    rows = yield Select(
        "SELECT c.client_id, e.id, e.url FROM webhook_endpoint e JOIN client c ON c.id = e.client "
        "WHERE e.kind = 'email' AND e.state <> 'disabled' ORDER BY c.client_id, e.id",
        (),
    )
    return [MailEndpoint(*row) for row in rows]


@query
def lowest_needed(client: int) -> Plan[int | None]:
    """The lowest sequence of a client that an active or paused endpoint has not got; None: there is no such endpoint."""
    rows = yield Select(
        "SELECT min(s.position) + 1 FROM webhook_position s JOIN webhook_endpoint e ON e.client = s.client AND e.id = s.endpoint_id "
        "WHERE s.client = ? AND e.state <> 'disabled' "
        "UNION ALL SELECT min(p.sequence) FROM pending_webhook p JOIN webhook_endpoint e ON e.client = p.client AND e.id = p.endpoint_id "
        "WHERE p.client = ? AND e.state <> 'disabled'",
        (client, client),
    )
    return min((number for (number,) in rows if number is not None), default=None)


@query
def find_write_back(client: int, contact: int, tool: str, object_type: str) -> Plan[WriteBack]:
    """A contact's objects in a CRM, and whether its status came from there.

    `object_type`: The tool's word for contacts.
    """
    objects = yield Select(
        "SELECT object_id FROM link WHERE client = ? AND record_kind = ? AND record_id = ? AND tool = ? AND object_type = ? ORDER BY id",
        (client, CONTACT, contact, tool, object_type),
    )
    # Of several causes at one time any may be the one: then the status is written, which HubSpot may have already.
    causes = yield Select(
        "SELECT e.tool, e.channel FROM contact c JOIN event e ON e.client = c.client AND e.record_kind = ? AND e.record_id = c.id "
        "AND e.occurred_us = c.status_changed_us WHERE c.client = ? AND c.id = ? AND e.effect <> ''",
        (CONTACT, client, contact),
    )
    return WriteBack([number for (number,) in objects], bool(causes) and all(row == (tool, CRM) for row in map(tuple, causes)))

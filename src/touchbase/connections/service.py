"""Connections: connecting a client's tools, and having them at hand when a call arrives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from secrets import token_urlsafe
from zoneinfo import ZoneInfo

from touchbase.common.single_flight import SingleFlight
from touchbase.common.timestamps import Clock, Micros, has_passed
from touchbase.connections.commands import AddConnection, ChangeConnection, ListConnections, ListFetching, RemoveConnection
from touchbase.connections.fetch_state import FetchState
from touchbase.connections.models import (
    COMPANY,
    CONTACT,
    CRM,
    EMAIL_CAMPAIGN,
    FRESH,
    GENERATED,
    IGNORE,
    MAPPED,
    Connection,
    ConnectionSettings,
)
from touchbase.connections.tools import Tools
from touchbase.errors import Fault, NotFound, Overloaded, PreconditionFailed
from touchbase.sql.store import Store, Writes

MOST_REMEMBERED = 10_000
TRIES = 5
"""How often a change is made up anew because others changed the connection meanwhile."""
Decide = Callable[[Connection], tuple[list[str] | None, ConnectionSettings, str | None]]
"""What a connection is to hold, by what it holds: its settings, and its secrets and access token unless they are None."""
_EVENT = re.compile(r"\w+\.(create|update|delete|fieldUpdate\.\w+)")
_ONLY_CRM = (
    "status_property", "objects", "deals_set_status", "deal_labels", "fields", "api_base", "api_user", "location_id", "allow_v1_signatures",
)  # fmt: skip
_ONLY_OF = {"location_id": "gohighlevel", "allow_v1_signatures": "hubspot"}
_PEM = "-----BEGIN"
_IDENTITIES = frozenset({"id", "email", "domain", "linkedin_url"})


def new_secret() -> str:
    """A random secret, fit for an address and a header."""
    return GENERATED + token_urlsafe(32)


class Connections:
    """The connections of one store's clients, each client's remembered for `FRESH`; a change made through here is seen at once."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[int, tuple[list[Connection], Micros]] = {}
        self._flights: SingleFlight[list[Connection]] = SingleFlight()
        self._changes = 0

    def cached(self, client: int, now: Micros) -> list[Connection] | None:
        """The client's connections if they are remembered and fresh."""
        known = self._known.get(client)
        return known[0] if known is not None and not has_passed(FRESH, known[1], now) else None

    async def of(self, client: int) -> list[Connection]:
        """The client's connections, by channel and tool."""
        found = self.cached(client, self._clock())
        return await self._flights.do(client, lambda: self._ask(client)) if found is None else found

    async def _ask(self, client: int) -> list[Connection]:
        now = self._clock()
        while True:
            changes = self._changes
            found = await self.all(client)
            if changes == self._changes:  # else what we have read may be older than a change that was answered meanwhile
                break
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[client] = (found, now)
        return found

    def _forget(self, client: int) -> None:
        self._known.pop(client, None)
        self._changes += 1

    async def all(self, client: int) -> list[Connection]:
        """The client's connections as they are in the store, by channel and tool."""
        return await self._store.read(ListConnections(client))

    async def get(self, client: int, channel: str, tool: str) -> Connection:
        """One connection, as it is in the store; raises `NotFound`."""
        for one in await self.all(client):
            if (one.channel, one.tool) == (channel, tool):
                return one
        raise NotFound(f"no tool {tool[:100]!r} is connected on the channel {channel[:100]!r}")

    async def connect(self, connection: Connection, writes: Writes | None = None) -> Connection:
        """Connect a tool, through `writes` if given; raises `Conflict` when it is connected on that channel already."""
        made = await (writes or self._store).write(AddConnection(connection))
        self._forget(connection.client)
        return made

    async def fetching(self, client: int) -> dict[str, FetchState]:
        """How asking the client's tools for records goes, by tool."""
        return {one.tool: one for one in await self._store.read(ListFetching(client))}

    async def change(self, known: Connection, decide: Decide) -> Connection:
        """Change a connection to what `decide` makes of it; of two changes at once neither is lost. Raises `NotFound` too."""
        for _ in range(TRIES):
            secrets, settings, token = decide(known)
            command = ChangeConnection(known.client, known.channel, known.tool, secrets, settings, self._clock(), token, known)
            try:
                changed = await self._store.write(command)
            except PreconditionFailed:
                known = await self.get(known.client, known.channel, known.tool)
                continue
            self._forget(known.client)
            return changed
        raise Overloaded("others keep changing this connection; send this again in a moment")

    async def disconnect(self, client: int, channel: str, tool: str) -> None:
        """Disconnect a tool; raises `NotFound`. What it has sent stays."""
        await self._store.write(RemoveConnection(client, channel, tool))
        self._forget(client)


def trimmed(secrets: Sequence[str]) -> list[str]:
    """The secrets, a PEM without the line end that files and pages put behind it."""
    return [secret.strip() if secret.lstrip().startswith(_PEM) else secret for secret in secrets]


def secret_faults(
    senders: Tools, channel: str, tool: str, secrets: Sequence[str], settings: ConnectionSettings, *, more: int = 0
) -> list[Fault]:
    """What is wrong with secrets that are to be set, and with the settings about them; `more`: made beside them."""
    faults: list[Fault] = []
    for place, secret in enumerate(secrets):
        if secret != secret.strip() or secret in secrets[:place]:
            faults.append(Fault(f"/secrets/{place}", "secret", "must be given once, without white space around it"))
        elif (form := senders.why_not_secret(channel, tool, secret)) is not None:
            detail = f"can never fit a signature of {tool}: give {form}. A secret for the tool's address, `?token=`, is generated here"
            faults.append(Fault(f"/secrets/{place}", "secret", detail))
    most = senders.most_secrets(channel, tool)
    if len(secrets) + more > most:
        where, given = ("/generate_secret", f"{len(secrets)} are given beside it") if more else ("/secrets", f"{len(secrets)} are given")
        faults.append(Fault(where, "too_long", f"a connection of {tool} has at most {most} secrets, and {given}"))
    given_key = any(senders.is_public(channel, tool, secret) for secret in secrets)
    if tool == _ONLY_OF["location_id"] and given_key and settings.location_id is None:
        detail = "must name the location: the public key is the same for all customers, and proves only that GoHighLevel sent a call"
        faults.append(Fault("/settings/location_id", "required", detail))
    if settings.signature_max_age is not None and not senders.has_window(channel, tool):
        faults.append(Fault("/settings/signature_max_age", "tool", f"signatures of {tool} have no time; leave it out"))
    return faults


def token_fault(known: Connection, settings: ConnectionSettings, *, token_given: bool) -> list[Fault]:
    """A fault where the stored access token would go to another address than the one that it was given for."""
    if not known.access_token or token_given or settings.api_base == known.settings.api_base:
        return []
    detail = "must be given again with another api_base: the stored one was given for the address before"
    return [Fault("/access_token", "required", detail)]


def faults_of(
    channel: str, tool: str, settings: ConnectionSettings, tools: Sequence[str], kinds: Sequence[str] | None = None
) -> list[Fault]:
    """Everything that is wrong with a connection beyond the types of its parts; `kinds` of records the tool has, where that is known."""
    faults: list[Fault] = []
    if tool not in tools:
        faults.append(Fault("/tool", "tool", f"no {channel} tool is called {tool[:100]!r}; there are {', '.join(tools)}"))
    _check_channel(channel, tool, settings, faults)
    if kinds is not None:
        _check_kinds(settings, tool, kinds, faults)
    _check_zone(settings.time_zone, faults)
    _check_words(settings.status_labels, "status_labels", faults)
    _check_words(settings.deal_labels, "deal_labels", faults)
    _check_objects(settings.objects, faults)
    _check_fields(settings.fields, faults)
    if settings.deals_set_status and not settings.deal_labels:
        faults.append(Fault("/settings/deal_labels", "required", "deals set a status only by a table: say which status each stage gives"))
    return faults


def _check_channel(channel: str, tool: str, settings: ConnectionSettings, faults: list[Fault]) -> None:
    given = [name for name in _ONLY_CRM if channel != CRM and getattr(settings, name)]
    if channel != EMAIL_CAMPAIGN and settings.linkedin_reply_counts is not None:
        given.append("linkedin_reply_counts")
    faults += [Fault(f"/settings/{name}", "channel", f"is no setting of the channel {channel}") for name in given]
    for name, owner in _ONLY_OF.items():
        if channel == CRM and tool != owner and getattr(settings, name):
            faults.append(Fault(f"/settings/{name}", "tool", f"is for the tool {owner!r} only"))
    if channel == CRM and tool != "generic" and settings.fields:
        faults.append(Fault("/settings/fields", "tool", f"is for the tool 'generic'; {tool} is read by what it sends"))


def _check_kinds(settings: ConnectionSettings, tool: str, kinds: Sequence[str], faults: list[Fault]) -> None:
    for kind in settings.status_property:
        if kind not in kinds:
            detail = f"{tool} has no kind of record {kind[:100]!r}; there are {', '.join(kinds)}"
            faults.append(Fault(_entry("status_property", kind), "kind", detail))


def _check_zone(name: str | None, faults: list[Fault]) -> None:
    if name is None or _is_zone(name):
        return
    if _is_zone("Europe/Berlin"):
        detail = f"{name[:100]!r} is no time zone of the IANA list; send a name such as Europe/Berlin, Asia/Kolkata or UTC"
    else:
        detail = "this system has no time zone data; install its package tzdata, and send this again"
    faults.append(Fault("/settings/time_zone", "time_zone", detail))


def _is_zone(name: str) -> bool:
    """Whether this system has a zone of this name. Zones that count leap seconds, and the system's own, have no IANA name."""
    if name.partition("/")[0] in ("posix", "right", "localtime", "posixrules"):
        return False
    try:
        ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        return False
    return True


def _check_words(labels: Mapping[str, str | None], name: str, faults: list[Fault]) -> None:
    for label, status in labels.items():
        if not label.strip() or (status is not None and (not status.strip() or status != status.strip())):
            faults.append(
                Fault(_entry(name, label), "blank", "neither the label nor its status may be blank or have white space around it")
            )


def _check_objects(objects: Mapping[str, str], faults: list[Fault]) -> None:
    for number, found in objects.items():
        if found not in (CONTACT, COMPANY, IGNORE) and _EVENT.fullmatch(found) is None:
            detail = f"{found!r} is none of {CONTACT}, {COMPANY}, {IGNORE}, nor an event such as Contact.update"
            faults.append(Fault(_entry("objects", number), "choice", detail))


def _check_fields(fields: Mapping[str, str], faults: list[Fault]) -> None:
    for name, path in fields.items():
        if name not in MAPPED:
            faults.append(Fault(_entry("fields", name), "unknown", f"{name!r} is none of {', '.join(MAPPED)}"))
        elif any(not part.strip() for part in path.split(".")):
            faults.append(Fault(_entry("fields", name), "path", "must be keys joined by dots, such as data.person.mail"))
    if fields and not _IDENTITIES & fields.keys():
        faults.append(Fault("/settings/fields", "required", "must say where to find one of id, email, domain and linkedin_url"))


def _entry(setting: str, name: str) -> str:
    """The pointer to one entry of a setting that is a table."""
    return f"/settings/{setting}/{name.replace('~', '~0').replace('/', '~1')}"

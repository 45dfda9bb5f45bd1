"""Validation of an endpoint: URL, types, fields, filter, settings of its kind. Returns faults and raises nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

from touchbase.clients.models import ClientSettings
from touchbase.common.misspelt import suggest
from touchbase.common.normalize import email_text, find_email_key
from touchbase.common.timestamps import Micros
from touchbase.common.url_origin import origin_of
from touchbase.connections.models import Connection, connection_of
from touchbase.enrichment.http_pool import is_public, url_origin
from touchbase.errors import COUNTED, MOST_FAULTS, Fault
from touchbase.event_log.models import EventType
from touchbase.history.events import CRM, EMAIL_CAMPAIGN
from touchbase.outgoing.blocklist_tools import BLOCKLISTS
from touchbase.outgoing.blocklists import TYPES as BLOCKLIST_TYPES
from touchbase.outgoing.blocklists import url_of as blocklist_url
from touchbase.outgoing.blocklists import why_not_filled
from touchbase.outgoing.filters import filter_faults
from touchbase.outgoing.hubspot import SHOWN
from touchbase.outgoing.hubspot_client import why_not_written
from touchbase.outgoing.mail_client import ANY_DOMAIN, mailto, why_not_mailed
from touchbase.outgoing.models import (
    AUDIT,
    BLOCKLIST,
    EMAIL,
    HUBSPOT,
    MAX_RECIPIENTS,
    PER_RECORD,
    SIGNED,
    SLACK,
    STANDARD,
    WEBHOOK,
    Endpoint,
    Secret,
)
from touchbase.outgoing.notices import PATHS, REPLIES
from touchbase.outgoing.templates import template_faults
from touchbase.outgoing.write_back import TYPES
from touchbase.records.record_type import RECORD_TYPES
from touchbase.search.service import record_members

SETTING = "TOUCHBASE_WEBHOOK_ALLOWED_ORIGINS"
USUAL_RATES = {WEBHOOK: 0, SLACK: 1, EMAIL: 5, HUBSPOT: 5, BLOCKLIST: 1, AUDIT: 0}
"""Requests a second of a new endpoint that gives no rate.

Slack accepts one of a webhook, HubSpot 10 to 19 of all that use the token, Smartlead one of a key.
"""


_TYPES = {HUBSPOT: TYPES, BLOCKLIST: BLOCKLIST_TYPES}
"""By kind, the default types of an endpoint, and the only types that it may have."""


def completed(endpoint: Endpoint, url: str | None) -> Endpoint:
    """Return an endpoint completed by its kind; `url`: the requested one, None for none."""
    if endpoint.kind in SIGNED:
        return endpoint if url is None else replace(endpoint, url=url)
    new = replace(endpoint, types=[*(endpoint.types or _TYPES.get(endpoint.kind, REPLIES))])
    if endpoint.kind == HUBSPOT:
        new.url = url or SHOWN
    elif endpoint.kind == BLOCKLIST:
        new.url = url or blocklist_url(endpoint.settings.get("tool", ""))
    elif endpoint.kind == EMAIL:
        new.url = url or mailto(endpoint.settings.get("to", []))
    elif url is not None:
        # Who knows Slack's URL can write to the channel.
        new.url, new.secrets = host_of(url), [Secret(url)] if url else []
    return new


def host_of(url: str) -> str:
    """Return a URL without what may be a secret: its path and query; empty if it is none."""
    try:
        scheme, host, _ = url_origin(url)
    except ValueError:
        return ""
    return f"{scheme}://{host}/..."


def endpoint_faults(
    endpoint: Endpoint, settings: ClientSettings, allowed: Collection[str], now: Micros, *, has_mail: bool = False,
    mail_domains: Sequence[str] = ANY_DOMAIN, connections: Sequence[Connection] | None = None,
) -> list[Fault]:  # fmt: skip
    """Return the faults of an endpoint.

    `allowed`: origins that the operator permits; `has_mail`: whether e-mail can be sent; `mail_domains`: where to; `connections`: the
    client's, of which one must be able to write to the tool; None: that is not checked.
    """
    faults = [] if endpoint.kind in (EMAIL, HUBSPOT, BLOCKLIST) else _url_faults(endpoint.target, allowed)
    faults += _kind_faults(endpoint, has_mail, mail_domains)
    faults += _tool_faults(endpoint, connections)
    faults += _unknown(endpoint.types, "types", [event_type.value for event_type in EventType])
    faults += _unknown(endpoint.fields, "fields", sorted({name for kind in RECORD_TYPES for name in record_members(kind)}))
    return faults + filter_faults(endpoint.filter, settings, now)


_OF_KIND = {"to": (EMAIL,), "template": (SLACK, EMAIL), "template_subject": (EMAIL,), "values": (HUBSPOT,), "tool": (BLOCKLIST,)}


def _kind_faults(endpoint: Endpoint, has_mail: bool, mail_domains: Sequence[str]) -> Iterator[Fault]:
    kind, settings = endpoint.kind, endpoint.settings
    for name, kinds in _OF_KIND.items():
        if settings.get(name) and kind not in kinds:
            yield Fault(f"/{name}", "kind", f"is for the kind {' and '.join(kinds)} only; leave it out for {kind}")
        elif settings.get(name) and name.startswith("template"):
            yield from template_faults(settings[name], f"/{name}", PATHS)
    if kind != WEBHOOK and endpoint.fields:
        instead = f"leave it out for {kind}" if kind in (HUBSPOT, BLOCKLIST, AUDIT) else f"a template says what {kind} shows"
        yield Fault("/fields", "kind", f"is for the kind webhook; {instead}")
    if kind == AUDIT:
        for name in ("types", "filter"):
            if getattr(endpoint, name):
                yield Fault(f"/{name}", "kind", "is for events of clients: an endpoint of the kind audit gets all acts; leave it out")
        if endpoint.ordering != PER_RECORD:
            yield Fault("/ordering", "kind", f"acts keep their order: send {PER_RECORD}, or leave it out")
    if kind not in SIGNED and endpoint.format != STANDARD:
        yield Fault("/format", "kind", f"is for the kind webhook; leave it out for {kind}")
    if kind == EMAIL:
        yield from _mail_faults(settings.get("to", []), has_mail, mail_domains)
        if endpoint.url != mailto(settings.get("to", [])):
            yield Fault("/url", "kind", "is for the kinds webhook and slack; give `to`, the addresses of the recipients")


def _tool_faults(endpoint: Endpoint, connections: Sequence[Connection] | None) -> Iterator[Fault]:
    """Yield the faults of an endpoint that writes to a tool through its connection."""
    tool = endpoint.settings.get("tool", "")
    if endpoint.kind not in _TYPES:
        return
    if endpoint.kind == BLOCKLIST and tool not in BLOCKLISTS:
        near = suggest(tool, BLOCKLISTS)
        hint = f"did you mean {near!r}?" if near else f"give one of {', '.join(BLOCKLISTS)}"
        yield Fault("/tool", "unknown" if tool else "required", f"is no tool whose blocklist can be filled; {hint}")
        return
    url, why_not, effect = SHOWN, why_not_written, "write to HubSpot"
    if endpoint.kind == BLOCKLIST:
        url, why_not, effect = blocklist_url(tool), partial(why_not_filled, tool), "go to a blocklist"
    channel = CRM if endpoint.kind == HUBSPOT else EMAIL_CAMPAIGN
    if connections is not None and (why := why_not(connection_of(connections, channel, tool or HUBSPOT))) is not None:
        yield Fault("/kind", "connection", why)
    if endpoint.url != url:
        yield Fault("/url", "kind", "is for the kinds webhook and slack; the connection of the tool says where its API is")
    for index, event_type in enumerate(endpoint.types):
        if event_type not in _TYPES[endpoint.kind]:
            yield Fault(f"/types/{index}", "kind", f"only {' and '.join(_TYPES[endpoint.kind])} {effect}; leave it out")
    for status, value in endpoint.settings.get("values", {}).items():
        if status != status.strip() or not status or value != value.strip() or not value:
            where = f"/values/{status.replace('~', '~0').replace('/', '~1')}"
            yield Fault(where, "blank", "neither the status nor its value may be empty or have white space around it")


def _mail_faults(to: Sequence[str], has_mail: bool, domains: Sequence[str]) -> Iterator[Fault]:
    if not has_mail:
        yield Fault("/kind", "mail_server", "no e-mail can be sent: the operator sets TOUCHBASE_SMTP_URL and TOUCHBASE_SMTP_FROM")
    if not 0 < len(to) <= MAX_RECIPIENTS:
        yield Fault("/to", "required", f"must have 1 to {MAX_RECIPIENTS} e-mail addresses, such as sales@example.com")
    for index, address in enumerate(to):
        if not address.isascii() or address != email_text(address) or find_email_key(address) is None:
            yield Fault(f"/to/{index}", "address", "must be one e-mail address in ASCII, without a name, such as sales@example.com")
        elif address in to[:index]:
            yield Fault(f"/to/{index}", "repeated", f"{address!r} is given twice")
        elif has_mail and (why := why_not_mailed(address, domains)) is not None:
            yield Fault(f"/to/{index}", "mail_domain", why)


def _url_faults(url: str, allowed: Collection[str]) -> list[Fault]:
    if not url or not url.isascii() or not url.isprintable() or " " in url:
        why = "must be printable ASCII without spaces: percent-encode other characters"
        return [Fault("/url", "address", why) if url else Fault("/url", "required", "is missing: give the address that gets the requests")]
    try:
        origin = url_origin(url)
    except ValueError:
        return [Fault("/url", "address", "must be a URL such as https://crm.example.com/hooks, without password or fragment")]
    if origin in {origin_of(origin) for origin in allowed}:
        return []
    if origin[0] != "https":
        return [Fault("/url", "https", f"must be https, unless the operator lists its origin in {SETTING}")]
    host = origin[1]
    is_address = ":" in host or host.replace(".", "").isdigit()
    if host == "localhost" or host.endswith(".localhost") or (is_address and not is_public(host)):
        return [Fault("/url", "address", f"must be a public address, unless the operator lists its origin in {SETTING}")]
    return []


def _unknown(types: Sequence[str], name: str, event_types: Sequence[str]) -> list[Fault]:
    faults: list[Fault] = []
    types_before: set[str] = set()
    for index, event_type in enumerate(types):
        if len(faults) >= MOST_FAULTS:
            faults += [COUNTED] * (event_type in types_before or event_type not in event_types)
        elif event_type not in event_types:
            near = suggest(event_type, event_types, cutoff=0.5)
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(event_types)}"
            faults.append(Fault(f"/{name}/{index}", "unknown", f"there is no {event_type[:100]!r} among {name}; {hint}"))
        elif event_type in types_before:
            faults.append(Fault(f"/{name}/{index}", "repeated", f"{event_type!r} is given twice"))
        types_before.add(event_type)
    return faults

"""Validation of an endpoint: URL, types, fields and filter. Returns faults and raises nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches

from touchbase.clients import ClientSettings
from touchbase.common.timestamps import Micros
from touchbase.common.url_origin import origin_of
from touchbase.enrichment import is_public
from touchbase.errors import Fault
from touchbase.event_log import EventType
from touchbase.outgoing.filters import filter_faults
from touchbase.outgoing.http_client import webhook_origin
from touchbase.outgoing.models import Endpoint
from touchbase.records import RECORD_TYPES
from touchbase.search import record_members

SETTING = "TOUCHBASE_WEBHOOK_ALLOWED_ORIGINS"


def endpoint_faults(endpoint: Endpoint, settings: ClientSettings, allowed: Collection[str], now: Micros) -> list[Fault]:
    """Return the faults of an endpoint; `allowed`: origins that the operator permits."""
    faults = _url_faults(endpoint.url, allowed)
    faults += _unknown(endpoint.types, "types", [each.value for each in EventType])
    faults += _unknown(endpoint.fields, "fields", sorted({name for kind in RECORD_TYPES for name in record_members(kind)}))
    return faults + filter_faults(endpoint.filter, settings, now)


def _url_faults(url: str, allowed: Collection[str]) -> list[Fault]:
    if not url.isascii() or not url.isprintable() or " " in url:
        return [Fault("/url", "address", "must be printable ASCII without spaces: percent-encode other characters")]
    try:
        origin = webhook_origin(url)
    except ValueError:
        return [Fault("/url", "address", "must be a URL such as https://crm.example.com/hooks, without password or fragment")]
    if origin in {origin_of(one) for one in allowed}:
        return []
    if origin[0] != "https":
        return [Fault("/url", "https", f"must be https, unless the operator lists its origin in {SETTING}")]
    host = origin[1]
    is_address = ":" in host or host.replace(".", "").isdigit()
    if host == "localhost" or host.endswith(".localhost") or (is_address and not is_public(host)):
        return [Fault("/url", "address", f"must be a public address, unless the operator lists its origin in {SETTING}")]
    return []


def _unknown(given: Sequence[str], name: str, known: Sequence[str]) -> list[Fault]:
    faults: list[Fault] = []
    for index, each in enumerate(given):
        if each not in known:
            near = get_close_matches(each, known, 1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
            faults.append(Fault(f"/{name}/{index}", "unknown", f"there is no {each[:100]!r} among {name}; {hint}"))
        elif each in given[:index]:
            faults.append(Fault(f"/{name}/{index}", "repeated", f"{each!r} is given twice"))
    return faults

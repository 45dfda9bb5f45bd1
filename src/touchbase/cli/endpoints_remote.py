"""`touchbase endpoints` through the API of a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from touchbase.common.timestamps import Micros, to_text

if TYPE_CHECKING:
    from touchbase.client import Touchbase

Values = dict[str, Any]


def endpoints_at_server(tb: Touchbase, client_id: str | None) -> list[Values]:
    """Return the endpoints of a client; for an administrator's key without a client those of all clients."""
    from touchbase.client import Forbidden

    if client_id is not None:
        return [{"client_id": client_id, **one} for one in tb.webhook_endpoints.iterate()]
    try:
        owners = [each["client_id"] for each in tb.admin.clients.iterate()]
    except Forbidden:  # a key of one client
        return [{"client_id": None, **one} for one in tb.webhook_endpoints.iterate()]
    return [{"client_id": owner, **one} for owner in owners for one in tb.for_client(owner).webhook_endpoints.iterate()]


def add_at_server(tb: Touchbase, client_id: str | None, url: str | None, values: Values) -> Values:
    """Add an endpoint; return it with its secret."""
    body: Any = {name: values[name] for name in ("kind", "types", "ordering", "format", "description")}
    body |= {**values["settings"], "types": list(values["types"]), "rate_limit": values["rate"], **({} if url is None else {"url": url})}
    return {"client_id": client_id, **tb.webhook_endpoints.add(body)}


def replay_at_server(tb: Touchbase, endpoint_id: int, event: str | None, times: Mapping[str, Micros | None]) -> int:
    """Let the server send events again; return how many."""
    body: Any = {name: to_text(at) for name, at in times.items() if at is not None} | ({} if event is None else {"event": event})
    return tb.webhook_endpoints.replay(endpoint_id, body)["events"]


def preview_at_server(tb: Touchbase, endpoint_id: int, event: str | None) -> Values:
    """Return what an endpoint would be sent about an event."""
    endpoint: Values = {**tb.webhook_endpoints.get(endpoint_id)}
    names = ("kind", "to", "template", "template_subject", "values")
    body: Any = {name: endpoint[name] for name in names if endpoint.get(name)} | ({} if event is None else {"event": event})
    return {**tb.webhook_endpoints.preview(body)}

"""HubSpot: the property that Touchbase writes statuses to, and its own changes of it when they come back.

Each change names who made it: `changeSource` with `sourceId` in a webhook, `sourceType` in a property's history. A private app's
changes have the source INTEGRATION and the app's id, which is also the `appId` of its webhooks. So our own changes are recognised
by who made them, never by their value: of two quick changes the older one may come back last. A record without sources, as a
workflow posts it, cannot tell; the property is not read from it.
"""

from __future__ import annotations

from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import text

_PROGRAM = "INTEGRATION"


def is_own_write(body: Body) -> bool:
    """Return whether a change was made by the app that sends this webhook: the one whose token writes."""
    source = text(body.get("sourceId"))
    return body.get("changeSource") == _PROGRAM and source is not None and source == text(body.get("appId"))


def without(statuses: tuple[str, ...], written: str) -> tuple[str, ...]:
    """Return the status properties but for the written one."""
    return tuple(name for name in statuses if name != written)


def set_by_others(versions: object) -> list[Body]:
    """Return the versions of a property's history that no program set: it does not say which program is ours."""
    return [as_dict(version) for version in as_list(versions) if as_dict(version).get("sourceType") not in (None, _PROGRAM)]

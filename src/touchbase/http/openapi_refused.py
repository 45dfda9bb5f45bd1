"""The list of refused webhook calls, as OpenAPI describes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchbase.connections.models import CHANNELS
from touchbase.inbox.refused import CAUSES

Json = dict[str, Any]


def refusal_paths(operation: Callable[..., Json], answer: Callable[..., Json], parameter: Callable[..., Json], page: list[Json]) -> Json:
    """The path of the list; `page` holds the parameters of pages."""
    sought = [parameter(name, {"type": "string", "minLength": 1}) for name in ("client", "tool")]
    sought += [parameter("channel", {"enum": list(CHANNELS)}), parameter("cause", {"enum": list(CAUSES)})]
    listing = operation(
        "Inbox", "list_refusals", "List refused webhook calls, newest first", {"200": answer("A page.", "RefusalPage")},
        ("401", "403", "503", "422"), parameters=[*page, *sought],
    )  # fmt: skip
    return {"/admin/v1/refusals": {"get": listing}}

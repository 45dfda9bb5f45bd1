"""The requests of every path, on a store that has contacts already (`bench.dataset`)."""

from __future__ import annotations

from dataclasses import replace

from bench.bodies import CREATE, Shape
from bench.dataset_sample import address_of, webhook

WRITES = ("create", "update", "patch", "webhook")
READS = ("get", "list")
HTTP = (*WRITES, *READS)
PATHS = (*WRITES, "apply", *READS)
ABOUT = {
    "create": "create",
    "update": "create, `on_duplicate=update`",
    "patch": "patch",
    "webhook": "webhook",
    "apply": "apply",
    "get": "get",
    "list": "list of 50, by status",
}

_CHANGE = '"first_name":"N<n>","contact_custom_fields_input":[{"field_name":"Seats","field_value":"<n>"}]'
_SHAPES = (
    CREATE,
    Shape("update", "/public/v2/contacts?on_duplicate=update", f'{{"email":"{address_of("<known>")}",{_CHANGE}}}'),
    Shape("patch", "/public/v2/contacts/<known>", f"{{{_CHANGE}}}", "PATCH"),
    Shape(
        "webhook",
        "/public/emailcampaign-webhook/default",
        webhook("<kind>", address_of("<known>"), "mail-<n>.<run>", "<when>"),
    ),
    Shape("get", "/public/v2/contacts/<known>", "", "GET"),
    Shape("list", "/public/v2/contacts?contact_status=replied&limit=50", "", "GET"),
)


def shapes(expected: int, older: int = 0) -> dict[str, Shape]:
    """By path, about so many contacts that were made after so many others."""
    return {shape.name: replace(shape, known=expected, older=older) for shape in _SHAPES}

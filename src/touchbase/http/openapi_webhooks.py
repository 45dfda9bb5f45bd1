"""What the description says of the two webhook receivers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
Make = Callable[..., Json]
NAMES = ("emailcampaign-webhook", "crm-webhook")
STORED = "Stored, or had already. No body, unless the tool's own protocol demands one."
BODY: Json = {  # one content type: generators that are given several cannot send a value without a type
    "required": False,
    "description": "What the tool sends. Most send JSON; any other content type, such as a form or XML, is received too.",
    "content": {
        "application/json": {"schema": {"description": "Any JSON value."}, "example": {"event": "reply", "email": "jane@example.com"}}
    },
}


def webhook_paths(operation: Make, client_id: Json) -> Json:
    """The paths of the receivers; `client_id` is the parameter in their paths."""
    return {
        f"/public/{name}/{{client_id}}": {"parameters": [client_id], "post": _webhook(operation, name), "get": _check(operation, name)}
        for name in NAMES
    }


def _webhook(operation: Make, name: str) -> Json:
    made = operation(
        "Webhooks", name.replace("-", "_"), "Receive a call and store it byte for byte", {"200": {"description": STORED}},
        ("401", "404", "408", "413", "503"),
    )  # fmt: skip
    return {**made, "requestBody": BODY, "security": []}


def _check(operation: Make, name: str) -> Json:
    made = operation(
        "Webhooks", f"check_{name.replace('-', '_')}", "For tools that check the address first", {"200": {"description": "Nothing."}},
        ("404",),
    )  # fmt: skip
    return {**made, "security": []}

"""What the description says of limits: the same of every call but those of the webhooks."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

LIMIT_HEADERS = (
    ("RateLimit-Policy", "What is allowed: `q` requests at once, and all of them again after `w` seconds.", "string"),
    ("RateLimit", "How many requests are left (`r`), and in how many seconds all will be there again (`t`).", "string"),
    ("Retry-After", "Seconds to wait before sending it again.", "integer"),
)


def add_limits(document: Json, refused: str) -> None:
    """Every call but those of webhooks may be refused for its rate, and its answers say how much is left."""
    components = document["components"]
    components["headers"] = {name: {"description": about, "schema": {"type": schema}} for name, about, schema in LIMIT_HEADERS}
    shown = {name: {"$ref": f"#/components/headers/{name}"} for name, *_ in LIMIT_HEADERS}
    components["responses"][refused]["headers"] = shown
    for item in document["paths"].values():
        for method, operation in item.items():
            if method == "parameters" or "Webhooks" in operation["tags"]:
                continue
            answers = operation["responses"]
            answers["429"] = {"$ref": f"#/components/responses/{refused}"}
            for status in [status for status in answers if status.startswith("2")]:
                left = {name: ref for name, ref in shown.items() if name != "Retry-After"}
                answers[status]["headers"] = {**answers[status].get("headers", {}), **left}

"""What the description says of `Idempotency-Key`: the same of every `POST` but those of the webhooks."""

from __future__ import annotations

from typing import Any

from touchbase.http.idempotency import HEADER
from touchbase.idempotency.models import LIFETIME_HOURS, LONGEST_KEY

Json = dict[str, Any]

PROBLEMS = ("400", "408", "409", "413", "415", "422")
"""What a request with a key may be answered besides what its call answers anyway."""
KEY: Json = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": f'^([!#-~][!-~]{{0,{LONGEST_KEY - 1}}}|"[!#-\\[\\]-~]{{1,{LONGEST_KEY}}}")$'},
    "description": f"Any text of your choice, new for each new request, such as a UUID. The same request with the same key gets the same "
    f"answer for {LIFETIME_HOURS} hours and is not carried out again; another request with it is refused.",
}
REPLAYED: Json = {
    "schema": {"type": "boolean"},
    "description": f"Always true: this is the stored answer to an earlier request with this {HEADER}; nothing was done now.",
}


def with_idempotency(paths: Json) -> Json:
    """The paths with the header and its answers at every `POST` that honours it."""
    for item in paths.values():
        post = item.get("post")
        if post is not None and "Webhooks" not in post["tags"]:
            _describe(post)
    return paths


def _describe(post: Json) -> None:
    post["parameters"] = [*post["parameters"], KEY]
    for status, answer in post["responses"].items():
        if status.startswith("2"):
            answer["headers"] = {**answer.get("headers", {}), "Idempotency-Replayed": REPLAYED}
    known = post["responses"]
    problems = {status: {"$ref": f"#/components/responses/Problem{status}"} for status in PROBLEMS if status not in known}
    post["responses"] = {**known, **problems}

"""Problem responses in the OpenAPI document: their meanings and examples, by status."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from touchbase.errors import meaning, response_errors
from touchbase.http.problems import STATUS, TITLES

_NO_EMAIL = "is not an e-mail address: An email address must have an @-sign."
_INSTEAD = "send on_duplicate=return to get it or on_duplicate=update to merge into it"
_RATE = "at most 50000 a second, or 500000 at once after a pause"
_PROBLEMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "400": ("malformed_body", "the body is not JSON: Expecting value: line 1 column 10 (char 9)", {}),
    "401": ("unauthorized", "this request needs a key: send it as Authorization: Bearer tb_...", {}),
    "403": ("insufficient_scope", "this key lacks the scope records:write; use one that has it", {}),
    "404": ("not_found", "there is no contact with id 1042", {}),
    "408": ("body_too_slow", "the body must arrive within 10 seconds, and no pause in it may last 5", {}),
    "409": ("duplicate", f"this contact exists already, with id 1; {_INSTEAD}", {"existing_id": 1}),
    "410": (
        "cursor_expired",
        "events before evt_4711 are not stored any more; list the records again, then read on from the oldest event, without `after`",
        {"valid_cursor": "evt_4710"},
    ),
    "412": ("precondition_failed", "the record has changed since you read it; read it again and repeat the change", {}),
    "413": ("too_large", "the body may have at most 1048576 bytes", {}),
    "415": ("unsupported_media_type", "Content-Type 'text/plain' is not supported; send application/json", {}),
    "422": ("invalid", f"/email {_NO_EMAIL}", {"errors": [{"pointer": "/email", "code": "email", "detail": _NO_EMAIL}]}),
    "429": ("rate_limited", f"too many requests with this key: {_RATE}; try again in 1 s", {}),
    "507": (
        "storage_full",
        "this client stores 1073750000 bytes and may store 1073741824; delete records, messages or imports, shorten `keep_bodies_days` in "
        "the client's settings, or ask an administrator to raise `max_stored_bytes`; bytes are counted again within 5 minutes",
        {},
    ),
    "503": ("overloaded", "too many writes are waiting; send this again in a moment", {}),
}
"""For each status an error code, its detail and its other members."""


def problem_meaning(status: int) -> str:
    """Return what problems with this status mean and what to do, with their codes if there are several."""
    errors = [response_error for response_error in response_errors() if response_error.status == status]
    texts = [f"{meaning(error)} {error.remedy}" for error in errors]
    return texts[0] if len(errors) == 1 else " ".join(f"`{each.code}`: {text}" for each, text in zip(errors, texts, strict=True))


def problem_example(status: int) -> dict[str, Any]:
    """Return an example of a problem with this status."""
    code, detail, more = _PROBLEMS[str(status)]
    number = STATUS[code]
    title = TITLES.get(number) or HTTPStatus(number).phrase
    known = {"type": "about:blank", "title": title, "status": number, "detail": detail, "code": code}
    return {**known, "request_id": "6f1c0b7a52d3e9840000002a", **more}

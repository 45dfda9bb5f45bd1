"""Examples in the OpenAPI document; all persons and companies are fictitious."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from touchbase.http.problems import STATUS, TITLES

_FIELD = {"id": 71, "updated_time": "2026-11-20T09:30:00Z", "field_name": "Seats", "field_value": "40"}
_CONTACT = {
    "id": 1042,
    "updated_time": "2026-11-21T08:00:00.250000Z",
    "first_name": "Jane",
    "last_name": "Doe",
    "origin": "import",
    "first_campaign_email_sent": "2026-11-20T09:30:00Z",
    "last_campaign_email_sent": "2026-11-20T09:30:00Z",
    "last_reply_received": "2026-11-21T08:00:00Z",
    "previous_status": "contacted",
    "status_changed_at": "2026-11-21T08:00:00Z",
    "contact_custom_fields": [_FIELD],
    "email": "jane@example.com",
    "linkedin_url": "https://www.linkedin.com/in/jane-doe",
    "company_id": 17,
    "contact_status": "replied",
}
_COMPANY = {
    "id": 17,
    "updated_time": "2026-11-20T09:30:00Z",
    "domain": "example.com",
    "previous_status": None,
    "status_changed_at": None,
    "company_custom_fields": [_FIELD],
    "name": "Example Ltd",
}

EXAMPLES: dict[str, dict[str, Any]] = {
    "ContactRequest": {
        "email": "jane@example.com",
        "first_name": "Jane",
        "last_name": "Doe",
        "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "40"}],
        "contact_status": "new",
    },
    "ContactChange": {"contact_status": "customer", "linkedin_url": None},
    "ContactResponse": _CONTACT,
    "CompanyRequest": {"domain": "https://www.example.com/about", "name": "Example Ltd"},
    "CompanyChange": {"company_custom_fields": [{"field_name": "Seats", "field_value": None}]},
    "CompanyResponse": _COMPANY,
    "ClientRequest": {
        "settings": {
            "on_duplicate": "update",
            "contact_statuses": {"statuses": ["new", "contacted", "customer"], "transitions": {"customer": []}},
            "contact_fields": {"Seats": {"type": "number"}},
        }
    },
    "NewClient": {"name": "Example Ltd"},
    "KeyRequest": {"name": "importer", "client_id": "default", "scopes": ["records:read"], "expires_time": "2027-11-20T00:00:00Z"},
    "ConnectionRequest": {
        "channel": "crm",
        "tool": "hubspot",
        "generate_secret": True,
        "settings": {"status_property": {"contact": "hs_lead_status"}, "status_labels": {"Open Deal": "open"}},
    },
    "ConnectionChange": {"secrets": ["a-new-secret-of-the-app"], "settings": {"status_labels": {"Open Deal": "open"}}},
    "ReplayRequest": {"tool": "hubspot", "state": "unrecognised", "received_since": "2026-11-01T00:00:00Z", "dry_run": True},
}

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
    "412": ("precondition_failed", "the record has changed since you read it; read it again and repeat the change", {}),
    "413": ("too_large", "the body may have at most 1048576 bytes", {}),
    "415": ("unsupported_media_type", "Content-Type 'text/plain' is not supported; send application/json", {}),
    "422": ("invalid", f"/email {_NO_EMAIL}", {"errors": [{"pointer": "/email", "code": "email", "detail": _NO_EMAIL}]}),
    "429": ("rate_limited", f"too many requests with this key: {_RATE}; try again in 1 s", {}),
    "503": ("overloaded", "too many writes are waiting; send this again in a moment", {}),
}
"""For each status an error code, its detail and its other members."""


def problem_example(status: str) -> dict[str, Any]:
    """Return an example of a problem with this status."""
    code, detail, more = _PROBLEMS[status]
    number = STATUS[code]
    title = TITLES.get(number) or HTTPStatus(number).phrase
    known = {"type": "about:blank", "title": title, "status": number, "detail": detail, "code": code}
    return {**known, "request_id": "6f1c0b7a52d3e9840000002a", **more}

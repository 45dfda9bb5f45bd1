"""Examples in the description of the interface. Nobody in them exists."""

from __future__ import annotations

from typing import Any

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
    "company_custom_fields": {"Seats": 40},
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
    "Problem": {
        "type": "about:blank",
        "title": "Unprocessable Content",
        "status": 422,
        "detail": "/email is not an e-mail address: An email address must have an @-sign.",
        "code": "invalid",
        "request_id": "6f1c0b7a52d3e984-0000002a",
        "errors": [{"pointer": "/email", "code": "email", "detail": "is not an e-mail address: An email address must have an @-sign."}],
    },
}

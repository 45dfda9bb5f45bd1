"""Clients with connections and words of their tools, for the pictures of the console's clients, keys and settings."""

from __future__ import annotations

from tests.console.seed import sender

OTHERS = (
    ("cobalt-dental", "Cobalt Dental"),
    ("kestrel-robotics", "Kestrel Robotics"),
    ("meridian-clinics", ""),
    ("saltmarsh", "Saltmarsh Seafood"),
)
LABELS = ("Interested", "Meeting Booked", "Call back in Q1", "Wrong Person", "Not Now")
KEYS: tuple[tuple[str, list[str], str | None], ...] = (
    ("Clay push", ["records:read", "records:write"], None),
    ("Weekly report", ["records:read"], "2027-06-30T00:00:00Z"),
)


def connect(base: str, client: str) -> None:
    """Give a client connections, calls that set statuses by the tool's own words, more clients next to it, and keys."""
    send = sender(base, client)
    for channel, tool, settings in (
        ("email_campaign", "instantly", {"time_zone": "Europe/Berlin", "status_labels": {"Not Now": None}}),
        ("email_campaign", "smartlead", {}),
        ("crm", "hubspot", {"status_property": {"contact": "hs_lead_status"}, "status_labels": {"OPEN_DEAL": "interested"}}),
    ):
        send("POST", f"/admin/v1/clients/{client}/connections", {"channel": channel, "tool": tool, "settings": settings})
    for number, label in enumerate(LABELS):
        email = f"word{number}@words.example"
        lead = {
            "lead_email": email,
            "lead_category": {"new_name": label},
            "campaign_id": 7,
            "campaign_name": "Winter",
        }
        body = {"event_type": "LEAD_CATEGORY_UPDATED", "sl_email_lead_id": number, "sl_lead_email": email, **lead}
        send("POST", f"/public/emailcampaign-webhook/{client}", body)
    for other, name in OTHERS.items():
        send("PUT", f"/admin/v1/clients/{other}", {"settings": {}})
        send("PATCH", f"/admin/v1/clients/{other}", {"name": name})
    for name, scopes, ends in KEYS:
        send("POST", "/admin/v1/keys", {"name": name, "client_id": client, "scopes": scopes, "expires_time": ends})

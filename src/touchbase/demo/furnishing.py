"""What a client has besides people and calls: settings, connections, a list of addresses not to contact, an endpoint, keys."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from touchbase.common.timestamps import DAY, Micros
from touchbase.demo.agency import HUBSPOT, PIPEDRIVE, Account
from touchbase.demo.crm_bodies import PIPEDRIVE_LABELS
from touchbase.demo.front_door import DemoFailed, FrontDoor
from touchbase.demo.people import COUNTRIES, Person

ENDPOINT_OF = "alder-robotics"
PROVEN = "brightwater"
"""The client whose CRM must prove to know a secret."""
SECRET = "demo-only-not-a-secret"  # noqa: S105
RECEIVER = "https://crm.alder-robotics.example/hooks/touchbase"
STATUSES = ("new", "contacted", "replied", "interested", "meeting_booked", "maybe_later", "wrong_person", "not_interested", "bounced")
"""The declared set of a client that has one; a label outside of it sets no status."""


async def settle(door: FrontDoor, account: Account, at: Micros, *, has_secrets: bool) -> None:
    """Make the client with its settings and connections."""
    fields = {"Score": {"type": "number"}, "Country": {"type": "select", "options": [*COUNTRIES]}, "Title": {"type": "text"}}
    settings: dict[str, Any] = {"contact_fields": fields, "keep_bodies_days": 90}
    if account.id == "juniper-legal":
        settings["contact_statuses"] = {"statuses": [*STATUSES, "do_not_contact", "opportunity", "customer"]}
    await door.ask("PUT", f"/admin/v1/clients/{account.id}", {"settings": settings}, at)
    for channel, tool in [*(("email_campaign", each) for each in account.tools), ("crm", account.crm)]:
        asked: dict[str, Any] = {"channel": channel, "tool": tool}
        if tool == PIPEDRIVE:
            asked["settings"] = {"status_labels": PIPEDRIVE_LABELS}
        elif tool == HUBSPOT:
            asked["settings"] = {"status_property": {"contact": "lifecyclestage"}}
        if account.id == PROVEN and channel == "crm" and has_secrets:
            asked["secrets"] = [SECRET]
        await door.ask("POST", f"/admin/v1/clients/{account.id}/connections", asked, at)


async def add_endpoints(door: FrontDoor, at: Micros) -> int:
    """Add the endpoints of the first client; return the id of the one that gets events during the three weeks."""
    asked = {
        "url": RECEIVER, "types": ["contact.replied", "contact.status_changed"], "description": "Replies to the CRM", "rate_limit": 20,
        "filter": {"contact": {"contact_status[in]": ["replied", "interested", "meeting_booked", "customer"]}},
    }  # fmt: skip
    made = await door.ask("POST", "/public/v2/webhook-endpoints", asked, at, ENDPOINT_OF)
    slack = {
        "kind": "slack", "url": "https://hooks.slack.example/services/T000/B000/demo", "description": "Replies to #sales", "disabled": True,
        "template": "*{{person}}* replied to {{campaign}}:\n> {{text}}\n{{link}}",
    }  # fmt: skip
    await door.ask("POST", "/public/v2/webhook-endpoints", slack, at, ENDPOINT_OF)
    return int(made["id"])


async def stop_endpoint(door: FrontDoor, number: int, at: Micros) -> None:
    """Disable the endpoint, so that a server of this store sends nothing."""
    await door.ask("PATCH", f"/public/v2/webhook-endpoints/{number}", {"disabled": True}, at, ENDPOINT_OF)


async def list_addresses(door: FrontDoor, account: Account, people: Sequence[Person], chance: Random, now: Micros) -> None:
    """Put addresses on the client's do-not-contact list: competitors, customers, people who asked by phone."""
    entries = [
        {"value": f"{account.topic.split()[-1].lower()}-rival.example", "reason": "competitor", "note": "Named by the client"},
        {"value": chance.choice(people).firm.domain, "reason": "customer", "note": "Buys already; account team only"},
        {"value": chance.choice(people).email, "reason": "requested", "note": "By phone"},
        {"value": chance.choice(people).linkedin, "reason": "legal", "note": "Letter of their lawyer"},
    ]
    await door.ask("POST", "/public/v2/suppressions", {"entries": entries}, now - 12 * DAY, account.id)


async def add_keys(door: FrontDoor, at: Micros) -> None:
    """Add keys as an agency has them; their texts are shown nowhere."""
    for name, client, scopes in (
        ("Warehouse export", None, ["records:read"]),
        ("Alder sales team", "alder-robotics", ["records:read", "records:write"]),
        ("Brightwater dashboard", "brightwater", ["records:read"]),
    ):
        await door.ask("POST", "/admin/v1/keys", {"name": name, "client_id": client, "scopes": scopes}, at)


def list_of_leads(people: Sequence[Person]) -> bytes:
    """Return a CSV file as people export it: new leads, some of them wrong."""
    lines = ["E-mail,First name,Last name,Job title,Company,Website"]
    for place, person in enumerate(people):
        email = f"fair-{place}.{person.email}" if place % 17 else person.email.replace("@", " at ")
        lines.append(",".join((email, person.first, person.last, person.title, person.firm.name, f"https://www.{person.firm.domain}/")))
    return "\n".join(lines).encode()


async def import_leads(door: FrontDoor, account: Account, people: Sequence[Person], at: Micros) -> None:
    """Import a list of a trade fair; the worker of jobs does the rest."""
    file = list_of_leads(people)
    answer = await door.send("POST", "/public/v2/contacts/imports?start=true", file, at, "text/csv", account.id)
    if answer.status >= 400:
        raise DemoFailed(f"the import answered {answer.status}: {answer.body.decode()[:500]}")

"""Realistic data for the console's tests and pictures, sent over HTTP: `python -m tests.console.seed http://127.0.0.1:8000 [contacts]`.

All persons and companies are fictitious, their addresses end in `.example`. The same arguments send the same data.
"""

from __future__ import annotations

import json
import random
import sys
import unicodedata
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

FIRST = (
    "Amara", "Anna", "Aylin", "Beatriz", "Björn", "Camille", "Chidi", "Clara", "Daniel", "Elif", "Emeka", "Erik", "Fatima", "Felix",
    "Giulia", "Grace", "Hana", "Henrik", "Ines", "Ivan", "Jana", "Jonas", "Kenji", "Laila", "Lars", "Léa", "Linh", "Lucía", "Mads",
    "Maja", "Mateo", "Mei", "Milan", "Nadia", "Niko", "Noor", "Olga", "Omar", "Paula", "Priya", "Rafael", "Rosa", "Samir", "Sofia",
    "Tariq", "Tomás", "Uma", "Viktor", "Wei", "Yara", "Zoë", "Zuzana",
)  # fmt: skip
LAST = (
    "Adeyemi", "Almeida", "Bakker", "Bauer", "Bergström", "Castillo", "Chen", "Costa", "Demir", "Dubois", "Eriksen", "Fischer",
    "Fontaine", "García", "Haddad", "Hoffmann", "Ivanova", "Jansen", "Kaya", "Keller", "Kowalski", "Larsen", "Lindqvist", "Marino",
    "Mensah", "Moreau", "Müller", "Nakamura", "Novák", "Okafor", "O'Brien", "Osei", "Petrov", "Quist", "Rahman", "Ricci", "Rossi",
    "Sato", "Schmidt", "Silva", "Singh", "Sørensen", "Tanaka", "Vargas", "Virtanen", "Weber", "Yilmaz", "Zhang",
)  # fmt: skip
COMPANIES = (
    "Alder Freight|Logistics;Bright Harbor|Insurance;Cobalt Dental|Healthcare;Dovetail Roofing|Construction;"
    "Elmfield Energy|Energy;"
    "Fernway Foods|Food;Granite Payroll|Software;Hollow Pine Labs|Biotech;Ironbridge Tools|Manufacturing;Juniper Legal|Legal;"
    "Kestrel Robotics|Manufacturing;Larkspur Media|Media;Meridian Clinics|Healthcare;Northlight Solar|Energy;"
    "Oakline Interiors|Construction;"
    "Pebble Analytics|Software;Quarry Street Capital|Finance;Redwood Movers|Logistics;Saltmarsh Seafood|Food;Tidewater Security|Software;"
    "Umber Print|Media;Vantage Staffing|Staffing;Willow & Reed|Retail;Yarrow Pharma|Biotech;Zephyr Airparts|Manufacturing"
)
TITLES = (
    "Head of Operations",
    "Chief Financial Officer",
    "Founder",
    "VP Sales",
    "Office Manager",
    "Procurement Lead",
    "IT Director",
    "COO",
)
CAMPAIGNS = ("Autumn roofers", "CFO benchmark 2026", "Warm intros Q4", "Win-back: dormant trials")
REPLIES = (
    "Yes, let us talk. Thursday at ten works for me.",
    "Could you send the pricing for a team of 40? I would have to take it to our board in December.",
    "Not now, we renew in March. Please come back then.",
    "I am not the right person, but I put our head of operations in copy.",
    "Who gave you my address? Please take me off the list.",
    "Interesting. How does this work with HubSpot?",
)
Send = Callable[[str, str, Any], Any]


def sender(base: str, client: str) -> Send:
    """Return a function that sends a JSON request for a client."""

    def send(method: str, path: str, body: Any = None) -> Any:
        headers = {"content-type": "application/json"} | (
            {} if path.startswith(("/public/emailcampaign", "/team/")) else {"x-client-id": client}
        )
        request = urllib.request.Request(
            base + path, method=method, headers=headers, data=None if body is None else json.dumps(body).encode()
        )
        with urllib.request.urlopen(request) as response:
            text = response.read()
        return json.loads(text) if text else None

    return send


def companies(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Companies with their industries."""
    for each in COMPANIES.split(";"):
        name, industry = each.split("|")
        domain = "".join(letter for letter in name.lower() if letter.isalnum()) + ".example"
        fields = [("Industry", industry), ("Employees", str(chance.choice((12, 35, 48, 90, 210, 640))))]
        custom = [{"field_name": key, "field_value": value} for key, value in fields]
        yield {
            "domain": domain,
            "name": name,
            "company_status": chance.choice(("target", "customer", "target", "lost")),
            "company_custom_fields": custom,
        }


def contacts(chance: random.Random, count: int, firms: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """People of these companies."""
    for number in range(count):
        first, last, firm = chance.choice(FIRST), chance.choice(LAST), chance.choice(firms)
        plain = unicodedata.normalize("NFKD", f"{first}.{last}".replace("ø", "o").lower())
        ascii_name = "".join(letter for letter in plain if letter.isascii() and (letter.isalpha() or letter == "."))
        fields = [
            ("Title", chance.choice(TITLES)),
            ("Score", str(chance.randint(1, 100))),
            ("Country", chance.choice(("DE", "FR", "DK", "ES", "UK", "US"))),
        ]
        yield {
            "email": f"{ascii_name}{'' if number < 60 else number}@{firm['domain']}",
            "linkedin_url": f"https://www.linkedin.com/in/{ascii_name.replace('.', '-')}-{number}" if chance.random() < 0.7 else None,
            "first_name": first,
            "last_name": last,
            "origin": chance.choice(("apollo", "clay", "event list", "website")),
            "company_id": firm["id"],
            "contact_custom_fields_input": [{"field_name": key, "field_value": value} for key, value in fields if chance.random() < 0.9],
        }


def webhooks(chance: random.Random, people: list[dict[str, Any]], now: datetime) -> Iterator[dict[str, Any]]:
    """Three weeks of two campaign tools, with some bodies that no adapter knows."""
    for number, person in enumerate(people):
        campaign = chance.randrange(len(CAMPAIGNS))
        sent = now - timedelta(days=chance.uniform(5, 21))
        common = {
            "campaign_id": f"c{campaign}",
            "campaign_name": CAMPAIGNS[campaign],
            "workspace": "w1",
            "email_account": "sam@outbound.example",
        }
        for step in range(chance.choice((1, 1, 2, 3))):
            yield _event("email_sent", person, sent + timedelta(days=2 * step), **common, step=step + 1)
        luck = chance.random()
        later = sent + timedelta(hours=chance.uniform(1, 90))
        if luck < 0.13:
            yield _event(
                "reply_received",
                person,
                later,
                **common,
                reply_subject="Re: a question",
                reply_text=chance.choice(REPLIES),
                email_id=f"m{number}",
            )
        elif luck < 0.17:
            yield _event("email_bounced", person, later, **common, bounce_type="hard")
        elif luck < 0.19:
            yield _event("lead_unsubscribed", person, later, **common)
        elif luck < 0.21:
            yield {
                "kind": "call.finished",
                "prospect": {"mail": person["email"]},
                "outcome": chance.choice(("voicemail", "talked")),
                "seconds": chance.randint(5, 400),
            }


def _event(kind: str, person: dict[str, Any], at: datetime, **more: Any) -> dict[str, Any]:
    return {
        "event_type": kind,
        "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "lead_email": person["email"],
        **more,
    }


def fill(
    base: str,
    count: int = 400,
    client: str = "northlight",
    name: str = "Northlight Outbound",
    now: datetime | None = None,
    calls: int = 300,
) -> None:
    """Fill one client."""
    chance, send = random.Random(client), sender(base, client)
    send("PUT", f"/admin/v1/clients/{client}", {"settings": {}})
    send("PATCH", f"/admin/v1/clients/{client}", {"name": name})
    firms = [send("POST", "/public/v2/companies", each) for each in companies(chance)]
    people = list(contacts(chance, count, firms))
    for at in range(0, len(people), 500):
        send("POST", "/public/v2/contacts/batch", {"commands": [{"op": "create", "body": each} for each in people[at : at + 500]]})
    for body in webhooks(chance, people[:calls], now or datetime.now(UTC)):
        send("POST", f"/public/emailcampaign-webhook/{client}", body)


if __name__ == "__main__":
    from tests.console.seed_clients import connect

    fill(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400)
    fill(sys.argv[1], 40, "harborline", "Harborline Partners", calls=25)
    connect(sys.argv[1], "northlight")

"""Fictitious companies and people; all addresses end in `.example`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
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
NAMES = (
    "Ashford", "Birchwood", "Bright", "Cedar", "Clearwater", "Cobalt", "Copper", "Crestline", "Dovetail", "Eastgate", "Elmfield",
    "Fairview", "Fernway", "Foxglove", "Granite", "Greenfield", "Hazel", "Highbridge", "Hollow", "Ironbridge", "Ivory", "Kingsway",
    "Larkspur", "Linden", "Longmeadow", "Maple", "Meridian", "Millbrook", "Northfield", "Oakline", "Orchard", "Pebble", "Quarry",
    "Ravenswood", "Redwood", "Ridgeway", "Rosewood", "Saltmarsh", "Silver", "Southgate", "Stonebridge", "Summit", "Thornbury",
    "Tidewater", "Umber", "Vale", "Vantage", "Westbrook", "Whitestone", "Willow", "Windmill", "Yarrow", "Zephyr",
)  # fmt: skip
TRADES = {
    "Logistics": "Freight Haulage Couriers Warehousing",
    "Manufacturing": "Tools Castings Packaging Airparts",
    "Healthcare": "Clinics Dental Care Diagnostics",
    "Software": "Software Systems Data Cloud",
    "Construction": "Roofing Builders Joinery Electric",
    "Finance": "Capital Insurance Payments Advisory",
    "Food": "Foods Bakery Seafood Dairy",
    "Retail": "Stores Outdoor Furniture Books",
    "Legal": "Legal Notaries Chambers Patents",
    "Hospitality": "Hotels Resorts Catering Events",
}
TITLES = (
    "Head of Operations", "Chief Financial Officer", "Founder", "VP Sales", "Office Manager", "Procurement Lead", "IT Director", "COO",
    "Plant Manager", "HR Director", "General Counsel", "Facility Manager",
)  # fmt: skip
COUNTRIES = ("DE", "UK", "US", "FR", "ES", "DK", "NL", "SE")
SIZES = (12, 35, 48, 90, 140, 210, 380, 640, 1_200)
SOURCES = ("apollo", "clay", "event list", "website", "referral")


@dataclass(frozen=True, slots=True)
class Firm:
    """A company."""

    name: str
    domain: str
    industry: str
    employees: int


@dataclass(frozen=True, slots=True)
class Person:
    """A contact."""

    number: int
    first: str
    last: str
    title: str
    country: str
    firm: Firm
    email: str
    linkedin: str

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}"


def firms(chance: Random, count: int) -> list[Firm]:
    """Return companies, each with another name."""
    names = [(f"{name} {word}", trade) for name in NAMES for trade, words in TRADES.items() for word in words.split()]
    chosen = chance.sample(names, min(count, len(names)))
    return [Firm(name, f"{plain(name)}.example", trade, chance.choice(SIZES)) for name, trade in chosen]


def people(chance: Random, count: int, of: list[Firm]) -> Iterator[Person]:
    """Yield people of these companies, each with another address."""
    taken: set[str] = set()
    for number in range(count):
        firm = chance.choice(of)
        first, last = chance.choice(FIRST), chance.choice(LAST)
        user = f"{plain(first)}.{plain(last)}"
        while f"{user}@{firm.domain}" in taken:
            user += str(chance.randint(2, 9))
        taken.add(f"{user}@{firm.domain}")
        linkedin = f"https://www.linkedin.com/in/{plain(first)}-{plain(last)}-{firm.domain.partition('.')[0]}-{number}"
        title, country = chance.choice(TITLES), chance.choices(COUNTRIES, (5, 4, 4, 2, 2, 1, 1, 1))[0]
        yield Person(number, first, last, title, country, firm, f"{user}@{firm.domain}", linkedin)


def plain(text: str) -> str:
    """Return a text's letters without accents, in lower case."""
    text = unicodedata.normalize("NFKD", text.lower().replace("ø", "o"))
    return "".join(letter for letter in text if letter.isascii() and letter.isalnum())


def company_body(firm: Firm, chance: Random) -> dict[str, Any]:
    """Return the body of a request for a company."""
    return {
        "domain": firm.domain,
        "name": firm.name,
        "company_status": chance.choices(("target", "customer", "lost"), (8, 1, 1))[0],
        "company_custom_fields": _fields({"Industry": firm.industry, "Employees": str(firm.employees)}),
    }


def contact_body(person: Person, chance: Random) -> dict[str, Any]:
    """Return the body of a request for a contact; some are known without a LinkedIn address or some fields."""
    fields = {"Title": person.title, "Country": person.country, "Score": str(chance.randint(1, 100))}
    return {
        "email": person.email,
        "first_name": person.first,
        "last_name": person.last,
        "origin": chance.choice(SOURCES),
        "company_id": person.firm.domain,
        "contact_status": "new",
        "linkedin_url": person.linkedin if chance.random() < 0.8 else None,
        "contact_custom_fields_input": _fields({name: value for name, value in fields.items() if chance.random() < 0.93}),
    }


def _fields(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"field_name": name, "field_value": value} for name, value in values.items()]

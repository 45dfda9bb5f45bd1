"""The clients of a fictitious agency: what each sells, and with which tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SMARTLEAD, INSTANTLY, LEMLIST, EMAILBISON, HEYREACH = "smartlead", "instantly", "lemlist", "emailbison", "heyreach"
HUBSPOT, PIPEDRIVE, CLOSE = "hubspot", "pipedrive", "close"
TOOLS = (SMARTLEAD, INSTANTLY, LEMLIST, EMAILBISON, HEYREACH, HUBSPOT, PIPEDRIVE, CLOSE)
SHARES = 20_000
"""Contacts of all clients together, of which `Account.contacts` are shares."""


@dataclass(frozen=True, slots=True)
class Account:
    """One client of the agency."""

    id: str
    name: str
    contacts: int
    tools: Mapping[str, float]
    """Campaign tools, each with its share of the people who are written to."""
    crm: str
    campaigns: tuple[str, ...]
    sender: str
    topic: str
    """What a mail is about: `{company} and {topic}`."""
    offer: str
    """What the client does: `We {offer}.`"""

    @property
    def mailbox(self) -> str:
        """The address that mails come from."""
        return f"{self.sender.split()[0].lower()}@{self.domain}"

    @property
    def domain(self) -> str:
        """The client's own domain."""
        return f"{self.id}.example"


ACCOUNTS = (
    Account(
        "alder-robotics", "Alder Robotics", 4_200, {SMARTLEAD: 0.55, INSTANTLY: 0.3, HEYREACH: 0.15}, HUBSPOT,
        ("Night shift pilots", "Warehouse leads DACH", "Trade fair follow-up", "Win-back 2025"), "Sam Whitfield",
        "the night shift", "rent out robots that move pallets at night, by the hour and without a change to the building",
    ),
    Account(
        "brightwater", "Brightwater Analytics", 3_100, {INSTANTLY: 1.0}, PIPEDRIVE,
        ("CFO benchmark 2026", "Board reports", "Warm intros"), "Nadia Okafor",
        "the monthly board report", "turn the numbers of five systems into one board report, without typing",
    ),
    Account(
        "ferncliff-payroll", "Ferncliff Payroll", 2_600, {LEMLIST: 1.0}, HUBSPOT,
        ("Payroll in five countries", "Switch before January", "HR leads Nordics"), "Jonas Lindqvist",
        "payroll in several countries", "run payroll for teams in five countries from one list, filed on time",
    ),
    Account(
        "harbor-cyber", "Harbor Cyber", 2_200, {EMAILBISON: 1.0}, CLOSE,
        ("NIS2 readiness", "Password audit offer", "MSP partners"), "Grace Mensah",
        "NIS2", "check what an attacker sees of a company from outside, and say which three things to mend first",
    ),
    Account(
        "juniper-legal", "Juniper Legal Software", 1_800, {SMARTLEAD: 0.7, HEYREACH: 0.3}, HUBSPOT,
        ("Contract review trial", "General counsels UK", "Law firms under 50"), "Clara Fontaine",
        "contract review", "read supplier contracts and mark the clauses that differ from your own standard",
    ),
    Account(
        "kestrel-freight", "Kestrel Freight", 1_500, {SMARTLEAD: 1.0}, PIPEDRIVE,
        ("Less-than-truckload", "Peak season capacity"), "Erik Larsen",
        "freight to Scandinavia", "fill half-empty trucks to Scandinavia, with a price in ten minutes",
    ),
    Account(
        "lumen-solar", "Lumen Solar", 1_200, {INSTANTLY: 0.7, HEYREACH: 0.3}, HUBSPOT,
        ("Roofs over 1,000 m²", "Property managers", "Solar for cold stores"), "Paula García",
        "the roof of your warehouse", "put solar panels on large roofs and pay rent for the roof",
    ),
    Account(
        "marlow-interiors", "Marlow Interiors", 1_000, {EMAILBISON: 1.0}, CLOSE,
        ("Office moves 2026", "Quiet rooms"), "Beatriz Almeida",
        "your office move", "plan and furnish offices in six weeks, and take the old furniture away",
    ),
    Account(
        "pinecrest-staffing", "Pinecrest Staffing", 900, {LEMLIST: 1.0}, PIPEDRIVE,
        ("Electricians now", "Seasonal teams"), "Omar Haddad",
        "electricians", "find certified electricians for projects that start within a month",
    ),
    Account(
        "sable-coffee", "Sable Coffee Supply", 700, {HEYREACH: 1.0}, HUBSPOT,
        ("Offices with 50 people", "Hotels"), "Lucía Castillo",
        "coffee in the office", "bring fresh beans and look after the machine, paid by the cup",
    ),
    Account(
        "tessera-health", "Tessera Health", 500, {SMARTLEAD: 1.0}, CLOSE,
        ("Practice managers",), "Hana Nakamura",
        "missed appointments", "halve the missed appointments of a practice with two text messages",
    ),
    Account(
        "verdant-water", "Verdant Water", 300, {LEMLIST: 1.0}, PIPEDRIVE,
        ("Hotels on the coast",), "Tomás Vargas",
        "your water bill", "find leaks from the meter's own data, and are paid from what is saved",
    ),
)  # fmt: skip
"""In the order of their ids; the largest comes first, so it is the one that the console shows at first."""

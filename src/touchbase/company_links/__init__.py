"""Company links: contacts without a company get the company with the domain of their e-mail address, in the background."""

from __future__ import annotations

from touchbase.company_links.commands import ClientsToLink, CountContacts, FollowChanges, LinkPage, StartLinking
from touchbase.company_links.job import KINDS
from touchbase.company_links.worker import CompanyLinker

__all__ = [
    "KINDS",
    "ClientsToLink",
    "CompanyLinker",
    "CountContacts",
    "FollowChanges",
    "LinkPage",
    "StartLinking",
]

"""All groups of the synchronous client. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.calls import Sender
from touchbase.client.groups.admin import Admin
from touchbase.client.groups.public import (
    Companies, CompanyCustomFields, CompanyStatuses, ContactCustomFields, ContactStatuses, Contacts, Deliveries, Events, Exports,
    Imports, Jobs, Messages, Reports, Suppressions, WebhookEndpoints, Webhooks,
)
from touchbase.client.groups.revyops import Revyops


class Groups:
    """All groups of a client."""

    def __init__(self, sender: Sender) -> None:
        self.contacts = Contacts(sender)
        self.companies = Companies(sender)
        self.imports = Imports(sender)
        self.exports = Exports(sender)
        self.jobs = Jobs(sender)
        self.messages = Messages(sender)
        self.events = Events(sender)
        self.suppressions = Suppressions(sender)
        self.contact_custom_fields = ContactCustomFields(sender)
        self.company_custom_fields = CompanyCustomFields(sender)
        self.contact_statuses = ContactStatuses(sender)
        self.company_statuses = CompanyStatuses(sender)
        self.reports = Reports(sender)
        self.webhook_endpoints = WebhookEndpoints(sender)
        self.webhooks = Webhooks(sender)
        self.deliveries = Deliveries(sender)
        self.revyops = Revyops(sender)
        self.admin = Admin(sender)

"""All groups of the asynchronous client. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.async_calls import AsyncSender
from touchbase.client.async_groups.admin import AsyncAdmin
from touchbase.client.async_groups.public import (
    AsyncCompanies, AsyncCompanyCustomFields, AsyncCompanyStatuses, AsyncContactCustomFields, AsyncContactStatuses, AsyncContacts,
    AsyncDeliveries, AsyncEvents, AsyncExports, AsyncImports, AsyncJobs, AsyncMessages, AsyncReports, AsyncSuppressions,
    AsyncWebhookEndpoints, AsyncWebhooks,
)
from touchbase.client.async_groups.revyops import AsyncRevyops


class AsyncGroups:
    """All groups of a client."""

    def __init__(self, sender: AsyncSender) -> None:
        self.contacts = AsyncContacts(sender)
        self.companies = AsyncCompanies(sender)
        self.imports = AsyncImports(sender)
        self.exports = AsyncExports(sender)
        self.jobs = AsyncJobs(sender)
        self.messages = AsyncMessages(sender)
        self.events = AsyncEvents(sender)
        self.suppressions = AsyncSuppressions(sender)
        self.contact_custom_fields = AsyncContactCustomFields(sender)
        self.company_custom_fields = AsyncCompanyCustomFields(sender)
        self.contact_statuses = AsyncContactStatuses(sender)
        self.company_statuses = AsyncCompanyStatuses(sender)
        self.reports = AsyncReports(sender)
        self.webhook_endpoints = AsyncWebhookEndpoints(sender)
        self.webhooks = AsyncWebhooks(sender)
        self.deliveries = AsyncDeliveries(sender)
        self.revyops = AsyncRevyops(sender)
        self.admin = AsyncAdmin(sender)

"""All routes of the interface. A new capability adds its `api` module here."""

from __future__ import annotations

from touchbase.auth import api as keys
from touchbase.clients.api import life as clients_life
from touchbase.clients.api import settings as clients
from touchbase.connections.api import resource as connections
from touchbase.console import api as console
from touchbase.custom_fields.api import resource as custom_fields
from touchbase.do_not_contact.api import records as suppressed_records
from touchbase.do_not_contact.api import resource as suppressions
from touchbase.erasure import api as erasure
from touchbase.event_log.api import resource as event_log
from touchbase.exports import api as exports
from touchbase.http import cells, docs_page, docs_text, health
from touchbase.http.routing import Route
from touchbase.imports import api as imports
from touchbase.inbox.api import deliveries, delivery_counts, delivery_list, refused, webhooks
from touchbase.inbox.api import replay as replays
from touchbase.jobs import api as jobs
from touchbase.mcp import api as mcp
from touchbase.merging.api import bin as deleted
from touchbase.merging.api import duplicates
from touchbase.merging.api import merges as merging
from touchbase.messages.api import resource as messages
from touchbase.outgoing.api import event_samples
from touchbase.outgoing.api import resource as outgoing
from touchbase.records.api import resource as records
from touchbase.reports.api import resource as reports
from touchbase.revyops.api import routes as revyops
from touchbase.statuses import api as statuses

ROUTES: tuple[Route, ...] = (
    *records.CONTACT_ROUTES,
    *erasure.ROUTES,
    *records.COMPANY_ROUTES,
    *deleted.ROUTES,
    *merging.ROUTES,
    *duplicates.ROUTES,
    *messages.ROUTES,
    *suppressions.ROUTES,
    *suppressed_records.ROUTES,
    *custom_fields.ROUTES,
    *imports.ROUTES,
    *exports.ROUTES,
    *reports.ROUTES,
    *statuses.ROUTES,
    *jobs.ROUTES,
    *outgoing.ROUTES,
    *event_log.ROUTES,
    *event_samples.ROUTES,
    *revyops.ROUTES,
    *webhooks.ROUTES,
    *delivery_list.ROUTES,
    *delivery_counts.ROUTES,
    *deliveries.ROUTES,
    *replays.ROUTES,
    *refused.ROUTES,
    *clients.ROUTES,
    *clients_life.ROUTES,
    *connections.ROUTES,
    *keys.ROUTES,
    *cells.ROUTES,
    *health.ROUTES,
    *docs_page.ROUTES,
    *docs_text.ROUTES,
    *console.ROUTES,
    *mcp.ROUTES,
)
"""In the order of the OpenAPI document and of the documentation."""

"""All routes of the interface, and the OpenAPI document of them. A new room adds its `api` module here."""

from __future__ import annotations

from touchbase.administration import (
    audit_events,
    clients,
    connections,
    ignore_rules,
    keys,
    mappings,
    personal_keys,
    pushes,
    report_links,
    report_page,
    snippets,
    status,
    team,
)
from touchbase.attention import api as attention
from touchbase.blocking import api as blocking
from touchbase.changes import api as changes
from touchbase.console import api as console
from touchbase.console import oidc_routes
from touchbase.conversations import api as conversations
from touchbase.custom_fields.api import resource as custom_fields
from touchbase.do_not_contact.api import resource as suppressions
from touchbase.erasure import api as erasure
from touchbase.event_archive import api as event_archive
from touchbase.exports import api as exports
from touchbase.http import docs_page, openapi
from touchbase.http.routing import Json, Route
from touchbase.imports import api as imports
from touchbase.inbox.api import deliveries, delivery_list, refused, webhooks
from touchbase.inbox.api import replay as replays
from touchbase.jobs import api as jobs
from touchbase.live import api as live
from touchbase.mcp import api as mcp
from touchbase.merging.api import batch, distinct, duplicates
from touchbase.merging.api import bin as deleted
from touchbase.merging.api import merges as merging
from touchbase.messages.api import resource as messages
from touchbase.messages.api import timeline
from touchbase.notes import api as notes
from touchbase.notifying import api as notifying
from touchbase.outgoing.api import events
from touchbase.outgoing.api import resource as outgoing
from touchbase.records.api import resource as records
from touchbase.records.api import suppression
from touchbase.reports.api import resource as reports
from touchbase.revyops.api import lists
from touchbase.revyops.api import routes as revyops
from touchbase.search.api import resource as search
from touchbase.statuses import api as statuses
from touchbase.statuses import looks
from touchbase.tasks import api as tasks
from touchbase.views import api as views

ROUTES: tuple[Route, ...] = (
    *lists.LIST_ROUTES,
    *search.ROUTES,
    *records.CONTACT_ROUTES,
    *erasure.ROUTES,
    *records.COMPANY_ROUTES,
    *timeline.ROUTES,
    *batch.ROUTES,
    *deleted.ROUTES,
    *merging.ROUTES,
    *duplicates.ROUTES,
    *distinct.ROUTES,
    *messages.ROUTES,
    *conversations.ROUTES,
    *notes.ROUTES,
    *tasks.ROUTES,
    *attention.ROUTES,
    *notifying.ROUTES,
    *live.ROUTES,
    *blocking.ROUTES,
    *suppressions.ROUTES,
    *suppression.ROUTES,
    *custom_fields.ROUTES,
    *imports.ROUTES,
    *exports.ROUTES,
    *reports.ROUTES,
    *statuses.ROUTES,
    *looks.ROUTES,
    *jobs.ROUTES,
    *changes.ROUTES,
    *outgoing.ROUTES,
    *events.ROUTES,
    *event_archive.ROUTES,
    *revyops.ROUTES,
    *webhooks.ROUTES,
    *delivery_list.ROUTES,
    *deliveries.ROUTES,
    *replays.ROUTES,
    *refused.ROUTES,
    *clients.ROUTES,
    *connections.ROUTES,
    *mappings.ROUTES,
    *ignore_rules.ROUTES,
    *pushes.ROUTES,
    *keys.ROUTES,
    *report_links.ROUTES,
    *report_page.ROUTES,
    *team.ROUTES,
    *personal_keys.ROUTES,
    *snippets.ROUTES,
    *views.ROUTES,
    *audit_events.ROUTES,
    *status.ROUTES,
    *docs_page.ROUTES,
    *oidc_routes.ROUTES,
    *console.ROUTES,
    *mcp.ROUTES,
)
"""In the order of the OpenAPI document and of the documentation."""
DESCRIBED = openapi.described(ROUTES)
"""The routes of the OpenAPI document."""
TAGS = openapi.tags(DESCRIBED)
TYPES = openapi.body_types(DESCRIBED)
"""The request and response bodies."""


def description(version: str, *, keys_needed: bool, public_url: str = "") -> Json:
    """Return the OpenAPI document."""
    return openapi.description(ROUTES, version, keys_needed=keys_needed, public_url=public_url)

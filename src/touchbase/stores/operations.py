"""Modules that register operations with `executes`. An engine imports this module, so that every class of calls has its plan."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "touchbase.auth.sql",
    "touchbase.merging.sql.delete",
    "touchbase.merging.sql.restore",
    "touchbase.cells.sql",
    "touchbase.clients.sql.clients",
    "touchbase.clients.sql.clients",
    "touchbase.clients.sql.removal",
    "touchbase.clients.sql.clients",
    "touchbase.clients.sql.stored_bytes",
    "touchbase.company_links.plans",
    "touchbase.connections.sql.connections",
    "touchbase.encryption.encrypted_columns",
    "touchbase.connections.sql.fetching",
    "touchbase.connections.sql.silence",
    "touchbase.consistency.sql",
    "touchbase.custom_fields.sql",
    "touchbase.do_not_contact.sql.entries",
    "touchbase.do_not_contact.sql.lookup",
    "touchbase.erasure.sql.erasures",
    "touchbase.erasure.sql.persons",
    "touchbase.event_log.sql.queries",
    "touchbase.exports.sql",
    "touchbase.idempotency.execute_once",
    "touchbase.imports.sql",
    "touchbase.deliveries.sql.body_retention",
    "touchbase.inbox.sql.commands",
    "touchbase.inbox.sql.queries",
    "touchbase.inbox.sql.refused",
    "touchbase.inbox.sql.search",
    "touchbase.jobs.sql",
    "touchbase.jobs.steps",
    "touchbase.merging.sql.merge",
    "touchbase.merging.sql.undo",
    "touchbase.messages.sql.plans",
    "touchbase.outgoing.sql.backlog",
    "touchbase.outgoing.sql.dispatch",
    "touchbase.outgoing.sql.endpoints",
    "touchbase.records.sql.lookup",
    "touchbase.records.sql.reads",
    "touchbase.records.sql.writes",
    "touchbase.reports.sql.parts",
    "touchbase.reports.sql.statuses",
    "touchbase.search.sql.plans",
    "touchbase.statuses.sql.refused",
    "touchbase.statuses.sql.renames",
)

for _module in MODULES:
    import_module(_module)

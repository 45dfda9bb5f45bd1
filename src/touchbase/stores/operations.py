"""Modules that register operations with `executes`. An engine imports this module, so that every class of calls has its plan."""

from __future__ import annotations

from importlib import import_module

MODULES = (
    "touchbase.idempotency.execute_once",
    "touchbase.records.sql.reads",
    "touchbase.records.sql.writes",
    "touchbase.search.sql.plans",
)

for _module in MODULES:
    import_module(_module)

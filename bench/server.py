"""The server that is measured: `touchbase serve` itself, or the same with one thing taken away.

`python -m bench.server --variant real -- --port 0 --database sqlite:///file.db`; what follows `--` are the
options of `touchbase serve`.

- `real`: as a user runs it.
- `bare`: a store that answers each write at once from memory: what the server and the API alone cost.
- `single`: the real store with groups of one command, so each request has a transaction of its own: begun, done and committed.
- `statement`: the same where a command that is one statement is a transaction by itself, which spares PostgreSQL two round trips.
- `keep`, `single-keep`: the same without the inbox worker, as if `touchbase worker` ran elsewhere.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from touchbase import app
from touchbase.auth.sql import any_key
from touchbase.cells.models import Directory
from touchbase.cells.sql import read_directory
from touchbase.cli import cli
from touchbase.clients.models import Client, ClientSettings
from touchbase.clients.sql.clients import ensure_client, find_client
from touchbase.deliveries.work import WorkReport
from touchbase.errors import Overloaded
from touchbase.inbox.sql.commands import StoredDelivery, count_repeat, store_delivery
from touchbase.inbox.sql.queries import count_inbox
from touchbase.records.models import Contact, CustomField
from touchbase.records.operations import create_company, create_contact, update_contact
from touchbase.records.sql.reads import find_record, list_records
from touchbase.records.writes import Created
from touchbase.storage import batch
from touchbase.storage.postgres import engine

VARIANTS = ("real", "keep", "bare", "single", "single-keep", "statement")
WITHOUT_WORKER = ("keep", "single-keep")
CONNECTIONS_OF_SINGLE = 10
"""How many transactions `single` has under way on PostgreSQL: the usual size of a pool. SQLite has one writer in any case."""


class BareStore:
    """Answers at once and keeps nothing."""

    warnings = ()
    batch_size_under_load = 0
    blocked_share = 0.0
    queue_depth = 0
    commands_taken = 0

    def __init__(self) -> None:
        self._last = 0

    async def write(self, command: Any) -> Any:
        self._last += 1
        if isinstance(command, store_delivery):
            return StoredDelivery(self._last, False)
        if command.operation in (create_contact.operation, create_company.operation):
            record = command.creation.record
            record.id = self._last
            record.custom_fields = [CustomField(self._last, name, value, record.created_us) for name, value in command.creation.custom]
            return Created(record, True)
        if command.operation is update_contact.operation:
            return _contact(command.update.id)
        return _client(command.client_id) if command.operation is ensure_client.operation else None

    async def read(self, query: Any) -> Any:
        if isinstance(query, find_client):
            return _client(query.client_id)
        if query.operation is find_record.operation:
            return _contact(query.id)
        if query.operation is list_records.operation:
            return [_contact(number) for number in range(1, query.listing.limit + 1)]
        if isinstance(query, count_inbox):
            raise Overloaded("nothing is kept here that could be counted")
        if isinstance(query, read_directory):
            return Directory(1)
        return False if isinstance(query, any_key) else []

    async def work(self, *turn: Any) -> WorkReport:
        return WorkReport()

    async def check(self) -> None:
        """It can always write."""

    async def close(self) -> None:
        """There is nothing to finish."""


def _client(client_id: str) -> Client:
    return Client(1, client_id, 0, ClientSettings())


def _contact(number: int) -> Contact:
    fields = [CustomField(number, "Seats", "40", 1), CustomField(number, "Team", "Sales", 1)]
    names = {"email": "bare@example.com", "first_name": "Nora", "last_name": "Quill", "origin": "import", "status": "new"}
    return Contact(1, number, 1, 1, **names, custom_fields=fields)  # type: ignore[arg-type]


async def _open_bare(url: str, **options: Any) -> Any:
    return BareStore()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--variant", choices=VARIANTS, default="real")
    parser.add_argument("serve", nargs="*")
    options = parser.parse_args()
    if options.variant == "bare":
        setattr(app, "open_store", _open_bare)  # noqa: B010 - typed as what it stands in for
    if options.variant in ("single", "single-keep", "statement"):
        batch.MAX_COMMANDS = 1
        engine.WRITERS = CONNECTIONS_OF_SINGLE
    if options.variant in ("single", "single-keep"):
        for kind in (create_contact, create_company, store_delivery, count_repeat):
            kind.operation = replace(kind.operation, solo=False)
    without_worker = ["--no-inbox-worker"] if options.variant in WITHOUT_WORKER else []
    cli(["serve", *without_worker, *options.serve], prog_name="touchbase")


if __name__ == "__main__":
    main()

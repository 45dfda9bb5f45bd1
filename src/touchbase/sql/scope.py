"""Scopes: which clients' rows a call may access. PostgreSQL's row-level security limits every transaction to its scope, in addition to
the client condition in each statement."""

from __future__ import annotations

from typing import NewType

Scope = NewType("Scope", str)
"""The clients' numbers in the format of the policies, such as `,1,5,9,`."""

NO_CLIENT = Scope("")
"""No client's rows: only tables without row-level security, such as blocks of ids."""
CLIENT_LIST = Scope("clients")
"""The list of clients: their ids, their settings and whether they have erasures, but none of their data. For calls that find a client by
its id, create clients or list them: the client's number is not known yet, and an id is unique."""
ALL_CLIENTS = Scope("all")
"""The rows of all clients, and those without a client. For keys, whose client is not known before they are found; for workers, metrics
and encryption, which search for work; for administrators of all clients; and for importing erasures into a store that has none."""


def scope_for(*clients: int) -> Scope:
    """Return the scope of these clients."""
    return Scope(f",{','.join(f'{client:d}' for client in sorted(clients))},")

"""The do-not-contact list, as imports see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from touchbase.records import CreateCompany, CreateContact
from touchbase.sql.statement import Plan


def suppressed_rows(client: int, commands: Sequence[CreateContact | CreateCompany]) -> Plan[Mapping[int, str]]:
    """Return the positions of commands whose person or domain must not be contacted, each with the reason.

    There is no list yet: this is where it is asked, inside the transaction of the rows.
    """
    yield from ()
    return {}

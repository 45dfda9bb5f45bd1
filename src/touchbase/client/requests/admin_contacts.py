"""Requests of `admin.contacts`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client.models.contact_records import ContactOfClient
    from touchbase.client.models.contacts import ContactClientMatches, ContactMatchRequest, ContactsOfClients
    from touchbase.client.models.records import Structure


def list_contacts_of_all_clients(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None, client: str | None = None,
    filters: Mapping[str, str] | None = None,
) -> Paged[ContactsOfClients, ContactOfClient]:
    """List the contacts of all clients."""
    return Paged(
        "list_contacts_of_all_clients", "GET", "/admin/v1/contacts", query={"structure": structure, "limit": limit, "cursor": cursor,
        "client": client, "filters": filters},
    )


def match_contacts_of_all_clients(body: ContactMatchRequest) -> Request[ContactClientMatches]:
    """Look up many contacts in all clients."""
    return Request("match_contacts_of_all_clients", "POST", "/admin/v1/contacts/match", body=body)

"""Requests of `admin.companies`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client.models.companies import CompaniesOfClients, CompanyClientMatches, CompanyMatchRequest
    from touchbase.client.models.company_records import CompanyOfClient
    from touchbase.client.models.records import Structure


def list_companies_of_all_clients(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None, client: str | None = None,
    filters: Mapping[str, str] | None = None,
) -> Paged[CompaniesOfClients, CompanyOfClient]:
    """List the companies of all clients."""
    return Paged(
        "list_companies_of_all_clients", "GET", "/admin/v1/companies", query={"structure": structure, "limit": limit, "cursor": cursor,
        "client": client, "filters": filters},
    )


def match_companies_of_all_clients(body: CompanyMatchRequest) -> Request[CompanyClientMatches]:
    """Look up many companies in all clients."""
    return Request("match_companies_of_all_clients", "POST", "/admin/v1/companies/match", body=body)

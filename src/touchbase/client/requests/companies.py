"""Requests of `companies`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Text, Time, Write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client.models.companies import (
        CompanyBatch, CompanyBatchResponse, CompanyMatchBy, CompanyMatchRequest, CompanyMatches, CompanyMerge, CompanyPage, CompanyPair,
        CompanyPairPage, DeletedCompany, DeletedCompanyPage, UndoneCompanies,
    )
    from touchbase.client.models.company_records import CompanyChange, CompanyRequest, CompanyResponse, NumberedCompanies
    from touchbase.client.models.records import (
        BulkChange, DryRunResponse, Explanation, MergeRequest, SearchBody, Structure, SuppressionStatus, TimelineEvent, TimelinePage,
        ValueChangeOut, ValueHistoryPage,
    )
    from touchbase.client.models.shared import OnDuplicate


def list_companies(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None, domain: str | None = None,
    company_status: str | None = None, external_id: str | None = None, updated_since: Time | None = None, sort: Text | None = None,
    q: str | None = None, fields: Text | None = None, filters: Mapping[str, str] | None = None, prefer: str | None = None,
    if_none_match: str | None = None,
) -> Paged[CompanyPage, CompanyResponse]:
    """List companies, newest last."""
    return Paged(
        "list_companies", "GET", "/public/v2/companies", query={"structure": structure, "limit": limit, "cursor": cursor,
        "domain": domain, "company_status": company_status, "external_id": external_id, "updated_since": updated_since, "sort": sort,
        "q": q, "fields": fields, "filters": filters}, headers={"Prefer": prefer, "If-None-Match": if_none_match}, of_client=True,
    )


def list_companies_numbered(
    *, page: int, structure: Structure | None = None, domain: str | None = None, company_status: str | None = None,
    external_id: str | None = None, updated_since: Time | None = None, sort: Text | None = None, q: str | None = None,
    fields: Text | None = None, filters: Mapping[str, str] | None = None, page_size: int | None = None, prefer: str | None = None,
    if_none_match: str | None = None,
) -> Request[NumberedCompanies]:
    """List companies in numbered pages, which RevyOps has."""
    return Request(
        "list_companies", "GET", "/public/v2/companies", query={"structure": structure, "domain": domain,
        "company_status": company_status, "external_id": external_id, "updated_since": updated_since, "sort": sort, "q": q,
        "fields": fields, "filters": filters, "page": page, "page_size": page_size}, headers={"Prefer": prefer,
        "If-None-Match": if_none_match}, of_client=True,
    )


def search_companies(
    body: SearchBody, *, structure: Structure | None = None, prefer: str | None = None,
) -> Paged[CompanyPage, CompanyResponse]:
    """Search companies with filters as a tree."""
    return Paged(
        "search_companies", "POST", "/public/v2/companies/search", query={"structure": structure}, headers={"Prefer": prefer}, body=body,
        of_client=True, cursor_in_body=True,
    )


def match_companies(body: CompanyMatchRequest) -> Request[CompanyMatches]:
    """Look up many companies at once."""
    return Request("match_companies", "POST", "/public/v2/companies/match", body=body, of_client=True)


def get_company(
    id: int, *, structure: Structure | None = None, as_of: Time | None = None, if_none_match: str | None = None,
) -> Request[CompanyResponse]:
    """Get one company."""
    return Request(
        "get_company", "GET", "/public/v2/companies/{id}", in_path={"id": id}, query={"structure": structure, "as_of": as_of},
        headers={"If-None-Match": if_none_match}, of_client=True,
    )


def create_company(
    body: CompanyRequest, *, structure: Structure | None = None, on_duplicate: OnDuplicate | None = None, prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Write[CompanyResponse, DryRunResponse]:
    """Create a company."""
    return Write(
        "create_company", "POST", "/public/v2/companies", query={"structure": structure, "on_duplicate": on_duplicate},
        headers={"Prefer": prefer, "Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def upsert_company(
    body: CompanyChange, *, structure: Structure | None = None, match: CompanyMatchBy | None = None, prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Write[CompanyResponse, DryRunResponse]:
    """Change a company, or create it."""
    return Write(
        "upsert_company", "PUT", "/public/v2/companies", query={"structure": structure, "match": match}, headers={"Prefer": prefer,
        "Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def update_company(
    id: int, body: CompanyChange, *, structure: Structure | None = None, if_match: str | None = None, prefer: str | None = None,
) -> Write[CompanyResponse, DryRunResponse]:
    """Update one company."""
    return Write(
        "update_company", "PATCH", "/public/v2/companies/{id}", in_path={"id": id}, query={"structure": structure},
        headers={"If-Match": if_match, "Prefer": prefer}, body=body, of_client=True,
    )


def delete_company(id: int, *, structure: Structure | None = None, if_match: str | None = None) -> Write[CompanyResponse, DryRunResponse]:
    """Delete one company: move it into the bin."""
    return Write(
        "delete_company", "DELETE", "/public/v2/companies/{id}", in_path={"id": id}, query={"structure": structure},
        headers={"If-Match": if_match}, of_client=True,
    )


def restore_company(
    id: int, *, structure: Structure | None = None, if_match: str | None = None, idempotency_key: str | None = None,
) -> Write[CompanyResponse, DryRunResponse]:
    """Restore one deleted company."""
    return Write(
        "restore_company", "POST", "/public/v2/companies/{id}/restore", in_path={"id": id}, query={"structure": structure},
        headers={"If-Match": if_match, "Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )


def batch_companies(
    body: CompanyBatch, *, structure: Structure | None = None, dry_run: bool | None = None, prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Request[CompanyBatchResponse]:
    """Create, upsert, update and delete up to 1,000 companies."""
    return Request(
        "batch_companies", "POST", "/public/v2/companies/batch", query={"structure": structure, "dry_run": dry_run},
        headers={"Prefer": prefer, "Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def update_companies(
    body: CompanyChange, *, domain: str | None = None, company_status: str | None = None, external_id: str | None = None,
    filters: Mapping[str, str] | None = None, q: str | None = None, dry_run: bool | None = None, prefer: str | None = None,
) -> Request[BulkChange]:
    """Change all companies that match."""
    return Request(
        "update_companies", "PATCH", "/public/v2/companies", query={"domain": domain, "company_status": company_status,
        "external_id": external_id, "filters": filters, "q": q, "dry_run": dry_run}, headers={"Prefer": prefer}, body=body, of_client=True,
    )


def merge_companies(
    id: int, body: MergeRequest, *, structure: Structure | None = None, dry_run: bool | None = None, if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Request[CompanyMerge]:
    """Merge companies into one."""
    return Request(
        "merge_companies", "POST", "/public/v2/companies/{id}/merge", in_path={"id": id}, query={"structure": structure,
        "dry_run": dry_run}, headers={"If-Match": if_match, "Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def undo_company_merge(
    id: int, merge_id: int, *, structure: Structure | None = None, dry_run: bool | None = None, idempotency_key: str | None = None,
) -> Request[UndoneCompanies]:
    """Undo a merge of companies."""
    return Request(
        "undo_company_merge", "POST", "/public/v2/companies/{id}/merge/{merge_id}/undo", in_path={"id": id, "merge_id": merge_id},
        query={"structure": structure, "dry_run": dry_run}, headers={"Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )


def get_company_timeline(id: int, *, limit: int | None = None, cursor: str | None = None) -> Paged[TimelinePage, TimelineEvent]:
    """Get the timeline of one company, newest first."""
    return Paged(
        "get_company_timeline", "GET", "/public/v2/companies/{id}/timeline", in_path={"id": id}, query={"limit": limit, "cursor": cursor},
        of_client=True,
    )


def get_company_history(
    id: int, *, field: str | None = None, limit: int | None = None, cursor: str | None = None,
) -> Paged[ValueHistoryPage, ValueChangeOut]:
    """Get the values that one company had, newest first."""
    return Paged(
        "get_company_history", "GET", "/public/v2/companies/{id}/history", in_path={"id": id}, query={"field": field, "limit": limit,
        "cursor": cursor}, of_client=True,
    )


def explain_company(id: int, *, field: str | None = None) -> Request[Explanation]:
    """Explain the values of one company."""
    return Request(
        "explain_company", "GET", "/public/v2/companies/{id}/explain", in_path={"id": id}, query={"field": field}, of_client=True,
    )


def get_company_suppression(id: int) -> Request[SuppressionStatus]:
    """Look up whether a company must not be contacted."""
    return Request("get_company_suppression", "GET", "/public/v2/companies/{id}/suppression", in_path={"id": id}, of_client=True)


def list_deleted_companies(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None,
) -> Paged[DeletedCompanyPage, DeletedCompany]:
    """List deleted companies, the last deleted first."""
    return Paged(
        "list_deleted_companies", "GET", "/public/v2/companies/deleted", query={"structure": structure, "limit": limit, "cursor": cursor},
        of_client=True,
    )


def list_duplicate_companies(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None, min_score: float | None = None,
) -> Paged[CompanyPairPage, CompanyPair]:
    """List pairs of companies that may be one."""
    return Paged(
        "list_duplicate_companies", "GET", "/public/v2/companies/duplicates", query={"structure": structure, "limit": limit,
        "cursor": cursor, "min_score": min_score}, of_client=True,
    )

"""Requests of `contacts`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Text, Time, Write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client.models.contact_records import ContactChange, ContactRequest, ContactResponse, NumberedContacts
    from touchbase.client.models.contacts import (
        ContactBatch, ContactBatchResponse, ContactMatchBy, ContactMatchRequest, ContactMatches, ContactMerge, ContactPage, ContactPair,
        ContactPairPage, DeletedContact, DeletedContactPage, ErasureOut, ErasurePage, ErasureRequestOut, PersonExport, UndoneContacts,
    )
    from touchbase.client.models.records import (
        BulkChange, DryRunResponse, Explanation, MergeRequest, SearchBody, Structure, SuppressionStatus, TimelineEvent, TimelinePage,
        ValueChangeOut, ValueHistoryPage,
    )
    from touchbase.client.models.shared import OnDuplicate


def list_contacts(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None, email: str | None = None,
    linkedin_url: str | None = None, contact_status: str | None = None, company_id: int | None = None, external_id: str | None = None,
    updated_since: Time | None = None, sort: Text | None = None, q: str | None = None, fields: Text | None = None,
    filters: Mapping[str, str] | None = None, prefer: str | None = None, if_none_match: str | None = None,
) -> Paged[ContactPage, ContactResponse]:
    """List contacts, newest last."""
    return Paged(
        "list_contacts", "GET", "/public/v2/contacts", query={"structure": structure, "limit": limit, "cursor": cursor, "email": email,
        "linkedin_url": linkedin_url, "contact_status": contact_status, "company_id": company_id, "external_id": external_id,
        "updated_since": updated_since, "sort": sort, "q": q, "fields": fields, "filters": filters}, headers={"Prefer": prefer,
        "If-None-Match": if_none_match}, of_client=True,
    )


def list_contacts_numbered(
    *, page: int, structure: Structure | None = None, email: str | None = None, linkedin_url: str | None = None,
    contact_status: str | None = None, company_id: int | None = None, external_id: str | None = None, updated_since: Time | None = None,
    sort: Text | None = None, q: str | None = None, fields: Text | None = None, filters: Mapping[str, str] | None = None,
    page_size: int | None = None, prefer: str | None = None, if_none_match: str | None = None,
) -> Request[NumberedContacts]:
    """List contacts in numbered pages, which RevyOps has."""
    return Request(
        "list_contacts", "GET", "/public/v2/contacts", query={"structure": structure, "email": email, "linkedin_url": linkedin_url,
        "contact_status": contact_status, "company_id": company_id, "external_id": external_id, "updated_since": updated_since,
        "sort": sort, "q": q, "fields": fields, "filters": filters, "page": page, "page_size": page_size}, headers={"Prefer": prefer,
        "If-None-Match": if_none_match}, of_client=True,
    )


def search_contacts(
    body: SearchBody, *, structure: Structure | None = None, prefer: str | None = None,
) -> Paged[ContactPage, ContactResponse]:
    """Search contacts with filters as a tree."""
    return Paged(
        "search_contacts", "POST", "/public/v2/contacts/search", query={"structure": structure}, headers={"Prefer": prefer}, body=body,
        of_client=True, cursor_in_body=True,
    )


def match_contacts(body: ContactMatchRequest) -> Request[ContactMatches]:
    """Look up many contacts at once."""
    return Request("match_contacts", "POST", "/public/v2/contacts/match", body=body, of_client=True)


def get_contact(
    id: int, *, structure: Structure | None = None, as_of: Time | None = None, if_none_match: str | None = None,
) -> Request[ContactResponse]:
    """Get one contact."""
    return Request(
        "get_contact", "GET", "/public/v2/contacts/{id}", in_path={"id": id}, query={"structure": structure, "as_of": as_of},
        headers={"If-None-Match": if_none_match}, of_client=True,
    )


def create_contact(
    body: ContactRequest, *, structure: Structure | None = None, on_duplicate: OnDuplicate | None = None,
    restore_erased: bool | None = None, prefer: str | None = None, idempotency_key: str | None = None,
) -> Write[ContactResponse, DryRunResponse]:
    """Create a contact."""
    return Write(
        "create_contact", "POST", "/public/v2/contacts", query={"structure": structure, "on_duplicate": on_duplicate,
        "restore_erased": restore_erased}, headers={"Prefer": prefer, "Idempotency-Key": idempotency_key}, body=body, of_client=True,
        takes_key=True,
    )


def upsert_contact(
    body: ContactChange, *, structure: Structure | None = None, match: ContactMatchBy | None = None, prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Write[ContactResponse, DryRunResponse]:
    """Change a contact, or create it."""
    return Write(
        "upsert_contact", "PUT", "/public/v2/contacts", query={"structure": structure, "match": match}, headers={"Prefer": prefer,
        "Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def update_contact(
    id: int, body: ContactChange, *, structure: Structure | None = None, if_match: str | None = None, prefer: str | None = None,
) -> Write[ContactResponse, DryRunResponse]:
    """Update one contact."""
    return Write(
        "update_contact", "PATCH", "/public/v2/contacts/{id}", in_path={"id": id}, query={"structure": structure},
        headers={"If-Match": if_match, "Prefer": prefer}, body=body, of_client=True,
    )


def delete_contact(id: int, *, structure: Structure | None = None, if_match: str | None = None) -> Write[ContactResponse, DryRunResponse]:
    """Delete one contact: move it into the bin."""
    return Write(
        "delete_contact", "DELETE", "/public/v2/contacts/{id}", in_path={"id": id}, query={"structure": structure},
        headers={"If-Match": if_match}, of_client=True,
    )


def restore_contact(
    id: int, *, structure: Structure | None = None, if_match: str | None = None, idempotency_key: str | None = None,
) -> Write[ContactResponse, DryRunResponse]:
    """Restore one deleted contact."""
    return Write(
        "restore_contact", "POST", "/public/v2/contacts/{id}/restore", in_path={"id": id}, query={"structure": structure},
        headers={"If-Match": if_match, "Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )


def batch_contacts(
    body: ContactBatch, *, structure: Structure | None = None, dry_run: bool | None = None, prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Request[ContactBatchResponse]:
    """Create, upsert, update and delete up to 1,000 contacts."""
    return Request(
        "batch_contacts", "POST", "/public/v2/contacts/batch", query={"structure": structure, "dry_run": dry_run},
        headers={"Prefer": prefer, "Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def update_contacts(
    body: ContactChange, *, email: str | None = None, linkedin_url: str | None = None, contact_status: str | None = None,
    company_id: int | None = None, external_id: str | None = None, filters: Mapping[str, str] | None = None, q: str | None = None,
    dry_run: bool | None = None, prefer: str | None = None,
) -> Request[BulkChange]:
    """Change all contacts that match."""
    return Request(
        "update_contacts", "PATCH", "/public/v2/contacts", query={"email": email, "linkedin_url": linkedin_url,
        "contact_status": contact_status, "company_id": company_id, "external_id": external_id, "filters": filters, "q": q,
        "dry_run": dry_run}, headers={"Prefer": prefer}, body=body, of_client=True,
    )


def merge_contacts(
    id: int, body: MergeRequest, *, structure: Structure | None = None, dry_run: bool | None = None, if_match: str | None = None,
    idempotency_key: str | None = None,
) -> Request[ContactMerge]:
    """Merge contacts into one."""
    return Request(
        "merge_contacts", "POST", "/public/v2/contacts/{id}/merge", in_path={"id": id}, query={"structure": structure,
        "dry_run": dry_run}, headers={"If-Match": if_match, "Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def undo_contact_merge(
    id: int, merge_id: int, *, structure: Structure | None = None, dry_run: bool | None = None, idempotency_key: str | None = None,
) -> Request[UndoneContacts]:
    """Undo a merge of contacts."""
    return Request(
        "undo_contact_merge", "POST", "/public/v2/contacts/{id}/merge/{merge_id}/undo", in_path={"id": id, "merge_id": merge_id},
        query={"structure": structure, "dry_run": dry_run}, headers={"Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )


def get_contact_timeline(id: int, *, limit: int | None = None, cursor: str | None = None) -> Paged[TimelinePage, TimelineEvent]:
    """Get the timeline of one contact, newest first."""
    return Paged(
        "get_contact_timeline", "GET", "/public/v2/contacts/{id}/timeline", in_path={"id": id}, query={"limit": limit, "cursor": cursor},
        of_client=True,
    )


def get_contact_history(
    id: int, *, field: str | None = None, limit: int | None = None, cursor: str | None = None,
) -> Paged[ValueHistoryPage, ValueChangeOut]:
    """Get the values that one contact had, newest first."""
    return Paged(
        "get_contact_history", "GET", "/public/v2/contacts/{id}/history", in_path={"id": id}, query={"field": field, "limit": limit,
        "cursor": cursor}, of_client=True,
    )


def explain_contact(id: int, *, field: str | None = None) -> Request[Explanation]:
    """Explain the values of one contact."""
    return Request(
        "explain_contact", "GET", "/public/v2/contacts/{id}/explain", in_path={"id": id}, query={"field": field}, of_client=True,
    )


def get_contact_suppression(id: int) -> Request[SuppressionStatus]:
    """Look up whether a contact must not be contacted."""
    return Request("get_contact_suppression", "GET", "/public/v2/contacts/{id}/suppression", in_path={"id": id}, of_client=True)


def list_deleted_contacts(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None,
) -> Paged[DeletedContactPage, DeletedContact]:
    """List deleted contacts, the last deleted first."""
    return Paged(
        "list_deleted_contacts", "GET", "/public/v2/contacts/deleted", query={"structure": structure, "limit": limit, "cursor": cursor},
        of_client=True,
    )


def list_duplicate_contacts(
    *, structure: Structure | None = None, limit: int | None = None, cursor: str | None = None, min_score: float | None = None,
) -> Paged[ContactPairPage, ContactPair]:
    """List pairs of contacts that may be one."""
    return Paged(
        "list_duplicate_contacts", "GET", "/public/v2/contacts/duplicates", query={"structure": structure, "limit": limit,
        "cursor": cursor, "min_score": min_score}, of_client=True,
    )


def erase_contact(id: int, *, structure: Structure | None = None, if_match: str | None = None) -> Request[ErasureOut]:
    """Erase the person of one contact for ever."""
    return Request(
        "delete_contact", "DELETE", "/public/v2/contacts/{id}", in_path={"id": id}, query={"structure": structure, "erase": True},
        headers={"If-Match": if_match}, of_client=True,
    )


def export_contact(id: int, *, limit: int | None = None, cursor: str | None = None) -> Request[PersonExport]:
    """Export everything that is stored about one person."""
    return Request(
        "export_contact", "GET", "/public/v2/contacts/{id}/export", in_path={"id": id}, query={"limit": limit, "cursor": cursor},
        of_client=True,
    )


def list_erasures(*, limit: int | None = None, cursor: str | None = None) -> Paged[ErasurePage, ErasureRequestOut]:
    """List erasures of people, newest first."""
    return Paged("list_erasures", "GET", "/public/v2/erasures", query={"limit": limit, "cursor": cursor}, of_client=True)

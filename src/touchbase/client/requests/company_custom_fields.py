"""Requests of `company_custom_fields`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Write

if TYPE_CHECKING:
    from touchbase.client.models.fields import (
        CustomFieldDefinition, CustomFieldDetail, CustomFieldMerge, CustomFieldPage, CustomFieldUpdate, FieldChangePreview,
        FieldTypePreview, Misfits, RemovedValues, ValueMerge,
    )
    from touchbase.client.models.shared import JobOut


def list_company_custom_fields(*, limit: int | None = None, cursor: str | None = None) -> Paged[CustomFieldPage, CustomFieldDetail]:
    """List the custom fields of companies with their use."""
    return Paged(
        "list_company_custom_fields", "GET", "/public/v2/custom-fields/companies", query={"limit": limit, "cursor": cursor},
        of_client=True,
    )


def get_company_custom_field(name: str) -> Request[CustomFieldDetail]:
    """Get a custom field of companies with its use."""
    return Request("get_company_custom_field", "GET", "/public/v2/custom-fields/companies/{name}", in_path={"name": name}, of_client=True)


def define_company_custom_field(body: CustomFieldDefinition, *, idempotency_key: str | None = None) -> Request[CustomFieldDetail]:
    """Define a custom field of companies."""
    return Request(
        "define_company_custom_field", "POST", "/public/v2/custom-fields/companies", headers={"Idempotency-Key": idempotency_key},
        body=body, of_client=True, takes_key=True,
    )


def change_company_custom_field(
    name: str, body: CustomFieldUpdate, *, misfits: Misfits | None = None,
) -> Write[CustomFieldDetail | JobOut, FieldChangePreview | FieldTypePreview]:
    """Rename a custom field of companies, or set its type."""
    return Write(
        "change_company_custom_field", "PATCH", "/public/v2/custom-fields/companies/{name}", in_path={"name": name},
        query={"misfits": misfits}, body=body, of_client=True,
    )


def remove_company_custom_field(name: str, *, values: RemovedValues | None = None) -> Write[JobOut | None, FieldChangePreview]:
    """Remove a custom field of companies, or a former name."""
    return Write(
        "remove_company_custom_field", "DELETE", "/public/v2/custom-fields/companies/{name}", in_path={"name": name},
        query={"values": values}, of_client=True,
    )


def merge_company_custom_field(
    name: str, body: CustomFieldMerge, *, idempotency_key: str | None = None,
) -> Write[JobOut, FieldChangePreview]:
    """Merge a custom field of companies into another."""
    return Write(
        "merge_company_custom_field", "POST", "/public/v2/custom-fields/companies/{name}/merge", in_path={"name": name},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def merge_company_custom_field_values(
    name: str, body: ValueMerge, *, idempotency_key: str | None = None,
) -> Write[JobOut, FieldChangePreview]:
    """Replace values of a custom field of companies by another one."""
    return Write(
        "merge_company_custom_field_values", "POST", "/public/v2/custom-fields/companies/{name}/merge-values", in_path={"name": name},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )

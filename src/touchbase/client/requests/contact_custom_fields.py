"""Requests of `contact_custom_fields`. Made by `make docs` from the OpenAPI document."""

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


def list_contact_custom_fields(*, limit: int | None = None, cursor: str | None = None) -> Paged[CustomFieldPage, CustomFieldDetail]:
    """List the custom fields of contacts with their use."""
    return Paged(
        "list_contact_custom_fields", "GET", "/public/v2/custom-fields/contacts", query={"limit": limit, "cursor": cursor}, of_client=True,
    )


def get_contact_custom_field(name: str) -> Request[CustomFieldDetail]:
    """Get a custom field of contacts with its use."""
    return Request("get_contact_custom_field", "GET", "/public/v2/custom-fields/contacts/{name}", in_path={"name": name}, of_client=True)


def define_contact_custom_field(body: CustomFieldDefinition, *, idempotency_key: str | None = None) -> Request[CustomFieldDetail]:
    """Define a custom field of contacts."""
    return Request(
        "define_contact_custom_field", "POST", "/public/v2/custom-fields/contacts", headers={"Idempotency-Key": idempotency_key},
        body=body, of_client=True, takes_key=True,
    )


def change_contact_custom_field(
    name: str, body: CustomFieldUpdate, *, misfits: Misfits | None = None,
) -> Write[CustomFieldDetail | JobOut, FieldChangePreview | FieldTypePreview]:
    """Rename a custom field of contacts, or set its type."""
    return Write(
        "change_contact_custom_field", "PATCH", "/public/v2/custom-fields/contacts/{name}", in_path={"name": name},
        query={"misfits": misfits}, body=body, of_client=True,
    )


def remove_contact_custom_field(name: str, *, values: RemovedValues | None = None) -> Write[JobOut | None, FieldChangePreview]:
    """Remove a custom field of contacts, or a former name."""
    return Write(
        "remove_contact_custom_field", "DELETE", "/public/v2/custom-fields/contacts/{name}", in_path={"name": name},
        query={"values": values}, of_client=True,
    )


def merge_contact_custom_field(
    name: str, body: CustomFieldMerge, *, idempotency_key: str | None = None,
) -> Write[JobOut, FieldChangePreview]:
    """Merge a custom field of contacts into another."""
    return Write(
        "merge_contact_custom_field", "POST", "/public/v2/custom-fields/contacts/{name}/merge", in_path={"name": name},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def merge_contact_custom_field_values(
    name: str, body: ValueMerge, *, idempotency_key: str | None = None,
) -> Write[JobOut, FieldChangePreview]:
    """Replace values of a custom field of contacts by another one."""
    return Write(
        "merge_contact_custom_field_values", "POST", "/public/v2/custom-fields/contacts/{name}/merge-values", in_path={"name": name},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )

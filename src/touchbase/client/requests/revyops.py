"""Requests of `revyops`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client.models.company_records import CompanyChange, CompanyOfClient, CompanyRequest, CompanyResponse, NumberedCompanies
    from touchbase.client.models.contact_records import ContactChange, ContactOfClient, ContactRequest, ContactResponse, NumberedContacts
    from touchbase.client.models.records import CustomFieldInput, CustomFieldOut, Structure
    from touchbase.client.models.revyops import (
        CustomFieldValue, EmailOut, InterestedIn, NewEmail, NumberedCompaniesOfClients, NumberedContactsOfClients,
    )


def look_up_contacts(
    *, field_name: str, field_value: str, structure: Structure | None = None, page: int | None = None, page_size: int | None = None,
) -> Request[NumberedContacts]:
    """Find contacts by a custom field."""
    return Request(
        "look_up_contacts", "GET", "/public/v2/contacts/lookup-by-custom-field", query={"structure": structure, "page": page,
        "page_size": page_size, "field_name": field_name, "field_value": field_value}, of_client=True,
    )


def look_up_companies(
    *, field_name: str, field_value: str, structure: Structure | None = None, page: int | None = None, page_size: int | None = None,
) -> Request[NumberedCompanies]:
    """Find companies by a custom field."""
    return Request(
        "look_up_companies", "GET", "/public/v2/companies/lookup-by-custom-field", query={"structure": structure, "page": page,
        "page_size": page_size, "field_name": field_name, "field_value": field_value}, of_client=True,
    )


def list_contacts_of_all(
    *, structure: Structure | None = None, page: int | None = None, page_size: int | None = None, email: str | None = None,
    firstname: str | None = None, lastname: str | None = None, linkedin_url: str | None = None, domain: str | None = None,
    filters: Mapping[str, str] | None = None,
) -> Request[NumberedContactsOfClients]:
    """List the contacts of all clients."""
    return Request(
        "list_contacts_of_all", "GET", "/public/v2/contacts-master-list", query={"structure": structure, "page": page,
        "page_size": page_size, "email": email, "firstname": firstname, "lastname": lastname, "linkedin_url": linkedin_url,
        "domain": domain, "filters": filters},
    )


def look_up_contacts_of_all(
    *, field_name: str, field_value: str, structure: Structure | None = None, page: int | None = None, page_size: int | None = None,
) -> Request[NumberedContactsOfClients]:
    """Find contacts of all clients by a custom field."""
    return Request(
        "look_up_contacts_of_all", "GET", "/public/v2/contacts-master-list/lookup-by-custom-field", query={"structure": structure,
        "page": page, "page_size": page_size, "field_name": field_name, "field_value": field_value},
    )


def get_contact_of_any(id: int, *, structure: Structure | None = None) -> Request[ContactOfClient]:
    """Get one contact of any client."""
    return Request(
        "get_contact_of_any", "GET", "/public/v2/contacts-master-list/{id}", in_path={"id": id}, query={"structure": structure},
    )


def list_companies_of_all(
    *, structure: Structure | None = None, page: int | None = None, page_size: int | None = None, domain: str | None = None,
    name: str | None = None, industry: str | None = None, filters: Mapping[str, str] | None = None,
) -> Request[NumberedCompaniesOfClients]:
    """List the companies of all clients."""
    return Request(
        "list_companies_of_all", "GET", "/public/v2/companies-master-list", query={"structure": structure, "page": page,
        "page_size": page_size, "domain": domain, "name": name, "industry": industry, "filters": filters},
    )


def look_up_companies_of_all(
    *, field_name: str, field_value: str, structure: Structure | None = None, page: int | None = None, page_size: int | None = None,
) -> Request[NumberedCompaniesOfClients]:
    """Find companies of all clients by a custom field."""
    return Request(
        "look_up_companies_of_all", "GET", "/public/v2/companies-master-list/lookup-by-custom-field", query={"structure": structure,
        "page": page, "page_size": page_size, "field_name": field_name, "field_value": field_value},
    )


def get_company_of_any(id: int, *, structure: Structure | None = None) -> Request[CompanyOfClient]:
    """Get one company of any client."""
    return Request(
        "get_company_of_any", "GET", "/public/v2/companies-master-list/{id}", in_path={"id": id}, query={"structure": structure},
    )


def v1_list_contacts(
    *, email: str | None = None, firstname: str | None = None, lastname: str | None = None, linkedin_url: str | None = None,
    domain: str | None = None, filters: Mapping[str, str] | None = None,
) -> Request[list[ContactResponse]]:
    """List contacts as an array."""
    return Request(
        "v1_list_contacts", "GET", "/public/contacts", query={"email": email, "firstname": firstname, "lastname": lastname,
        "linkedin_url": linkedin_url, "domain": domain, "filters": filters}, of_client=True,
    )


def v1_create_contact(body: ContactRequest, *, prefer: str | None = None, idempotency_key: str | None = None) -> Request[ContactResponse]:
    """Create a contact."""
    return Request(
        "v1_create_contact", "POST", "/public/contacts", headers={"Prefer": prefer, "Idempotency-Key": idempotency_key}, body=body,
        of_client=True, takes_key=True,
    )


def v1_look_up_contacts(*, field_name: str, field_value: str) -> Request[list[ContactResponse]]:
    """Find contacts by a custom field, as an array."""
    return Request(
        "v1_look_up_contacts", "GET", "/public/contacts/lookup-by-custom-field", query={"field_name": field_name,
        "field_value": field_value}, of_client=True,
    )


def v1_get_contact(id: int, *, if_none_match: str | None = None) -> Request[ContactResponse]:
    """Get one contact."""
    return Request(
        "v1_get_contact", "GET", "/public/contacts/{id}", in_path={"id": id}, headers={"If-None-Match": if_none_match}, of_client=True,
    )


def v1_update_contact(
    id: int, body: ContactChange, *, if_match: str | None = None, prefer: str | None = None,
) -> Request[ContactResponse]:
    """Update one contact."""
    return Request(
        "v1_update_contact", "PATCH", "/public/contacts/{id}", in_path={"id": id}, headers={"If-Match": if_match, "Prefer": prefer},
        body=body, of_client=True,
    )


def v1_delete_contact(id: int) -> Request[ContactResponse]:
    """Delete one contact: move it into the bin."""
    return Request("v1_delete_contact", "DELETE", "/public/contacts/{id}", in_path={"id": id}, of_client=True)


def v1_add_contact_custom_field(id: int, body: CustomFieldInput, *, idempotency_key: str | None = None) -> Request[CustomFieldOut]:
    """Add a custom field to one contact."""
    return Request(
        "v1_add_contact_custom_field", "POST", "/public/contacts/{id}/custom-fields", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def v1_update_contact_custom_field(id: int, field_id: int, body: CustomFieldValue) -> Request[CustomFieldOut]:
    """Change a custom field of one contact."""
    return Request(
        "v1_update_contact_custom_field", "PATCH", "/public/contacts/{id}/custom-fields/{field_id}", in_path={"id": id,
        "field_id": field_id}, body=body, of_client=True,
    )


def v1_remove_contact_custom_field(id: int, field_id: int) -> Request[CustomFieldOut]:
    """Remove a custom field from one contact."""
    return Request(
        "v1_remove_contact_custom_field", "DELETE", "/public/contacts/{id}/custom-fields/{field_id}", in_path={"id": id,
        "field_id": field_id}, of_client=True,
    )


def v1_list_companies(
    *, domain: str | None = None, name: str | None = None, industry: str | None = None, filters: Mapping[str, str] | None = None,
) -> Request[list[CompanyResponse]]:
    """List companies as an array."""
    return Request(
        "v1_list_companies", "GET", "/public/companies", query={"domain": domain, "name": name, "industry": industry, "filters": filters},
        of_client=True,
    )


def v1_create_company(body: CompanyRequest, *, prefer: str | None = None, idempotency_key: str | None = None) -> Request[CompanyResponse]:
    """Create a company."""
    return Request(
        "v1_create_company", "POST", "/public/companies", headers={"Prefer": prefer, "Idempotency-Key": idempotency_key}, body=body,
        of_client=True, takes_key=True,
    )


def v1_look_up_companies(*, field_name: str, field_value: str) -> Request[list[CompanyResponse]]:
    """Find companies by a custom field, as an array."""
    return Request(
        "v1_look_up_companies", "GET", "/public/companies/lookup-by-custom-field", query={"field_name": field_name,
        "field_value": field_value}, of_client=True,
    )


def v1_get_company(id: int, *, if_none_match: str | None = None) -> Request[CompanyResponse]:
    """Get one company."""
    return Request(
        "v1_get_company", "GET", "/public/companies/{id}", in_path={"id": id}, headers={"If-None-Match": if_none_match}, of_client=True,
    )


def v1_update_company(
    id: int, body: CompanyChange, *, if_match: str | None = None, prefer: str | None = None,
) -> Request[CompanyResponse]:
    """Update one company."""
    return Request(
        "v1_update_company", "PATCH", "/public/companies/{id}", in_path={"id": id}, headers={"If-Match": if_match, "Prefer": prefer},
        body=body, of_client=True,
    )


def v1_delete_company(id: int) -> Request[CompanyResponse]:
    """Delete one company: move it into the bin."""
    return Request("v1_delete_company", "DELETE", "/public/companies/{id}", in_path={"id": id}, of_client=True)


def v1_add_company_custom_field(id: int, body: CustomFieldInput, *, idempotency_key: str | None = None) -> Request[CustomFieldOut]:
    """Add a custom field to one company."""
    return Request(
        "v1_add_company_custom_field", "POST", "/public/companies/{id}/custom-fields", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def v1_update_company_custom_field(id: int, field_id: int, body: CustomFieldValue) -> Request[CustomFieldOut]:
    """Change a custom field of one company."""
    return Request(
        "v1_update_company_custom_field", "PATCH", "/public/companies/{id}/custom-fields/{field_id}", in_path={"id": id,
        "field_id": field_id}, body=body, of_client=True,
    )


def v1_remove_company_custom_field(id: int, field_id: int) -> Request[CustomFieldOut]:
    """Remove a custom field from one company."""
    return Request(
        "v1_remove_company_custom_field", "DELETE", "/public/companies/{id}/custom-fields/{field_id}", in_path={"id": id,
        "field_id": field_id}, of_client=True,
    )


def v1_list_contacts_of_all(
    *, email: str | None = None, firstname: str | None = None, lastname: str | None = None, linkedin_url: str | None = None,
    domain: str | None = None, filters: Mapping[str, str] | None = None,
) -> Request[list[ContactOfClient]]:
    """List the contacts of all clients."""
    return Request(
        "v1_list_contacts_of_all", "GET", "/public/contacts-master-list", query={"email": email, "firstname": firstname,
        "lastname": lastname, "linkedin_url": linkedin_url, "domain": domain, "filters": filters},
    )


def v1_look_up_contacts_of_all(*, field_name: str, field_value: str) -> Request[list[ContactOfClient]]:
    """Find contacts of all clients by a custom field."""
    return Request(
        "v1_look_up_contacts_of_all", "GET", "/public/contacts-master-list/lookup-by-custom-field", query={"field_name": field_name,
        "field_value": field_value},
    )


def v1_get_contact_of_any(id: int) -> Request[ContactOfClient]:
    """Get one contact of any client."""
    return Request("v1_get_contact_of_any", "GET", "/public/contacts-master-list/{id}", in_path={"id": id})


def v1_list_companies_of_all(
    *, domain: str | None = None, name: str | None = None, industry: str | None = None, filters: Mapping[str, str] | None = None,
) -> Request[list[CompanyOfClient]]:
    """List the companies of all clients."""
    return Request(
        "v1_list_companies_of_all", "GET", "/public/companies-master-list", query={"domain": domain, "name": name, "industry": industry,
        "filters": filters},
    )


def v1_look_up_companies_of_all(*, field_name: str, field_value: str) -> Request[list[CompanyOfClient]]:
    """Find companies of all clients by a custom field."""
    return Request(
        "v1_look_up_companies_of_all", "GET", "/public/companies-master-list/lookup-by-custom-field", query={"field_name": field_name,
        "field_value": field_value},
    )


def v1_get_company_of_any(id: int) -> Request[CompanyOfClient]:
    """Get one company of any client."""
    return Request("v1_get_company_of_any", "GET", "/public/companies-master-list/{id}", in_path={"id": id})


def v1_list_emails(
    *, page: int | None = None, page_size: int | None = None, campaign_id: str | None = None, contact_email: str | None = None,
    origin: str | None = None, subject: str | None = None,
) -> Request[list[EmailOut]]:
    """List e-mails as an array."""
    return Request(
        "v1_list_emails", "GET", "/public/emails", query={"page": page, "page_size": page_size, "campaign_id": campaign_id,
        "contact_email": contact_email, "origin": origin, "subject": subject}, of_client=True,
    )


def v1_create_email(body: NewEmail, *, idempotency_key: str | None = None) -> Request[EmailOut]:
    """Store one e-mail of a contact."""
    return Request(
        "v1_create_email", "POST", "/public/emails", headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True,
        takes_key=True,
    )


def v1_set_email_interested(body: InterestedIn, *, idempotency_key: str | None = None) -> Request[EmailOut]:
    """Mark the newest e-mail of a contact with a subject as interested."""
    return Request(
        "v1_set_email_interested", "POST", "/public/emails/set-interested", headers={"Idempotency-Key": idempotency_key}, body=body,
        of_client=True, takes_key=True,
    )


def v1_get_email(id: int) -> Request[EmailOut]:
    """Get one e-mail."""
    return Request("v1_get_email", "GET", "/public/emails/{id}", in_path={"id": id}, of_client=True)


def v1_delete_email(id: int) -> Request[EmailOut]:
    """Delete one e-mail."""
    return Request("v1_delete_email", "DELETE", "/public/emails/{id}", in_path={"id": id}, of_client=True)


def v1_add_email_custom_field(id: int, body: CustomFieldInput, *, idempotency_key: str | None = None) -> Request[CustomFieldOut]:
    """Add a custom field to one e-mail."""
    return Request(
        "v1_add_email_custom_field", "POST", "/public/emails/{id}/custom-fields", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def v1_remove_email_custom_field(id: int, field_id: int) -> Request[CustomFieldOut]:
    """Remove a custom field from one e-mail."""
    return Request(
        "v1_remove_email_custom_field", "DELETE", "/public/emails/{id}/custom-fields/{field_id}", in_path={"id": id,
        "field_id": field_id}, of_client=True,
    )

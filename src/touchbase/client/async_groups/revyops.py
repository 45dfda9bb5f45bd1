"""Groups of operations of the asynchronous client: revyops. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.async_calls import AsyncCall, AsyncGroup
from touchbase.client.requests import revyops


class AsyncRevyops(AsyncGroup):
    """The interface of RevyOps, for programs that move."""

    look_up_contacts = AsyncCall(revyops.look_up_contacts)
    look_up_companies = AsyncCall(revyops.look_up_companies)
    list_contacts_of_all = AsyncCall(revyops.list_contacts_of_all)
    look_up_contacts_of_all = AsyncCall(revyops.look_up_contacts_of_all)
    get_contact_of_any = AsyncCall(revyops.get_contact_of_any)
    list_companies_of_all = AsyncCall(revyops.list_companies_of_all)
    look_up_companies_of_all = AsyncCall(revyops.look_up_companies_of_all)
    get_company_of_any = AsyncCall(revyops.get_company_of_any)
    v1_list_contacts = AsyncCall(revyops.v1_list_contacts)
    v1_create_contact = AsyncCall(revyops.v1_create_contact)
    v1_look_up_contacts = AsyncCall(revyops.v1_look_up_contacts)
    v1_get_contact = AsyncCall(revyops.v1_get_contact)
    v1_update_contact = AsyncCall(revyops.v1_update_contact)
    v1_delete_contact = AsyncCall(revyops.v1_delete_contact)
    v1_add_contact_custom_field = AsyncCall(revyops.v1_add_contact_custom_field)
    v1_update_contact_custom_field = AsyncCall(revyops.v1_update_contact_custom_field)
    v1_remove_contact_custom_field = AsyncCall(revyops.v1_remove_contact_custom_field)
    v1_list_companies = AsyncCall(revyops.v1_list_companies)
    v1_create_company = AsyncCall(revyops.v1_create_company)
    v1_look_up_companies = AsyncCall(revyops.v1_look_up_companies)
    v1_get_company = AsyncCall(revyops.v1_get_company)
    v1_update_company = AsyncCall(revyops.v1_update_company)
    v1_delete_company = AsyncCall(revyops.v1_delete_company)
    v1_add_company_custom_field = AsyncCall(revyops.v1_add_company_custom_field)
    v1_update_company_custom_field = AsyncCall(revyops.v1_update_company_custom_field)
    v1_remove_company_custom_field = AsyncCall(revyops.v1_remove_company_custom_field)
    v1_list_contacts_of_all = AsyncCall(revyops.v1_list_contacts_of_all)
    v1_look_up_contacts_of_all = AsyncCall(revyops.v1_look_up_contacts_of_all)
    v1_get_contact_of_any = AsyncCall(revyops.v1_get_contact_of_any)
    v1_list_companies_of_all = AsyncCall(revyops.v1_list_companies_of_all)
    v1_look_up_companies_of_all = AsyncCall(revyops.v1_look_up_companies_of_all)
    v1_get_company_of_any = AsyncCall(revyops.v1_get_company_of_any)
    v1_list_emails = AsyncCall(revyops.v1_list_emails)
    v1_create_email = AsyncCall(revyops.v1_create_email)
    v1_set_email_interested = AsyncCall(revyops.v1_set_email_interested)
    v1_get_email = AsyncCall(revyops.v1_get_email)
    v1_delete_email = AsyncCall(revyops.v1_delete_email)
    v1_add_email_custom_field = AsyncCall(revyops.v1_add_email_custom_field)
    v1_remove_email_custom_field = AsyncCall(revyops.v1_remove_email_custom_field)

"""Groups of operations of the synchronous client: revyops. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from touchbase.client.calls import Call, Group
from touchbase.client.requests import revyops


class Revyops(Group):
    """The interface of RevyOps, for programs that move."""

    look_up_contacts = Call(revyops.look_up_contacts)
    look_up_companies = Call(revyops.look_up_companies)
    list_contacts_of_all = Call(revyops.list_contacts_of_all)
    look_up_contacts_of_all = Call(revyops.look_up_contacts_of_all)
    get_contact_of_any = Call(revyops.get_contact_of_any)
    list_companies_of_all = Call(revyops.list_companies_of_all)
    look_up_companies_of_all = Call(revyops.look_up_companies_of_all)
    get_company_of_any = Call(revyops.get_company_of_any)
    v1_list_contacts = Call(revyops.v1_list_contacts)
    v1_create_contact = Call(revyops.v1_create_contact)
    v1_look_up_contacts = Call(revyops.v1_look_up_contacts)
    v1_get_contact = Call(revyops.v1_get_contact)
    v1_update_contact = Call(revyops.v1_update_contact)
    v1_delete_contact = Call(revyops.v1_delete_contact)
    v1_add_contact_custom_field = Call(revyops.v1_add_contact_custom_field)
    v1_update_contact_custom_field = Call(revyops.v1_update_contact_custom_field)
    v1_remove_contact_custom_field = Call(revyops.v1_remove_contact_custom_field)
    v1_list_companies = Call(revyops.v1_list_companies)
    v1_create_company = Call(revyops.v1_create_company)
    v1_look_up_companies = Call(revyops.v1_look_up_companies)
    v1_get_company = Call(revyops.v1_get_company)
    v1_update_company = Call(revyops.v1_update_company)
    v1_delete_company = Call(revyops.v1_delete_company)
    v1_add_company_custom_field = Call(revyops.v1_add_company_custom_field)
    v1_update_company_custom_field = Call(revyops.v1_update_company_custom_field)
    v1_remove_company_custom_field = Call(revyops.v1_remove_company_custom_field)
    v1_list_contacts_of_all = Call(revyops.v1_list_contacts_of_all)
    v1_look_up_contacts_of_all = Call(revyops.v1_look_up_contacts_of_all)
    v1_get_contact_of_any = Call(revyops.v1_get_contact_of_any)
    v1_list_companies_of_all = Call(revyops.v1_list_companies_of_all)
    v1_look_up_companies_of_all = Call(revyops.v1_look_up_companies_of_all)
    v1_get_company_of_any = Call(revyops.v1_get_company_of_any)
    v1_list_emails = Call(revyops.v1_list_emails)
    v1_create_email = Call(revyops.v1_create_email)
    v1_set_email_interested = Call(revyops.v1_set_email_interested)
    v1_get_email = Call(revyops.v1_get_email)
    v1_delete_email = Call(revyops.v1_delete_email)
    v1_add_email_custom_field = Call(revyops.v1_add_email_custom_field)
    v1_remove_email_custom_field = Call(revyops.v1_remove_email_custom_field)

"""Contacts: `/public/v2/contacts`, one of them, and its timeline."""

from __future__ import annotations

from functools import partial

from touchbase.common.field_limits import LARGEST_ID
from touchbase.history.events import CONTACT
from touchbase.http.query_parameters import Parameters
from touchbase.records.api.resource import RecordType
from touchbase.records.api.schemas import ContactChange, ContactRequest
from touchbase.records.api.serializers import contact_out
from touchbase.records.contact import Contact
from touchbase.records.create_contact import contact_command, create_contact
from touchbase.records.read_records import RecordFilter, get_contact, list_contacts
from touchbase.records.update_contact import update_contact, update_contact_command


def _wanted(parameters: Parameters) -> RecordFilter:
    email = parameters.text("email")
    return RecordFilter(
        # A plus sign that was not escaped arrives as a space, which no address has within.
        email=email and email.strip().replace(" ", "+"),
        linkedin_url=parameters.text("linkedin_url"),
        status=parameters.text("contact_status"),
        company_id=parameters.integer("company_id", 1, LARGEST_ID),
        updated_since_us=parameters.time("updated_since"),
    )


CONTACTS: RecordType[ContactRequest, ContactChange, Contact] = RecordType(
    kind=CONTACT,
    name="contacts",
    one="contact",
    path="/public/v2/contacts",
    wanted=ContactRequest,
    change=ContactChange,
    custom="contact_custom_fields_input",
    rules=contact_command,
    create=create_contact,
    change_rules=update_contact_command,
    update=update_contact,
    get=get_contact,
    find=list_contacts,
    wanted_by=_wanted,
    out=contact_out,
    restore=partial(create_contact, restore=True),
)

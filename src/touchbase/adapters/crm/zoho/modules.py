"""Zoho CRM: modules, their property names, and their status fields."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.crm import COMPANY, CONTACT, RecordShape
from touchbase.adapters.kit.crm_values import Record
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin

NOISE = frozenset({"id", "Modified_Time", "Modified_By", "Created_Time", "Created_By", "Last_Activity_Time", "Owner", "Tag"})
_PERSON = RecordShape(
    CONTACT, email=("Email",), first_name=("First_Name",), last_name=("Last_Name",), full_name=("Full_Name",),
    linkedin=("LinkedIn", "LinkedIn_URL", "LinkedIn_Profile", "Linkedin", LINKEDIN), domain=("Website",), company=("Company",),
    employer=("Account_Name", "Account_Id", "Account_ID", "account_id", "Converted_Account"), employer_type="Accounts",
    useful=("Company", "Designation", "Title", "Phone", "Mobile", "Lead_Source", "Industry"), noise=NOISE,
)  # fmt: skip
_ACCOUNT = RecordShape(COMPANY, domain=("Website",), company=("Account_Name",), useful=("Phone", "Industry", "Account_Type"), noise=NOISE)
_OF_PERSON = frozenset({"Last_Name", "First_Name", "Full_Name"})
"""A person's record has at least one of these, even if few fields were requested."""
MODULES = {"Leads": _PERSON, "Contacts": _PERSON, "Accounts": _ACCOUNT}
STATUS: Mapping[str, tuple[str, ...]] = {
    "Leads": ("Lead_Status",),
    "Contacts": ("Contact_Status",),
    "Accounts": ("Account_Status",),
}


def normalize_record(record: Record) -> dict[str, object]:
    """Return a record with its LinkedIn URL. Zoho writes `-None-` for an empty picklist."""
    return with_linkedin({name: None if value == "-None-" else value for name, value in record.items()})


def is_record(body: Record) -> bool:
    """Return whether a body is a record in the API's format: it has API metadata under names with a `$`."""
    return "id" in body and ("Modified_Time" in body or "Created_Time" in body) and any(name.startswith("$") for name in body)


def module_of(record: Record) -> str | None:
    """Return the module of a record, which does not name it, by fields that the others lack; None for modules that are not read."""
    if not _OF_PERSON.isdisjoint(record):
        return "Leads" if "Lead_Status" in record or "Company" in record else "Contacts"
    return "Accounts" if isinstance(record.get("Account_Name"), str) and "Deal_Name" not in record else None

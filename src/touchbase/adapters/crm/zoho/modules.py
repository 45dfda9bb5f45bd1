"""Zoho CRM: its modules, where each keeps what we know, and which fields are its status."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.crm import COMPANY, CONTACT, Shape
from touchbase.adapters.kit.crm_values import Record
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin

NOISE = frozenset({"id", "Modified_Time", "Modified_By", "Created_Time", "Created_By", "Last_Activity_Time", "Owner", "Tag"})
_PERSON = Shape(
    CONTACT, email=("Email",), first_name=("First_Name",), last_name=("Last_Name",), full_name=("Full_Name",),
    linkedin=("LinkedIn", "LinkedIn_URL", "LinkedIn_Profile", "Linkedin", LINKEDIN), domain=("Website",), company=("Company",),
    employer=("Account_Name", "Account_Id", "Account_ID", "account_id", "Converted_Account"), employer_type="Accounts",
    useful=("Company", "Designation", "Title", "Phone", "Mobile", "Lead_Source", "Industry"), noise=NOISE,
)  # fmt: skip
_ACCOUNT = Shape(COMPANY, domain=("Website",), company=("Account_Name",), useful=("Phone", "Industry", "Account_Type"), noise=NOISE)
_OF_PERSON = frozenset({"Last_Name", "First_Name", "Full_Name"})
"""Of these a person's record has at least one, however few fields somebody has asked for."""
MODULES = {"Leads": _PERSON, "Contacts": _PERSON, "Accounts": _ACCOUNT}
STATUS: Mapping[str, tuple[str, ...]] = {
    "Leads": ("Lead_Status",),
    "Contacts": ("Contact_Status",),
    "Accounts": ("Account_Status",),
}


def as_told(record: Record) -> dict[str, object]:
    """A record with its LinkedIn address. Zoho writes `-None-` where nothing is chosen of a list."""
    return with_linkedin({name: None if value == "-None-" else value for name, value in record.items()})


def is_record(body: Record) -> bool:
    """Whether a body is a record as the API tells it: beside the fields stand what the API itself knows, under names with a `$`."""
    return "id" in body and ("Modified_Time" in body or "Created_Time" in body) and any(name.startswith("$") for name in body)


def module_of(record: Record) -> str | None:
    """The module of a record, which does not name it: each has fields that the others lack; None for those that are not ours."""
    if not _OF_PERSON.isdisjoint(record):
        return "Leads" if "Lead_Status" in record or "Company" in record else "Contacts"
    return "Accounts" if isinstance(record.get("Account_Name"), str) and "Deal_Name" not in record else None

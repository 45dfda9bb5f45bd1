"""Salesforce's standard objects, and their property names."""

from __future__ import annotations

import re

from touchbase.adapters.kit.crm import COMPANY, CONTACT, RecordShape
from touchbase.adapters.kit.crm_values import Record, linked_id
from touchbase.adapters.kit.extract import flag, text
from touchbase.adapters.kit.linkedin import LINKEDIN

NOISE = frozenset(
    {
        "Id", "CreatedDate", "LastModifiedDate", "SystemModstamp", "LastViewedDate", "LastReferencedDate", "LastActivityDate", "IsDeleted",
        "CleanStatus", "PhotoUrl", "attributes", "Jigsaw", "IsPersonAccount",
    }
)  # fmt: skip
_LINKEDIN = (
    "LinkedIn__c",
    "LinkedIn_URL__c",
    "LinkedIn_Url__c",
    "LinkedInURL__c",
    "LinkedIn_Profile__c",
    "LinkedIn_Profile_URL__c",
    LINKEDIN,
)
_PERSON = RecordShape(
    CONTACT, email=("Email",), first_name=("FirstName", "Name.FirstName"), last_name=("LastName", "Name.LastName"), full_name=("Name",),
    linkedin=_LINKEDIN, domain=("Website",), company=("Company",),
    employer=("AccountId", "ConvertedAccountId", "Account.Id"), employer_type="Account",
    employer_id=lambda value: record_id(linked_id(value)),
    useful=None, noise=NOISE,
)  # fmt: skip
_PERSON_ACCOUNT = RecordShape(
    CONTACT, email=("PersonEmail",), first_name=("FirstName", "Name.FirstName"), last_name=("LastName", "Name.LastName"),
    full_name=("Name",),
    linkedin=_LINKEDIN, useful=None, noise=NOISE,
)  # fmt: skip
_ACCOUNT = RecordShape(COMPANY, domain=("Website", "Domain__c"), company=("Name",), useful=None, noise=NOISE)

_OF_PERSON = re.compile(r"(?:Name\.)?(?:First|Last)Name|\w+__pc|Person\w+(?<!__c)")

PREFIXES = {"001": "Account", "003": "Contact", "00Q": "Lead"}
"""Id prefixes of these objects."""
_SHORT_ID = re.compile(r"[0-9A-Za-z]{15}")
_CHECKS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"


def record_id(value: object) -> str | None:
    """Return a record's 18-character id; a 15-character one is extended by the three that encode its case."""
    string = text(value)
    if string is None or not _SHORT_ID.fullmatch(string):
        return string
    groups = (string[0:5], string[5:10], string[10:15])
    return string + "".join(_CHECKS[sum(1 << place for place, char in enumerate(group) if "A" <= char <= "Z")] for group in groups)


def shape_of(object_type: str | None, record: Record) -> RecordShape | None:
    """Return the shape of an object of this type; None if it is neither a person nor a company."""
    if object_type in ("Contact", "Lead"):
        return _PERSON
    if object_type == "Account":
        return _PERSON_ACCOUNT if _is_person(record) else _ACCOUNT
    return None


def _is_person(account: Record) -> bool:
    """Return whether an account is a person account: by its flag, else by person-only values. Companies have the same fields, empty."""
    said = flag(account.get("IsPersonAccount"))
    return any(value is not None and _OF_PERSON.fullmatch(name) for name, value in account.items()) if said is None else said

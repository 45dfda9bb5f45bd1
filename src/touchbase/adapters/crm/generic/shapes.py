"""The usual property names of other CRMs and relays, and normalization of bodies to them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from touchbase.adapters.kit.body_shapes import with_plain_fields
from touchbase.adapters.kit.crm import COMPANY, CONTACT, RecordShape
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.extract import first, items, text
from touchbase.adapters.kit.languages import FOREIGN, english_key
from touchbase.adapters.kit.linkedin import LINKEDIN

EVENT_KEYS = (
    "event",
    "event_key",
    "event_type",
    "eventType",
    "event_name",
    "eventName",
    "type",
    "topic",
    "action",
    "trigger",
    "operation",
    "webhook_event",
    "triggercode",
    "triggerEvent",
    "triggerType",
)
OBJECT_KEYS = (
    "object_type", "objectType", "object", "entity", "entity_type", "entityType", "module", "resource", "model", "bean", "table",
    "collection",
)  # fmt: skip
RECORD_KEYS = (
    "data",
    "record",
    "payload",
    "object",
    "entity",
    "eventData",
    "subject",
    "contact",
    "person",
    "lead",
    "customer",
    "prospect",
    "company",
    "account",
    "organization",
    "organisation",
    "attributes",
    "fields",
    "entry",
    "new",
    "after",
    "current",
    "old_record",
)
LIST_KEYS = (
    "data", "payload", "items", "rows", "records", "contacts", "people", "persons", "leads", "companies", "accounts", "organizations",
    "object_keys",
)  # fmt: skip
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_LISTS = frozenset(LIST_KEYS)
TIME_KEYS = (
    "occurred_at",
    "timestamp",
    "event_time",
    "date_time",
    "updated_at",
    "updatedAt",
    "modified_at",
    "created_at",
    "createdAt",
    "date",
    "submittedAt",
    "submitted_at",
    "date_modified_gmt",
    "date_created_gmt",
    "created",
    "ts",
)
CREATION_KEYS = ("created_at", "createdAt", "date_created_gmt", "created")
MAIL_KEYS = (
    "email", "Email", "email_address", "emailAddress", "emails", "primary_email", "contact_email", "lead_email",
    "work_email", "email1",
)  # fmt: skip
HOST_KEYS = ("domain", "website", "Domain", "Website", "company_domain", "company_website")
ID_KEYS = ("id", "Id", "ID", "uuid", "record_id")
OWN_ID_KEYS = {
    CONTACT: ("contact_id", "contactId", "person_id", "personId", "lead_id", "leadId"),
    COMPANY: ("company_id", "companyId", "organization_id", "organizationId"),
}
"""Next to a contact `company_id` is its company's id."""
COMPANY_KEYS = (*OWN_ID_KEYS[COMPANY], "account_id", "accountId", "organisation_id", "organisationId", "socid")
"""Keys of a contact's company id; inside the embedded company, it is under the usual id key."""
_COMPANIES = ("company", "account", "organization", "organisation")
NEW_STATUS_KEYS = {"status": ("new_status", "newStatus", "status"), "stage": ("new_stage", "newStage", "stage")}
"""Keys of the new status, by the word for it in the event name; they may be outside the record."""
TABLE_NAMES = ("table_name", "tableName")
TABLE_KEYS = ("table_id", "tableId", *TABLE_NAMES)
STATUS_KEYS = ("contact_status", "lead_status", "company_status", "account_status", "lifecycle_stage", "lifecyclestage")
SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=MAIL_KEYS, first_name=("first_name", "firstName", "firstname", "FirstName", "given_name"),
        last_name=("last_name", "lastName", "lastname", "LastName", "family_name"),
        full_name=("full_name", "fullName", "name", "Name"),
        linkedin=("linkedin_url", "linkedin", "linkedinUrl", "linkedIn", "LinkedIn", LINKEDIN), domain=HOST_KEYS,
        company=("company_name", "companyName", "company"), employer=COMPANY_KEYS, employer_type=COMPANY,
        useful=("title", "job_title", "jobTitle", "position", "poste", "phone", "mobile", "phone_mobile", "phone_pro"),
    ),
    COMPANY: RecordShape(COMPANY, domain=HOST_KEYS, company=("name", "company_name", "companyName", "Name"), useful=("industry", "phone")),
}  # fmt: skip


def usual(body: Body) -> Body:
    """Return the body with normalized names added, and with flattened names (`contact__email`, `data.id`) expanded."""
    names = "".join(body)
    body = with_plain_fields(body)
    if names.islower() and "." not in names and "__" not in names and " " not in names and FOREIGN.isdisjoint(body):
        return body
    usual: Body = {}
    for name, value in body.items():
        if (english := english_key(name)) is not None:
            usual.setdefault(english, value)
        usual.setdefault(name.lower(), value)
        if " " in name:
            usual.setdefault(name.strip().lower().replace(" ", "_"), value)
        if not name.islower():
            usual.setdefault(name[:1].lower() + name[1:], value)
        if "." not in name and "__" not in name:
            continue
        first, _, remainder = name.replace("__", ".", 1).partition(".")
        if remainder and first in RECORD_KEYS and isinstance(below := usual.setdefault(first, {}), dict):
            below[remainder] = value
    return usual | body


def with_website(record: Body) -> Body:
    """Return a company's record with its website, if that is its `url`: one with a path may be the record's own address in the CRM."""
    url = text(record.get("url")) or ""
    is_site = "/" not in url.partition("://")[2].rstrip("/") and "://" in url
    return {**record, HOST_KEYS[1]: url} if is_site and first(record, *HOST_KEYS) is None else record


def with_company(record: Body) -> Body:
    """Return a contact's record with its company's id, if the id is stored in the company property."""
    for name in _COMPANIES:
        value = record.get(name)
        company_id = _id_of_company(value)
        if company_id is not None and first(record, *COMPANY_KEYS) is None:
            # A value that is an id is no name.
            fields = record if isinstance(value, dict) else {key: member for key, member in record.items() if key != name}
            return {**fields, COMPANY_KEYS[0]: company_id}
    return record


def _id_of_company(value: object) -> str | None:
    if isinstance(value, dict):
        return text(first(value, "documentId", *ID_KEYS))
    is_id = (isinstance(value, int) and value > 0) or (isinstance(value, str) and _UUID.fullmatch(value) is not None)
    return text(value) if is_id else None


def _of_several(body: Body) -> Iterator[Body]:
    """Yield a body for each id in `keys`, which Directus uses for changes and deletions of several records."""
    payload = body.get("payload")
    numbers = [number for item in items(body["keys"]) if (number := text(item)) is not None]
    around = {name: value for name, value in body.items() if name not in ("keys", "payload")}
    if isinstance(payload, dict):
        # Values written to several records at once identify none of them: a shared address would merge them all.
        around["payload"] = payload if len(numbers) == 1 else {name: value for name, value in payload.items() if not _is_own(name)}
    for number in numbers:
        yield {**around, "key": number}


def _is_own(name: str) -> bool:
    return name in MAIL_KEYS or name in HOST_KEYS or "linkedin" in name.lower()


def bodies(body: Body) -> Iterator[Body]:
    """Yield a body for each record of a list under one key, or for each deleted row's id; otherwise the body itself."""
    table = body.get("data")
    if isinstance(table, dict) and "rows" in table and first(table, *TABLE_KEYS) is not None:
        # NocoDB: the table and its rows stand below `data`; beside them `id` is the call's.
        body = {**{name: value for name, value in body.items() if name not in ("data", "id")}, **table}
    if first(body, *TABLE_KEYS) is not None and (deleted := items(body.get("row_ids"))):
        yield from ({**body, "event": "deleted", "items": {"id": number}} for number in deleted if text(number))
        return
    if "collection" in body and items(body.get("keys")):
        yield from _of_several(body)
        return
    key = None if _LISTS.isdisjoint(body) else next((name for name in LIST_KEYS if name in body and _lists_objects(body[name])), None)
    if key is None or any(isinstance(body.get(name), dict) for name in RECORD_KEYS if name != key):
        yield body
        return
    for item in items(body[key]):
        if isinstance(item, dict):
            yield {**body, key: item}


def _lists_objects(value: object) -> bool:
    if isinstance(value, dict) and not next(iter(value), "").isdecimal():
        return False
    return any(isinstance(item, dict) for item in items(value))

"""HubSpot: whole objects, as posted by workflows and relays.

Four forms: the older workflow form (`vid` or `companyId`, each property an object with its `value`), the newer one
(`id` or `objectId`, each property a plain value), the flat form that a user writes in a workflow, recognised by its
`hs_object_id`, and that of an app's custom workflow action (`callbackId`). Relays that watch a list put its new member
under `contact`.
"""

from __future__ import annotations

from touchbase.adapters.kit.crm import COMPANY, CONTACT, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, flag, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event

CONTACT_ID = "0-1"
COMPANY_ID = "0-2"
OWN = frozenset({"hs_object_id", "createdate", "lastmodifieddate", "hs_lastmodifieddate"})
"""Properties of every object, under names that no other CRM uses."""
_NAMED = {
    CONTACT_ID: CONTACT, "contact": CONTACT, "contacts": CONTACT, COMPANY_ID: COMPANY, "company": COMPANY, "companies": COMPANY,
}  # fmt: skip
_OF_GOODS = frozenset({"price", "hs_product_id", "hs_sku", "quantity"})
"""Properties of products and line items, which have a `name` like companies."""
_OF_COMPANY = frozenset({"industry", "lifecyclestage", "numberofemployees", "annualrevenue"})
"""Properties that distinguish a company from a deal, ticket or product if only selected properties are sent."""

SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=("email", "identity"), further_email=("hs_additional_emails",), first_name=("firstname",), last_name=("lastname",),
        linkedin=("hs_linkedin_url", "linkedin_url", "linkedinurl", "linkedin", LINKEDIN),
        domain=("associated_domain", "website"), company=("company", "associated_name"),
        employer=("associatedcompanyid", "associated_id"), employer_type=COMPANY,
        useful=("jobtitle", "phone", "mobilephone", "company", "website", "city", "state", "country", "industry"),
    ),
    COMPANY: RecordShape(
        COMPANY, domain=("domain", "website"), company=("name",),
        useful=("phone", "website", "industry", "city", "state", "country", "numberofemployees", "annualrevenue"),
    ),
}  # fmt: skip


def is_object(body: Body) -> bool:
    """Return whether a body is a HubSpot object."""
    if "hs_object_id" in body or _is_action(body):
        return True
    properties = body.get("properties")
    if not isinstance(properties, dict):
        return False
    return any(name in body for name in ("vid", "companyId", "dealId", "portalId", "portal-id")) or not OWN.isdisjoint(properties)


def member_of_list(body: Body) -> Body | None:
    """Return the contact that has joined a list, from a relay's body; None for other bodies."""
    member = body.get("contact")
    return member if "listId" in body and isinstance(member, dict) and is_object(member) else None


def read_object(body: Body, statuses: StatusNames) -> list[Event]:
    """Return the object as an update that may create; deals and other objects are ignored."""
    body = _of_action(body) if _is_action(body) else body
    record = properties_of(body) if isinstance(body.get("properties"), dict) else dict(body)
    kind = _kind(body, record)
    object_id = text(
        first(body, "vid", "canonical-vid", "companyId", "hs_object_id", "objectId") or first(record, "hs_object_id") or body.get("id")
    )
    if kind is None:
        return [other_event("ignored", None, text(first(body, "objectTypeId", "objectType")), object_id)]
    if kind == CONTACT:
        record = with_linkedin(record | _of_contact(body))
    what = DELETED if flag(body.get("isDeleted")) or flag(body.get("archived")) else UPDATED
    gone = first_time(body, "archivedAt") if what == DELETED else None
    at = gone or first_time(record, "lastmodifieddate", "hs_lastmodifieddate") or first_time(body, "updatedAt")
    return CrmItem(SHAPES[kind], what, kind, object_id, None, at, record=record, status=statuses(kind, kind)).events()


def _is_action(body: Body) -> bool:
    return "callbackId" in body and dig(body, "origin", "portalId") is not None and isinstance(dig(body, "object", "objectType"), str)


def _of_action(body: Body) -> Body:
    """Return the object of a workflow action, with the input fields that the workflow's author has configured."""
    record = as_dict(body.get("object"))
    return {**record, "properties": {**as_dict(body.get("inputFields")), **as_dict(record.get("properties"))}}


def properties_of(body: Body) -> dict[str, object]:
    """Return `properties` as plain values; in the older form they are objects with a `value`."""
    properties = as_dict(body.get("properties"))
    return {name: value.get("value") if isinstance(value, dict) else value for name, value in properties.items()}


def _kind(body: Body, record: Body) -> str | None:
    named = text(first(body, "objectTypeId", "objectType", "object_type")) or ""
    if named:
        return _NAMED.get(named.lower())
    if "vid" in body:
        return CONTACT
    if "companyId" in body:
        return COMPANY
    if "dealId" in body or "dealname" in record or "hs_pipeline_stage" in record:
        return None
    return _by_properties(record)


def _by_properties(record: Body) -> str | None:
    """Return the type of an object without a type name and a type-specific id."""
    if any(name in record for name in ("email", "firstname", "lastname")):
        return CONTACT
    if "domain" in record or ("name" in record and _OF_GOODS.isdisjoint(record)):
        return COMPANY
    # Only contacts have their change time under a name without HubSpot's prefix.
    if "lastmodifieddate" in record:
        return CONTACT
    return COMPANY if "hs_lastmodifieddate" in record and not _OF_COMPANY.isdisjoint(record) else None


def _of_contact(body: Body) -> dict[str, object]:
    """Return data outside the properties: the email address among the identities, and the linked company."""
    identities = [
        as_dict(identity) for profile in as_list(body.get("identity-profiles")) for identity in as_list(dig(profile, "identities"))
    ]
    mails = [
        {"value": identity.get("value"), "primary": identity.get("is-primary")}
        for identity in identities
        if identity.get("type") == "EMAIL"
    ]
    company = as_dict(dig(body, "associated-company", "properties"))
    return {
        "identity": mails,
        "associated_domain": dig(company, "domain", "value") or dig(company, "website", "value"),
        "associated_id": dig(body, "associated-company", "company-id"),
        "associated_name": dig(company, "name", "value"),
    }

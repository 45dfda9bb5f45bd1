"""Dynamics 365: the Dataverse's webhooks, and rows that Power Automate passes on, in our words.

Event reference: the Dataverse guide to webhooks on learn.microsoft.com (read 2026-11-20). Contacts and leads
are contacts, accounts are companies. `Target` holds what changed, images hold the record before and after
where they are registered. `ParentContext` repeats the change and is not read. Over 256 KB the parameters
are left out, so then only the id is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.reading import first, text
from touchbase.adapters.kit.times import when
from touchbase.domain.events import Event
from touchbase.domain.ports import Call

NOISE = frozenset(
    {
        "contactid", "leadid", "accountid", "modifiedon", "modifiedby", "modifiedonbehalfby", "createdon", "createdby", "createdonbehalfby",
        "yomifullname", "yomifirstname", "yomilastname", "yominame", "versionnumber", "owningbusinessunit", "owninguser", "owningteam",
        "ownerid",
        "timezoneruleversionnumber", "address1_addressid", "address2_addressid", "address3_addressid", "address1_composite",
        "address2_composite",
        "exchangerate", "transactioncurrencyid", "processid", "stageid", "traversedpath", "importsequencenumber", "overriddencreatedon",
    }
)  # fmt: skip
_PERSON = Shape(
    CONTACT, email=("emailaddress1", "emailaddress2"), first_name=("firstname",), last_name=("lastname",), full_name=("fullname",),
    linkedin=("msdyncrm_linkedin", "linkedin", "cr_linkedin"), domain=("websiteurl",), company=("companyname",),
    useful=("jobtitle", "telephone1", "mobilephone", "companyname"), noise=NOISE,
)  # fmt: skip
SHAPES = {
    "contact": _PERSON,
    "lead": _PERSON,
    "account": Shape(
        COMPANY, domain=("websiteurl",), company=("name",), useful=("telephone1", "address1_city", "numberofemployees"), noise=NOISE
    ),
}
MESSAGES = {
    "create": CREATED, "update": UPDATED, "delete": DELETED, "merge": UPDATED, "setstate": UPDATED, "setstatedynamicentity": UPDATED,
    "added": CREATED, "modified": UPDATED, "deleted": DELETED,
}  # fmt: skip
_OPTIONS = ("statuscode", "statecode")
_NOBODY = "00000000-0000-0000-0000-000000000000"


class Dynamics365(CrmAdapter):
    """Reads Dynamics 365's webhook calls."""

    tool = "dynamics365"
    signs = frozenset({"MessageName", "SdkMessage", "x-ms-dynamics-entity-name"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(SHAPES, ("statuscode", "statecode"))

    def sure(self, body: Body, call: Call) -> int:
        """Known by the names of message and entity, or by the mark of Power Automate's trigger."""
        if "MessageName" in body and "PrimaryEntityName" in body:
            return 100
        if "x-ms-dynamics-entity-name" in call.headers:
            return 95
        return 90 if "SdkMessage" in body and ("ItemInternalId" in body or "@odata.type" in body or "@odata.etag" in body) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One message about one record."""
        if "SdkMessage" in body:
            return self._row(body, call)
        source = text(body.get("MessageName") or call.headers.get("x-ms-dynamics-request-name"))
        word = text(body.get("PrimaryEntityName") or call.headers.get("x-ms-dynamics-entity-name"))
        object_id, what = text(body.get("PrimaryEntityId")), MESSAGES.get((source or "").lower())
        if word not in SHAPES or what is None:
            return [note("ignored" if word and source else "unrecognised", source, word, object_id)]
        parameters = _pairs(body.get("InputParameters"))
        target, before, after = (
            as_dict(parameters.get("Target")),
            _images(body.get("PreEntityImages")),
            _images(body.get("PostEntityImages")),
        )
        now = _attributes(target)
        if source and source.lower().startswith("setstate"):
            now = {"statuscode": _scalar(parameters.get("Status")), "statecode": _scalar(parameters.get("State"))}
        # The target has the number of an option; the image of after has its label, where it is registered.
        now |= {name: after[name] for name in _OPTIONS if name in now and isinstance(after.get(name), str)}
        key = text(body.get("OperationId"))
        item = Item(SHAPES[word], what, word, object_id, source, when(body.get("OperationCreatedOn")), None if key == _NOBODY else key)
        item.record, item.status = {**before, **after, **now}, self.statuses(call, item.shape.kind, word)
        if what == UPDATED:
            item.changed = {name: (value, before.get(name, UNTOLD)) for name, value in now.items() if name not in NOISE}
        if source == "Merge":
            item.object_id, item.changed = object_id or text(target.get("Id")), {}
            return item.merged(text(parameters.get("SubordinateId")))
        return item.events()

    def _row(self, body: Body, call: Call) -> list[Event]:
        """A row as Power Automate's trigger gives it: the whole record, flat."""
        source = text(body.get("SdkMessage"))
        word = next((name for name in ("contact", "lead", "account") if isinstance(body.get(f"{name}id"), str)), None)
        what = MESSAGES.get((source or "").lower())
        if word is None or what is None:
            return [note("ignored" if source else "unrecognised", source)]
        at = when(first(body, "modifiedon"))
        status = self.statuses(call, SHAPES[word].kind, word)
        return Item(SHAPES[word], what, word, text(body.get(f"{word}id")), source, at, record=body, status=status).events()


def _pairs(value: object) -> Body:
    """A list of `{key, value}` as an object."""
    return {name: one.get("value") for one in map(as_dict, as_list(value)) if (name := text(one.get("key"))) is not None}


def _images(value: object) -> Body:
    record: Body = {}
    for image in _pairs(value).values():
        record |= _attributes(as_dict(image))
    return record


def _attributes(entity: Body) -> Body:
    """An entity's attributes; an option shows its label where the body has it, a link the name of what it leads to."""
    labels = _pairs(entity.get("FormattedValues"))
    values = {name: _scalar(value) for name, value in _pairs(entity.get("Attributes")).items()}
    return {name: labels.get(name, value) if name in _OPTIONS else value for name, value in values.items()}


def _scalar(value: object) -> object:
    if isinstance(value, dict):
        return value["Value"] if "Value" in value else value.get("Name") if "LogicalName" in value else value
    return value


ADAPTER = Dynamics365()

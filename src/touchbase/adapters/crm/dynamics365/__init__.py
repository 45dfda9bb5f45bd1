"""Dynamics 365: Dataverse webhooks, and rows that Power Automate forwards.

Event reference: the Dataverse guide to webhooks on learn.microsoft.com (read 2026-11-20). Contacts and leads are
contacts, accounts are companies. `Target` holds the changes; images, if registered, hold the record before and after.
`ParentContext` repeats the change and is not read. Over 256 KB the parameters are left out, so only the id is known.
Pairs come as a list of `{key, value}`; queues and functions that serialize the context again often make plain objects
of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.history.events import Event

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
_ACCOUNT = "account id"
"""The property for the id of a contact's or lead's account."""
_LINKS = ("parentcustomerid", "parentaccountid", "accountid")
_PERSON = RecordShape(
    CONTACT, email=("emailaddress1", "emailaddress2"), first_name=("firstname",), last_name=("lastname",), full_name=("fullname",),
    linkedin=("msdyncrm_linkedin", "linkedin", "cr_linkedin", LINKEDIN), domain=("websiteurl",), company=("companyname",),
    employer=(_ACCOUNT,), employer_type="account",
    useful=("jobtitle", "telephone1", "mobilephone", "companyname"), noise=NOISE,
)  # fmt: skip
SHAPES = {
    "contact": _PERSON,
    "lead": _PERSON,
    "account": RecordShape(
        COMPANY, domain=("websiteurl",), company=("name",), useful=("telephone1", "address1_city", "numberofemployees"), noise=NOISE
    ),
}
MESSAGES = {
    "create": CREATED, "update": UPDATED, "delete": DELETED, "merge": UPDATED, "setstate": UPDATED, "setstatedynamicentity": UPDATED,
    "added": CREATED, "modified": UPDATED, "deleted": DELETED, "upsert": UPDATED, "assign": UPDATED, "restore": UPDATED,
    "createmultiple": CREATED, "updatemultiple": UPDATED, "upsertmultiple": UPDATED, "deletemultiple": DELETED,
}  # fmt: skip
_OPTIONS = ("statuscode", "statecode")
_LABELS = ("_{}_label", "{}@OData.Community.Display.V1.FormattedValue")
"""Keys of an option's label in a row."""
_ROW_MARKS = frozenset({"@odata.etag", "@odata.context", "@odata.type", "ItemInternalId"})
_MACHINES = "00000000-0000-0000-0000-000000000000"


class Dynamics365(CrmAdapter):
    """Reads Dynamics 365's webhooks."""

    tool = "dynamics365"
    words = ("lead", "account")
    detection_keys = _ROW_MARKS | {"MessageName", "SdkMessage", "x-ms-dynamics-entity-name", "eventTime", "specversion"}
    status: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(SHAPES, ("statuscode", "statecode"))

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the names of message and entity, or by the fields of Power Automate's triggers."""
        body = _context(body)
        if "MessageName" in body and "PrimaryEntityName" in body:
            return 100
        if "MessageName" in body and _target_word(body) is not None:
            return 90
        if "x-ms-dynamics-entity-name" in webhook.headers:
            # Lower for a body that is not a context: a relay may have wrapped it and forwarded the headers.
            return 95 if "PrimaryEntityId" in body or "InputParameters" in body else 45
        if "SdkMessage" in body:
            return 90
        if ".dynamics.com/" in (text(body.get("@odata.context")) or ""):
            return 85
        return 80 if _row_word(body) and _ROW_MARKS & body.keys() else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one message about one or several records."""
        body = _context(body)
        if "MessageName" not in body and isinstance(body.get("value"), list):
            # The result of a query.
            return [event for row in map(as_dict, as_list(body["value"])) for event in self._row(row, webhook)] or [other_event("ignored")]
        if "MessageName" not in body and ("SdkMessage" in body or _ROW_MARKS & body.keys()):
            return self._row(body, webhook)
        source = text(body.get("MessageName") or webhook.headers.get("x-ms-dynamics-request-name"))
        word = text(body.get("PrimaryEntityName") or webhook.headers.get("x-ms-dynamics-entity-name")) or _target_word(body)
        object_id, what = text(body.get("PrimaryEntityId")), MESSAGES.get((source or "").lower())
        if word is None or source is None:
            return [other_event("unrecognised", source, word, object_id)]
        if word not in SHAPES or what is None:
            return [other_event("ignored", source, word, object_id)]
        parameters = _pairs(body.get("InputParameters"))
        targets = _several(parameters.get("Targets"))
        if not targets:
            return self._events_of(body, webhook, word, what, as_dict(parameters.get("Target")), parameters)
        return [event for target in targets for event in self._events_of(body, webhook, word, what, target, parameters)]

    def _events_of(self, body: Body, webhook: ParsedWebhook, word: str, what: str, target: Body, parameters: Body) -> list[Event]:
        source = text(body.get("MessageName") or webhook.headers.get("x-ms-dynamics-request-name")) or ""
        before, after, now = _images(body.get("PreEntityImages")), _images(body.get("PostEntityImages")), _attributes(target)
        if source.lower().startswith("setstate"):
            now = {"statuscode": _scalar(parameters.get("Status")), "statecode": _scalar(parameters.get("State"))}
        # The target has an option's number; the post image, if registered, has its label.
        now |= {name: after[name] for name, value in now.items() if isinstance(value, int) and isinstance(after.get(name), str)}
        key, object_id = _scalar_text(body.get("OperationId")), _scalar_text(body.get("PrimaryEntityId"))
        own_id = object_id or _scalar_text(first(target, "Id", "id")) or text(now.get(f"{word}id"))
        at = first_time(body, "OperationCreatedOn") or first_time(now, "modifiedon") or first_time(body, *_OF_GRID)
        item = CrmItem(SHAPES[word], what, word, own_id, source, at, key, restored=source == "Restore")
        item.record, item.status = _with_linkedin({**before, **after, **now}, word), self.statuses(webhook, item.shape.kind, word)
        entities = (target, *_entities(body.get("PostEntityImages")), *_entities(body.get("PreEntityImages")))
        item.record = {**item.record, _ACCOUNT: next(filter(None, map(_account_of, entities)), None)}
        if what == UPDATED and source not in ("Upsert", "Restore"):
            item.changed = {name: (value, before.get(name, NOT_SENT)) for name, value in now.items() if name not in NOISE}
        if source == "Merge":
            item.changed = {}
            return item.merged(text(parameters.get("SubordinateId")))
        return item.events()

    def _row(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of a row from Power Automate's trigger: the whole record, flat."""
        source, word = text(body.get("SdkMessage")), _row_word(body)
        at = parse_time(first(body, "modifiedon"))
        new = at is not None and at == parse_time(body.get("createdon"))
        what = MESSAGES.get(source.lower()) if source is not None else CREATED if new else UPDATED
        if word is None or what is None:
            return [other_event("ignored", source)]
        statuses = self.statuses(webhook, SHAPES[word].kind, word)
        labels = {name: label for name in statuses if (label := text(first(body, *(form.format(name) for form in _LABELS)))) is not None}
        item = CrmItem(SHAPES[word], what, word, text(body.get(f"{word}id")), source, at, record=_with_linkedin({**body, **labels}, word))
        item.record = {**item.record, _ACCOUNT: _account_in_row(body)}
        item.status = statuses
        return item.events()


_OF_GRID = ("eventTime", "time")
"""Keys of the event time in an event grid event and a cloud event."""


def _context(body: Body) -> Body:
    """Return the context, which an event grid puts under `data`."""
    inner = as_dict(body.get("data"))
    return {**{name: body.get(name) for name in _OF_GRID}, **inner} if "MessageName" in inner else body


def _target_word(body: Body) -> str | None:
    """Return the record type that the target names."""
    return text(as_dict(_pairs(body.get("InputParameters")).get("Target")).get("LogicalName"))


def _row_word(body: Body) -> str | None:
    """Return the record type of a flat row, by its own id; a contact also contains ids of accounts."""
    return next((name for name in ("contact", "lead", "account") if isinstance(body.get(f"{name}id"), str)), None)


def _with_linkedin(record: Body, word: str) -> Body:
    return record if word == "account" else with_linkedin(record)


def _scalar_text(value: object) -> str | None:
    """Return an id, or None for the all-zero id."""
    string = text(value)
    return None if string == _MACHINES else string


def _several(value: object) -> list[Body]:
    """Return the entities of a collection: messages such as `UpdateMultiple` are about many records."""
    return [entry for entry in map(as_dict, as_list(as_dict(value).get("Entities") or value)) if entry]


def _pairs(value: object) -> Body:
    """Convert a list of `{key, value}` to an object; return an object unchanged."""
    if isinstance(value, dict):
        return value
    pairs = ((first(pair, "key", "Key"), pair.get("value", pair.get("Value"))) for pair in map(as_dict, as_list(value)))
    return {name: inner for key, inner in pairs if (name := text(key)) is not None}


def _images(value: object) -> Body:
    record: Body = {}
    for image in _entities(value):
        record |= _attributes(image)
    return record


def _entities(value: object) -> list[Body]:
    """Return the entities of a body as they were before or after."""
    return [as_dict(image) for image in _pairs(value).values()]


def _account_of(entity: Body) -> str | None:
    """Return the id of the account that an entity links to; a contact's customer may also be a contact."""
    attributes = _pairs(entity.get("Attributes")) or entity
    links = (as_dict(attributes.get(name)) for name in _LINKS)
    return next((_scalar_text(first(link, "Id", "id")) for link in links if link.get("LogicalName") == "account"), None)


def _account_in_row(row: Body) -> str | None:
    """Return the account id of a flat row, which has it under `_..._value`, with the linked type in a separate key."""
    for name in _LINKS:
        kind = first(row, f"_{name}_value@Microsoft.Dynamics.CRM.lookuplogicalname", f"_{name}_type")
        is_account = text(kind) in ("account", "accounts") or (kind is None and name != "parentcustomerid")
        if is_account and (account_id := _scalar_text(row.get(f"_{name}_value"))) is not None:
            return account_id
    return None


def _attributes(entity: Body) -> Body:
    """Return an entity's pairs, with an option's label if the body has it, and a link's name."""
    labels = _pairs(entity.get("FormattedValues"))
    plain = {name: value for name, value in entity.items() if name[:1].islower()}
    pairs = (_pairs(entity.get("Attributes")) or plain).items()
    return {name: labels.get(name, _scalar(value)) if name in _OPTIONS or _is_option(value) else _scalar(value) for name, value in pairs}


def _is_option(value: object) -> bool:
    """Return whether a value is one or several option numbers, which need a label. Money amounts have the same form."""
    if isinstance(value, list):
        return value != [] and all(map(_is_option, value))
    return isinstance(value, dict) and isinstance(value.get("Value"), int) and "Money" not in (text(value.get("__type")) or "")


def _scalar(value: object) -> object:
    """Return a typed value as a scalar. A link rarely has a name; otherwise only its id is known."""
    if isinstance(value, list):
        return [_scalar(item) for item in value]
    if not isinstance(value, dict) or "Value" in value:
        return value["Value"] if isinstance(value, dict) else value
    return text(value.get("Name")) or {"id": value.get("Id")} if "LogicalName" in value else value


ADAPTER = Dynamics365()

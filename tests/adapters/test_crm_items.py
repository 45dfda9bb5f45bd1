"""CRM adapters beyond what fixtures show: values for our fields and custom fields, keys, relays, settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.crm.pipedrive import Pipedrive
from touchbase.adapters.crm.salesforce import ADAPTER as SALESFORCE
from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape
from touchbase.adapters.kit.crm_values import as_text, email_address, host, status_text
from touchbase.adapters.kit.parse import parse
from touchbase.adapters.registry import Adapters
from touchbase.history.events import CRM, Event

PERSON = RecordShape(
    CONTACT, email=("mail",), first_name=("first",), last_name=("last",), full_name=("name",), linkedin=("li",), domain=("site",),
    company=("employer",), useful=("phone",), noise=frozenset({"touched"}),
)  # fmt: skip


def request(body: object, headers: dict[str, str] | None = None, query: str = "") -> WebhookRequest:
    return WebhookRequest(CRM, headers or {}, query, body if isinstance(body, bytes) else json.dumps(body).encode())


def hubspot(**values: Any) -> dict[str, Any]:
    return {"subscriptionType": "contact.propertyChange", "portalId": 7, "eventId": 5, "objectId": 9, "occurredAt": 1790000000000} | values


def outbound(fields: str, before: str = "", declared: str = "") -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>{declared}<notifications xmlns="http://soap.sforce.com/2005/09/outbound" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{before}<Notification><Id>04l1</Id><sObject xsi:type="Contact">'
        f"{fields}</sObject></Notification></notifications>"
    ).encode()


def test_changed_property__is_a_custom_field_unless_mapped_or_bookkeeping() -> None:
    changed = {
        "first": ("Ada", "A"),
        "tier": (3, NOT_SENT),
        "vip": (True, False),
        "touched": (1, 0),
        "owner_id": (7, 6),
        "tags": (["a"], []),
    }
    item = CrmItem(PERSON, UPDATED, "person", "1", record={"first": "Ada"}, changed=changed)

    (event,) = item.events()

    assert event.fields == {"first_name": "Ada"}
    assert event.custom == {"tier": "3", "vip": "true", "tags": "a"}
    assert [change.property for change in event.changed] == ["first", "tier", "vip", "owner_id", "tags"]


@pytest.mark.parametrize(
    ("full", "fields"),
    [("Ada", {"first_name": "Ada"}), ("Ada de Lace", {"first_name": "Ada", "last_name": "de Lace"}), ("ada@example.com", {})],
)
def test_full_name__is_split_and_an_email_address_is_not_a_name(full: str, fields: dict[str, str]) -> None:
    (event,) = CrmItem(PERSON, UPDATED, "person", "1", record={"mail": "ada@example.com", "name": full}).events()

    assert event.fields == fields


def test_cleared_property__clears_the_field() -> None:
    item = CrmItem(PERSON, UPDATED, "person", "1", changed={"last": (None, "Example"), "tier": ("", "gold")})

    (event,) = item.events()

    assert event.fields == {"last_name": None}
    assert event.custom == {"tier": None}


def test_null_in_a_whole_record__clears_only_when_the_crm_means_it() -> None:
    record = {"first": None, "last": "Example", "phone": None}

    (careful,) = CrmItem(PERSON, UPDATED, "person", "1", record=record).events()
    (meant,) = CrmItem(PERSON, UPDATED, "person", "1", record=record, nulls_clear=True).events()

    assert (careful.fields, careful.custom) == ({"last_name": "Example"}, {})
    assert (meant.fields, meant.custom) == ({"first_name": None, "last_name": "Example"}, {"phone": None})


def test_previous_value__distinguishes_empty_from_unknown() -> None:
    item = CrmItem(PERSON, UPDATED, "person", "1", changed={"tier": ("gold", None), "phone": ("1", NOT_SENT)})

    (event,) = item.events()

    assert [change.previous for change in event.changed] == ["", None]


def test_full_name__is_split_only_without_separate_parts() -> None:
    (whole,) = CrmItem(PERSON, CREATED, "person", "1", record={"name": "Ada King Lovelace"}).events()
    (parts,) = CrmItem(PERSON, CREATED, "person", "1", record={"name": "Ada King Lovelace", "last": "Lovelace"}).events()

    assert whole.fields == {"first_name": "Ada", "last_name": "King Lovelace"}
    assert parts.fields == {"last_name": "Lovelace"}


def test_person_item__takes_a_company_name_only_with_a_domain() -> None:
    (without,) = CrmItem(PERSON, CREATED, "person", "1", record={"name": "Ada", "employer": "Example"}).events()
    (beside,) = CrmItem(PERSON, CREATED, "person", "1", record={"name": "Ada", "employer": "Example", "site": "example.com"}).events()

    assert (without.name, without.domain) == (None, None)
    assert (beside.name, beside.domain) == ("Example", "example.com")


def test_deletion__carries_no_values() -> None:
    item = CrmItem(PERSON, DELETED, "person", "1", record={"first": "Ada", "mail": "ada@example.com", "phone": "1"}, status=("phone",))

    assert item.events() == [Event("contact.deleted", email="ada@example.com", object_type="person", object_id="1")]


def test_status_change__gives_an_update_only_with_other_changes() -> None:
    alone = CrmItem(PERSON, UPDATED, "person", "1", changed={"stage": ("won", NOT_SENT)}, status=("stage",)).events()
    both = CrmItem(
        PERSON, UPDATED, "person", "1", changed={"stage": ("won", NOT_SENT), "tier": ("x", NOT_SENT)}, status=("stage",)
    ).events()

    assert [(event.event, event.status) for event in alone] == [("contact.status_changed", "won")]
    assert [(event.event, event.status) for event in both] == [("contact.updated", None), ("contact.status_changed", "won")]
    assert both[0].custom == {"tier": "x"}


def test_record__without_identity_is_unrecognised() -> None:
    assert [event.event for event in CrmItem(PERSON, CREATED, "person", None, record={"first": "Ada"}).events()] == ["unrecognised"]
    assert [event.event for event in CrmItem(PERSON, UPDATED, "person", None, record={"mail": "a@b.co"}).events()] == ["contact.updated"]


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("https://www.Example.com/path?q=1", "example.com"),
        ("example.com", "example.com"),
        ("http://user@shop.example.co.uk:8080", "shop.example.co.uk"),
        ("müller.example", "müller.example"),
        ([{"url": "https://twitter.com/x"}, {"url": "http://own.example"}], "own.example"),
        ({"primaryLinkUrl": "https://own.example"}, "own.example"),
        ("https://www.linkedin.com/company/x", None),
        ("somebody@example.com", None),
        ("not a host", None),
        ("localhost", None),
        ("10.0.0.1", None),
        ("", None),
        (7, None),
    ],
)
def test_host__is_extracted_from_any_web_address(given_: object, expected: str | None) -> None:
    assert host(given_) == expected


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ([{"value": "a@b.co"}, {"value": "C@d.co", "primary": True}], "c@d.co"),
        ([{"value": ""}, "x@y.co"], "x@y.co"),
        ({"primaryEmail": "a@b.co"}, "a@b.co"),
        ([{"value": "", "primary": True}], None),
        ([[["a@b.co"]]], None),
        ({}, None),
    ],
)
def test_email_address__is_the_primary_one_in_any_form(given_: object, expected: str | None) -> None:
    assert email_address(given_) == expected


def test_status_text__is_read_from_its_label() -> None:
    assert status_text({"label": {"index": 0, "text": "Working"}}) == "Working"
    assert status_text([{"name": "a"}, {"id": 7}]) == "a, 7"
    assert as_text([14]) == "[14]"


@given(st.text(max_size=60))
def test_host__contains_no_scheme_path_or_space(text: str) -> None:
    found = host(text)

    assert found is None or not set(found) & set("/ @:?#")


def test_hubspot_attempt_number__does_not_change_the_event(adapters: Adapters) -> None:
    first = adapters.translate(request([hubspot(propertyName="email", propertyValue="a@b.co", attemptNumber=0)]))
    again = adapters.translate(request([hubspot(propertyName="email", propertyValue="a@b.co", attemptNumber=3)]))

    assert first == again
    assert first.events[0].key == "7:5"


def test_hubspot_test_webhook__has_no_event_key(adapters: Adapters) -> None:
    told = adapters.translate(request([hubspot(eventId="1", propertyName="city", propertyValue="x")]))

    assert told.events[0].key is None


def test_hubspot_batch__of_100_loses_only_the_bad_item(adapters: Adapters) -> None:
    items: list[Any] = [hubspot(eventId=n + 10, objectId=n + 1, subscriptionType="contact.creation") for n in range(100)]
    items[40] = {"subscriptionType": "contact.creation", "objectId": {"no": "id"}}

    events = adapters.translate(request(items)).events

    assert [event.event for event in events].count("contact.created") == 99
    assert events[40].event == "unrecognised"


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda call: [
            {"headers": {"X-HubSpot-Signature-Version": "v1"}, "params": {}, "query": {}, "body": call, "webhookUrl": "https://n8n.example"}
        ],
        lambda call: {"headers": {}, "query": {}, "body": call},
        lambda call: {"data": call},
    ],
    ids=["n8n", "envelope", "data"],
)
def test_hubspot__is_recognised_inside_a_relay_envelope(wrapped: Any, adapters: Adapters) -> None:
    call = [hubspot(propertyName="firstname", propertyValue="Ada")]

    assert adapters.translate(request(wrapped(call))) == adapters.translate(request(call))


def test_relay_list__is_read_item_by_item(adapters: Adapters) -> None:
    body = {"SdkMessage": "Update", "ItemInternalId": "c", "contactid": "c-1", "emailaddress1": "a@b.co"}

    told = adapters.translate(request([body, {**body, "contactid": "c-2"}]))

    assert (told.tool, [event.object_id for event in told.events]) == ("dynamics365", ["c-1", "c-2"])


def test_status_property__is_declared_in_one_place() -> None:
    class ByTier(Pipedrive):
        status: ClassVar[Mapping[str, tuple[str, ...]]] = {"contact": ("tier",), "company": ()}

    meta = {"version": "2.0", "entity": "person", "action": "change", "entity_id": "1", "id": "e"}
    call = parse(request({"meta": meta, "data": {"id": 1, "tier": "gold", "label": 3}, "previous": {"tier": None, "label": 2}}))

    events = ByTier().translate(call)

    assert [(event.event, event.status) for event in events] == [("contact.updated", None), ("contact.status_changed", "gold")]


def test_salesforce_session_id__is_in_no_event() -> None:
    body = outbound("<Id>0031</Id><Email>a@b.co</Email>", before="<SessionId>00D!secret.login</SessionId>")

    events = SALESFORCE.translate(parse(request(body)))

    assert [event.object_id for event in events] == ["0031"]
    assert "secret" not in repr(events)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_salesforce_xml__with_entities_is_unrecognised_in_any_encoding(encoding: str) -> None:
    bomb = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    body = outbound("<Id>&b;</Id>", declared=bomb).decode().replace("UTF-8", encoding.upper()).encode(encoding)

    assert [event.event for event in SALESFORCE.translate(parse(request(body)))] == ["unrecognised"]


def test_company_shape__takes_no_email_address() -> None:
    shape = RecordShape(COMPANY, email=("mail",), domain=("site",), company=("name",))

    (event,) = CrmItem(
        shape, CREATED, "company", "1", record={"mail": "info@example.com", "site": "example.com", "name": "Example"}
    ).events()

    assert (event.email, event.domain, event.name, event.fields) == (None, "example.com", "Example", {"name": "Example"})


def test_capsule_task__is_not_read_as_its_party(adapters: Adapters) -> None:
    task = {"id": 493, "description": "Call", "party": {"id": 4483, "type": "organisation", "name": "Quist Oy"}}

    assert adapters.recognise(parse(request(task))) == []


@pytest.mark.parametrize(
    ("now", "before", "fields"),
    [
        ("Ada", "Ada Lace", {"first_name": "Ada", "last_name": None}),
        ("Ada", NOT_SENT, {"first_name": "Ada"}),
        ("", "Ada Lace", {"first_name": None, "last_name": None}),
        ("ada@example.com", "Ada Lace", {}),
    ],
)
def test_changed_full_name__clears_the_missing_part(now: str, before: object, fields: dict[str, str | None]) -> None:
    (event,) = CrmItem(PERSON, UPDATED, "person", "1", record={"name": now}, changed={"name": (now, before)}).events()

    assert event.fields == fields


def test_emptied_object_value__clears_the_field() -> None:
    changed = {"last": ({"value": ""}, "Lace"), "tier": ([{"label": "kind", "value": "", "primary": True}], ["gold"])}

    (event,) = CrmItem(PERSON, UPDATED, "person", "1", changed=changed).events()

    assert (event.fields, event.custom) == ({"last_name": None}, {"tier": None})


def test_list_choice__is_a_custom_field_and_bare_numbers_are_not() -> None:
    changed = {
        "tier": (["A", {"id": 2, "label": "B"}], NOT_SENT),
        "employer": ({"id": "4", "name": "Orbit"}, NOT_SENT),
        "members": ([1, 2], NOT_SENT),
    }

    (event,) = CrmItem(PERSON, UPDATED, "person", "1", changed=changed).events()

    assert event.custom == {"tier": "A, B", "employer": "Orbit"}

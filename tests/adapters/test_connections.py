"""What a client has decided about a connected tool, in what its calls mean."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from touchbase.adapters.interface import ParsedWebhook, WebhookRequest
from touchbase.adapters.registry import Adapters, load_adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.errors import UnrecognisedPayload
from touchbase.history.dedupe_keys import event_key
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event, Translation, effect_of, status_word
from touchbase.history.status import STATUS

ADAPTERS = load_adapters()
AT = "2026-11-20T09:30:00Z"


def connected(tool: str, channel: str = CRM, **settings: Any) -> Connection:
    return Connection(1, channel, tool, 0, 0, [], ConnectionSettings(**settings))


def told(
    body: object, *connections: Connection, channel: str = CRM, tool: str | None = None, query: str = "", **headers: str
) -> Translation:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ADAPTERS.translate(WebhookRequest(channel, named, query, data, tool, connections))


def statuses(translation: Translation) -> list[tuple[str, str | None]]:
    return [(event.event, event.status) for event in translation.events if event.event.endswith("status_changed")]


def hubspot(name: str, value: str) -> list[dict[str, Any]]:
    return [
        {"subscriptionType": "contact.propertyChange", "eventId": 5, "portalId": 1, "objectId": 9, "propertyName": name,
         "propertyValue": value, "occurredAt": 1_790_000_000_000}
    ]  # fmt: skip


# Which property is the status.


def test_status_property__replaces_the_default_properties() -> None:
    ours = connected("hubspot", status_property={"contact": "sales_stage"})

    assert statuses(told(hubspot("sales_stage", "Warm"), ours)) == [("contact.status_changed", "Warm")]
    assert statuses(told(hubspot("lifecyclestage", "lead"), ours)) == []
    assert statuses(told(hubspot("lifecyclestage", "lead"))) == [("contact.status_changed", "lead")]


def test_status_property__null_disables_the_status() -> None:
    none = connected("hubspot", status_property={"contact": None})

    assert statuses(told(hubspot("lifecyclestage", "lead"), none)) == []


def test_status_property__may_differ_by_the_crm_object_type() -> None:
    def created(object_type: str) -> dict[str, Any]:
        return {"attributes": {"type": object_type}, "Id": "1", "Email": "a@example.com", "Status": "Open", "Stage__c": "Hot"}

    ours = connected("salesforce", status_property={"Lead": "Stage__c"})

    assert statuses(told(created("Lead"), ours)) == [("contact.status_changed", "Hot")]
    assert statuses(told(created("Contact"), ours)) == [("contact.status_changed", "Open")]


CHANGED_STATUS: dict[str, Any] = {
    "activecampaign": {"type": "update", "initiated_from": "x", "contact": {"id": "1", "email": "a@b.co", "fields": {"stage": "Hot"}}},
    "affinity": {
        "type": "field_value.updated", "sent_at": 1_790_000_000,
        "body": {"id": 1, "field_id": 44, "entity": {"id": 3, "type": 0}, "value": {"text": "Hot"}},
    },
    "capsule": {
        "event": "party/updated",
        "payload": [{"type": "person", "id": 1, "fields": [{"definition": {"name": "Stage"}, "value": "Hot"}]}],
    },
    "close": {
        "subscription_id": "whsub_1",
        "event": {"object_type": "contact", "action": "updated", "object_id": "c1", "data": {"custom": {"Stage": "Hot"}},
                  "changed_fields": ["custom.Stage"]},
    },
    "copper": {"subscription_id": 1, "ids": [1], "type": "person", "event": "update",
               "updated_attributes": {"contact_type": ["Cold", "Hot"]}},
    "dynamics365": {
        "MessageName": "Update", "PrimaryEntityName": "contact", "PrimaryEntityId": "g",
        "InputParameters": [{"key": "Target", "value": {"Attributes": [{"key": "new_stage", "value": "Hot"}]}}],
    },
    "folk": {
        "type": "person.updated", "source": "https://api.folk.app/v1", "createdAt": AT,
        "data": {"id": "per_1", "changes": [{"path": ["customFieldValues", "grp", "Stage"], "type": "set", "value": "Hot"}]},
    },
    "gohighlevel": {
        "type": "ContactUpdate", "locationId": "l", "id": "1", "email": "a@example.com", "customFields": [{"id": "f1", "value": "Hot"}],
    },
    "insightly": {"entity": {"CONTACT_ID": 1, "DATE_UPDATED_UTC": AT, "CUSTOMFIELDS": [{"FIELD_NAME": "Stage__c", "FIELD_VALUE": "Hot"}]}},
    "intercom": {
        "type": "notification_event", "topic": "contact.created",
        "data": {"item": {"id": "1", "email": "a@example.com", "custom_attributes": {"stage": "Hot"}}},
    },
    "kommo": {
        "account": {"subdomain": "ours"},
        "contacts": {"update": [{"id": "1", "type": "contact", "custom_fields": [{"name": "Stage", "values": [{"value": "Hot"}]}]}]},
    },
    "monday": {
        "event": {"type": "update_column_value", "boardId": 1, "pulseId": 2, "columnId": "text_1", "columnType": "text",
                  "columnTitle": "Stage", "value": {"value": "Hot"}}
    },
    "odoo": {"_model": "res.partner", "_id": 1, "email": "a@example.com", "x_stage": "Hot"},
    "outreach": {
        "meta": {"eventName": "prospect.updated"}, "data": {"type": "prospect", "id": 1, "attributes": {"custom3": "Hot"}},
    },
    "pipedrive": {
        "meta": {"version": "2.0", "action": "change", "entity": "person", "entity_id": "1"},
        "data": {"id": 1, "custom_fields": {"a1b2": {"type": "text", "value": "Hot"}}}, "previous": {"custom_fields": {"a1b2": None}},
    },
    "salesforce": {
        "ChangeEventHeader": {"entityName": "Contact", "changeType": "UPDATE", "recordIds": ["1"], "changedFields": ["Stage__c"]},
        "Stage__c": "Hot",
    },
    "streak": {"event": "CONTACT_EDIT", "contact": {"key": "1", "stage": "Hot"}},
    "twenty": {"eventName": "person.updated", "record": {"id": "1", "stage": "Hot"}, "updatedFields": ["stage"], "workspaceId": "w"},
    "zoho": {
        "module": "Contacts", "operation": "update", "ids": ["1"], "channel_id": "1",
        "affected_values": [{"record_id": "1", "values": {"Stage": "Hot"}}],
    },
    "generic": {"event": "contact.updated", "data": {"id": 1, "email": "a@example.com", "funnel": "Hot"}},
}  # fmt: skip
NAMED = {
    "activecampaign": "fields.stage", "affinity": "44", "capsule": "Stage", "close": "custom.Stage", "copper": "contact_type",
    "dynamics365": "new_stage", "folk": "Stage", "gohighlevel": "f1", "insightly": "Stage__c", "intercom": "custom_attributes.stage",
    "kommo": "Stage", "monday": "text_1", "odoo": "x_stage", "outreach": "custom3", "pipedrive": "a1b2", "salesforce": "Stage__c",
    "streak": "stage", "twenty": "stage", "zoho": "Stage", "generic": "funnel",
}  # fmt: skip


@pytest.mark.parametrize("tool", CHANGED_STATUS)
def test_status_property__works_for_every_crm(tool: str) -> None:
    translation = told(CHANGED_STATUS[tool], connected(tool, status_property={"contact": NAMED[tool]}))

    assert translation.tool == tool
    assert statuses(translation) == [("contact.status_changed", "Hot")]
    assert statuses(told(CHANGED_STATUS[tool])) == []


@pytest.mark.parametrize(
    ("field", "status"),
    [
        ({"type": "enum", "id": 33}, "33"),
        ({"type": "set", "values": [{"id": 1}, {"id": 2}]}, "1, 2"),
        ({"type": "varchar", "value": "Hot"}, "Hot"),
    ],
)
@pytest.mark.parametrize("previous", [None, {"custom_fields": {"abc": None}}])
def test_status_property__of_pipedrive_may_be_a_custom_field(field: object, status: str, previous: object) -> None:
    body = {
        "meta": {"version": "2.0", "action": "change" if previous else "create", "entity": "person", "entity_id": "7"},
        "data": {"id": 7, "custom_fields": {"abc": field}}, "previous": previous,
    }  # fmt: skip

    assert statuses(told(body, connected("pipedrive", status_property={"contact": "abc"}))) == [("contact.status_changed", status)]


def test_status_property__of_monday_may_be_the_group() -> None:
    moved = {"event": {"type": "move_pulse_into_group", "boardId": 1, "pulseId": 2, "destGroup": {"title": "Won"}}}

    assert statuses(told(moved, connected("monday", status_property={"contact": "group"}))) == [("contact.status_changed", "Won")]
    assert statuses(told(moved)) == []


# The client's words.


def labelled(label: str) -> dict[str, Any]:
    return {"event_type": "LEAD_CATEGORY_UPDATED", "sl_lead_email": "a@example.com", "lead_category": {"new_name": label}}


def test_status_labels__map_a_label_in_any_case() -> None:
    ours = connected("smartlead", EMAIL_CAMPAIGN, status_labels={"Information Request": "nurture", "meeting_booked": "Demo"})

    def given(label: str) -> list[tuple[str, str | None]]:
        return statuses(told(labelled(label), ours, channel=EMAIL_CAMPAIGN))

    assert given("information request") == [("lead_status_changed", "nurture")]
    assert given("Meeting Booked") == [("lead_status_changed", "Demo")]
    assert given("Interested") == [("lead_status_changed", "interested")]
    assert given("Hot") == [("lead_status_changed", "custom:Hot")]


def test_status_labels__prefer_the_tools_label_over_the_shared_status() -> None:
    ours = connected("smartlead", EMAIL_CAMPAIGN, status_labels={"Positive reply": "warm", "interested": "hot"})

    assert statuses(told(labelled("Positive Reply"), ours, channel=EMAIL_CAMPAIGN)) == [("lead_status_changed", "warm")]
    assert statuses(told(labelled("Interested"), ours, channel=EMAIL_CAMPAIGN)) == [("lead_status_changed", "hot")]


def test_status_labels__of_an_unknown_tool_prefer_its_own_label() -> None:
    ours = connected("generic", EMAIL_CAMPAIGN, status_labels={"Positive reply": "warm"})
    body = {"event": "lead.status_changed", "email": "a@example.com", "status": {"id": 3, "name": "Positive Reply"}}

    assert statuses(told(body, ours, channel=EMAIL_CAMPAIGN)) == [("lead_status_changed", "warm")]


def test_status_labels__map_a_label_that_is_an_event_name() -> None:
    body = {"event_type": "Ghosted us", "lead_email": "a@example.com", "email_account": "b@example.net", "unibox_url": "x"}
    ours = connected("instantly", EMAIL_CAMPAIGN, status_labels={"ghosted US": "silent"})

    assert statuses(told(body, ours, channel=EMAIL_CAMPAIGN)) == [("lead_status_changed", "silent")]


def test_status_labels__null_leaves_the_status_and_records_the_change() -> None:
    ours = connected("hubspot", status_labels={"Other": None})

    (event,) = told(hubspot("lifecyclestage", "other"), ours).events

    assert (event.event, event.status) == ("contact.updated", None)
    assert [(change.property, change.value) for change in event.changed] == [("lifecyclestage", "other")]


def test_status_labels__null_for_a_lead_label_gives_other() -> None:
    ours = connected("smartlead", EMAIL_CAMPAIGN, status_labels={"Interested": None})

    assert [event.event for event in told(labelled("interested"), ours, channel=EMAIL_CAMPAIGN).events] == ["other"]


def test_status_labels__do_not_change_the_event_key() -> None:
    ours = connected("smartlead", EMAIL_CAMPAIGN, status_labels={"Hot": "warm"})

    (plain,) = told(labelled("Hot"), channel=EMAIL_CAMPAIGN).events
    (reworded,) = told(labelled("Hot"), ours, channel=EMAIL_CAMPAIGN).events

    assert plain.status != reworded.status
    assert event_key("smartlead", plain, "1") == event_key("smartlead", reworded, "1")


def test_connection_settings__apply_to_their_tool_and_channel_only() -> None:
    others = [connected("smartlead", CRM, status_labels={"Hot": "x"}), connected("instantly", EMAIL_CAMPAIGN, status_labels={"Hot": "x"})]

    assert statuses(told(labelled("Hot"), *others, channel=EMAIL_CAMPAIGN)) == [("lead_status_changed", "custom:Hot")]


# Which object is which.


def test_objects_setting__maps_attio_objects() -> None:
    def event(object_id: str) -> dict[str, Any]:
        ids = {"workspace_id": "w", "object_id": object_id, "record_id": "r"}
        return {"webhook_id": "h", "events": [{"event_type": "record.created", "id": ids}]}

    ours = connected("attio", objects={"people-uuid": "contact", "firms-uuid": "company", "deals-uuid": "ignore"})

    names = [told(event(f"{name}-uuid"), ours).events[0].event for name in ("people", "firms", "deals", "other")]
    assert names == ["contact.created", "company.created", "ignored", "unrecognised"]


def test_objects_setting__maps_monday_boards() -> None:
    def event(board: int) -> dict[str, Any]:
        return {"event": {"type": "create_pulse", "boardId": board, "pulseId": 2, "pulseName": "Ann"}}

    ours = connected("monday", objects={"1": "company", "2": "ignore"})

    assert [told(event(board), ours).events[0].event for board in (1, 2, 3)] == ["company.created", "ignored", "contact.created"]


def test_objects_setting__maps_an_espocrm_webhook_by_the_id_in_its_signature() -> None:
    signature = base64.b64encode(b"64f0c1d2e3f4a5b6c:" + b"0" * 64).decode()
    ours = connected("espocrm", objects={"64f0c1d2e3f4a5b6c": "Account.delete"})

    (event,) = told([{"id": "a1"}], ours, signature=signature).events

    assert (event.event, event.object_id) == ("company.deleted", "a1")


def test_objects_setting__maps_a_hubspot_custom_object_to_contacts() -> None:
    body = [{"subscriptionType": "object.creation", "objectTypeId": "2-17", "objectId": 5, "portalId": 1, "eventId": 8}]

    (event,) = told(body, connected("hubspot", objects={"2-17": "contact"})).events

    assert (event.event, event.object_type, event.object_id) == ("contact.created", "2-17", "5")
    assert told(body).events[0].event == "ignored"


def test_objects_setting__ignores_any_object_type() -> None:
    body = {"attributes": {"type": "Lead"}, "Id": "1", "Email": "a@example.com"}

    assert {event.event for event in told(body, connected("salesforce", objects={"Lead": "ignore"})).events} == {"ignored"}


# Deals.


DEALS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "pipedrive": (
        {"meta": {"version": "2.0", "action": "change", "entity": "deal", "entity_id": "1", "id": "m"},
         "data": {"id": 1, "status": "won", "stage_id": 3, "person_id": 7, "org_id": 8}, "previous": {"status": "open"}},
        [("contact.status_changed", "7"), ("company.status_changed", "8")],
    ),
    "pipedrive, version 1": (
        {"v": 1, "event": "updated.deal", "meta": {"object": "deal", "id": 1}, "current": {"status": "won", "person_id": {"value": 7}},
         "previous": {"status": "open", "person_id": {"value": 7}}},
        [("contact.status_changed", "7")],
    ),
    "close": (
        {"subscription_id": "whsub_1", "event": {"object_type": "opportunity", "action": "updated", "object_id": "o", "id": "e",
         "data": {"lead_id": "l", "contact_id": "c", "status_label": "Won"}, "changed_fields": ["status_label"]}},
        [("contact.status_changed", "c"), ("company.status_changed", "l")],
    ),
    "gohighlevel": (
        {"type": "OpportunityStatusUpdate", "locationId": "x", "id": "o", "contactId": "c", "status": "won"},
        [("contact.status_changed", "c")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEALS)
def test_deals_set_status__applies_to_the_deals_contact_and_company(name: str) -> None:
    body, expected = DEALS[name]
    tool = name.partition(",")[0]
    ours = connected(tool, deals_set_status=True, deal_labels={"WON": "customer"})

    found = told(body, ours).events

    assert [(event.event, event.object_id) for event in found] == expected
    assert {event.status for event in found} == {"customer"}
    assert [event.event for event in told(body).events] == ["ignored"]
    assert [event.event for event in told(body, connected(tool, deal_labels={"won": "customer"})).events] == ["ignored"]


def test_deals_set_status__ignores_a_stage_without_a_label() -> None:
    body, _ = DEALS["pipedrive"]

    found = told(body, connected("pipedrive", deals_set_status=True, deal_labels={"lost": "lost"}))

    assert [event.event for event in found.events] == ["ignored"]


def test_deals_set_status__ignores_a_deal_change_outside_the_stage() -> None:
    body = {**DEALS["pipedrive"][0], "previous": {"title": "before"}}

    found = told(body, connected("pipedrive", deals_set_status=True, deal_labels={"won": "customer"}))

    assert [event.event for event in found.events] == ["ignored"]


# A CRM of one's own.

FIELDS = {
    "event": "meta.kind", "object_type": "meta.table", "id": "data.person.key", "email": "data.person.mail", "status": "data.stage.0.label",
    "occurred_at": "meta.when", "first_name": "data.person.given name", "last_name": "data.person.family",
}  # fmt: skip
OWN = {
    "meta": {"kind": "CHANGED", "table": "tbl_people", "when": AT},
    "data": {"person": {"key": 7, "mail": "Ann@Example.com", "given name": "Ann", "family": "Lee"}, "stage": [{"label": "Hot"}]},
}


def test_fields_setting__reads_a_body_of_an_unknown_tool() -> None:
    head, status = told(OWN, connected("generic", fields=FIELDS)).events

    assert (head.event, head.email, head.object_type, head.object_id) == ("contact.updated", "ann@example.com", "tbl_people", "7")
    assert (head.fields, head.source_event) == ({"first_name": "Ann", "last_name": "Lee"}, "CHANGED")
    assert (status.event, status.status, head.occurred_us) == ("contact.status_changed", "Hot", status.occurred_us)
    assert head.occurred_us is not None


def test_fields_setting__combines_with_the_objects_setting() -> None:
    company = {"meta": {"kind": "deleted", "table": "t1"}, "data": {"person": {"key": 7}, "site": "https://www.example.com"}}
    fields = {**FIELDS, "domain": "data.site"}
    ours = connected("generic", fields=fields, objects={"t1": "company", "t2": "ignore"})

    assert [(event.event, event.object_id) for event in told(company, ours).events] == [("company.deleted", "7")]
    assert [event.event for event in told({**company, "meta": {"table": "t2"}}, ours).events] == ["ignored"]


def test_fields_setting__reads_every_item_of_a_list() -> None:
    found = told([OWN, OWN, {"meta": {}}], connected("generic", fields={"email": "data.person.mail"})).events

    assert [event.event for event in found] == ["contact.updated", "contact.updated", "unrecognised"]


def test_fields_setting__applies_only_when_no_other_tool_recognises_the_webhook() -> None:
    ours = [connected("hubspot"), connected("generic", fields=FIELDS)]

    assert told(OWN, *ours).tool == "generic"
    assert told(hubspot("email", "a@example.com"), *ours).tool == "hubspot"


@pytest.mark.parametrize("path", ["a", "data.person", "data.person.mail.x", "data.stage.7", "data.stage.x", "meta.0"])
def test_fields_setting__finds_nothing_under_a_wrong_path(path: str) -> None:
    with pytest.raises(UnrecognisedPayload):
        told(OWN, connected("generic", fields={"email": path}), tool="generic")


# Which tool it is.

VAGUE = {"event": "sent", "email": "a@example.com"}


def test_tool_detection__falls_back_to_the_only_connected_tool() -> None:
    assert told(VAGUE, channel=EMAIL_CAMPAIGN).tool == "generic"
    assert told(VAGUE, connected("brevo", EMAIL_CAMPAIGN), channel=EMAIL_CAMPAIGN).tool == "brevo"


def test_tool_detection__guesses_neither_of_two_connected_tools() -> None:
    both = [connected("brevo", EMAIL_CAMPAIGN), connected("smartlead", EMAIL_CAMPAIGN)]

    assert told(VAGUE, *both, channel=EMAIL_CAMPAIGN).tool == "generic"


def test_tool_detection__never_guesses_a_tool_of_the_other_channel() -> None:
    assert told(VAGUE, connected("hubspot", CRM), channel=EMAIL_CAMPAIGN).tool == "generic"


def test_tool_detection__prefers_a_confident_match_over_the_connected_tool() -> None:
    body = {**labelled("Hot"), "event_type": "EMAIL_SENT"}

    assert told(body, connected("instantly", EMAIL_CAMPAIGN), channel=EMAIL_CAMPAIGN).tool == "smartlead"


def test_named_tool__is_used_without_guessing() -> None:
    assert told(VAGUE, tool="brevo", channel=EMAIL_CAMPAIGN).tool == "brevo"
    with pytest.raises(UnrecognisedPayload, match="configured in another tool"):
        told({"type": "person.created", "id": 7}, tool="hubspot")


@pytest.mark.parametrize(("settings", "expected"), [({}, None), ({"create_unknown": False}, False), ({"create_unknown": True}, True)])
def test_create_unknown__is_carried_by_the_translation(settings: dict[str, bool], expected: bool | None) -> None:
    assert told(labelled("Hot"), connected("smartlead", EMAIL_CAMPAIGN, **settings), channel=EMAIL_CAMPAIGN).create_unknown is expected


class Stub:
    """An adapter that is as sure as it is told, of any call."""

    channel, detection_keys = EMAIL_CAMPAIGN, frozenset[str]()

    def __init__(self, tool: str, confidence: int) -> None:
        self.tool, self.confidence = tool, confidence

    def recognise(self, call: ParsedWebhook) -> int:
        return self.confidence

    def translate(self, call: ParsedWebhook) -> list[Event]:
        return [Event("other")]


@pytest.mark.parametrize(("of_other", "of_connected", "reads"), [(80, 30, "other"), (79, 30, "only"), (79, 0, "other"), (50, 0, "other")])
def test_tool_detection__prefers_the_connected_tool_below_confidence_80(of_other: int, of_connected: int, reads: str) -> None:
    adapters = Adapters([Stub("other", of_other), Stub("only", of_connected)])

    found = adapters.translate(WebhookRequest(EMAIL_CAMPAIGN, {}, "", b'{"a": 1}', None, [connected("only", EMAIL_CAMPAIGN)]))

    assert found.tool == reads


@pytest.mark.parametrize(
    ("tool", "setting", "kind"),
    [("instantly", None, "hard"), ("instantly", False, "unknown"), ("generic", None, "unknown"), ("generic", True, "hard")],
)
def test_bounce_without_a_type__is_hard_by_the_setting_or_where_the_tool_stops_the_lead(tool: str, setting: bool | None, kind: str) -> None:
    body = {"event_type": "email_bounced", "lead_email": "ann@example.com", "email_account": "sam@example.net", "workspace": "w",
            "campaign_id": "c", "timestamp": "2026-11-20T09:30:00Z"}  # fmt: skip

    translation = told(body, connected(tool, "email_campaign", unknown_bounces=setting), channel="email_campaign", tool=tool)

    assert [(event.event, event.kind) for event in translation.events] == [("email_bounced", kind)]


# Meetings.


@pytest.mark.parametrize(
    ("labels", "event", "status"),
    [
        ({}, "meeting_booked", "meeting_booked"),
        ({}, "meeting_no_show", "no_show"),
        ({}, "meeting_canceled", None),
        ({}, "meeting_rescheduled", None),
        ({"meeting_canceled": "Call off"}, "meeting_canceled", "Call off"),
        ({"moved it": "Call moved"}, "meeting_rescheduled", "Call moved"),
        ({"meeting_booked": None}, "meeting_booked", None),
        ({"no_show": "Missed"}, "meeting_no_show", "Missed"),
    ],
)
def test_meeting__sets_the_clients_status_or_its_own(labels: dict[str, str | None], event: str, status: str | None) -> None:
    own = connected("generic", EMAIL_CAMPAIGN, events={"moved it": event}, status_labels=labels)

    (meeting,) = told({"event": "moved it", "email": "l@example.com", "timestamp": AT}, own, channel=EMAIL_CAMPAIGN, tool="generic").events

    assert meeting.event == event
    assert (effect_of(meeting), status_word(meeting, effect_of(meeting))) == (STATUS if status else "", status)


def test_events_setting__says_what_an_event_of_a_crm_means() -> None:
    fields = {"event": "meta.kind", "id": "data.person.key", "email": "data.person.mail", "custom.Plan": "data.plan"}
    names = {"P1": "contact.created", "gone": "contact.deleted", "out": "email_unsubscribed", "firm": "company.updated", "quiz": "ignored"}
    person = {"key": 7, "mail": "ann@example.com"}

    def events(kind: str) -> list[tuple[str, dict[str, str | None]]]:
        body = {"meta": {"kind": kind}, "data": {"person": person, "plan": "Gold"}}
        return [(event.event, event.custom) for event in told(body, connected("generic", fields=fields, events=names)).events]

    assert events("p1") == [("contact.created", {"Plan": "Gold"})]
    assert events("gone") == [("contact.deleted", {})]
    assert events("out") == [("contact.updated", {"Plan": "Gold"}), ("email_unsubscribed", {})]
    assert events("firm") == [("company.updated", {"Plan": "Gold"})]
    assert events("quiz") == [("ignored", {})]
    assert events("person.changed") == [("contact.updated", {"Plan": "Gold"})]
    with pytest.raises(UnrecognisedPayload):
        told({"meta": {"kind": "out"}}, connected("generic", fields=fields, events=names))

"""The walk: every route of the OpenAPI page with everything of A, in B's hands.

Routes come from the page. One with a parameter, a filter or a body that is not known here makes `requests_of` fail:
then say below what of A's belongs there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from urllib.parse import urlencode

from tests.inbox.refused import DIGEST
from tests.isolation import world as w
from tests.isolation.world import Request, Side, World

from touchbase.http.schemas import ENUMS
from touchbase.revyops.api.schemas import field_id
from touchbase.routes import description

METHODS = ("get", "head", "post", "put", "patch", "delete")
LISTS = (
    "/public/v2/contacts", "/public/v2/companies", "/admin/v1/deliveries", "/admin/v1/deliveries?text=zq",
    "/admin/v1/refusals", "/admin/v1/clients", "/admin/v1/keys",
    "/public/v2/contacts/deleted", "/public/v2/companies/deleted",
    "/public/v2/contacts?updated_since=2000-01-01T00:00:00Z", "/public/v2/companies?updated_since=2000-01-01T00:00:00Z",
    "/public/v2/suppressions", "/public/v2/webhook-endpoints", "/public/v2/webhook-attempts", "/public/v2/messages", "/public/v2/erasures",
    "/team/v1/events", "/team/v1/messages",
    "/team/v1/conversations", "/team/v1/audit-events",
    "/public/v2/jobs", "/public/v2/statuses/contacts", "/public/v2/custom-fields/contacts", "/admin/v1/contacts", "/admin/v1/companies",
)  # fmt: skip
RECEIVERS = ("/public/emailcampaign-webhook/{client_id}", "/public/crm-webhook/{client_id}")


@dataclass
class Known:
    """What B may have got to know of A: its ids, its cursors, its tags, the ids of its keys."""

    contacts: list[int] = field(default_factory=list)
    companies: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    cursors: list[str] = field(default_factory=list)
    etags: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    merges: list[int] = field(default_factory=list)
    notes: list[int] = field(default_factory=list)
    tasks: list[int] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    """Of the attention list."""
    endpoints: list[int] = field(default_factory=list)
    fields: list[int] = field(default_factory=list)
    listed: list[tuple[str, str]] = field(default_factory=list)
    """Kinds and values of entries."""
    announced: list[tuple[int, int]] = field(default_factory=list)
    """Endpoints and the entries of the installation's list that they were told of."""

    @property
    def ids(self) -> list[int]:
        return [*self.contacts, *self.companies, *self.others]


async def known_of(world: World, a: Side) -> Known:
    """Look at A through its own eyes."""
    rows = {name: [row[0] for row in await world.execute_sql(f"SELECT id FROM {name} WHERE client = ? ORDER BY id", a.number)]
            for name in ("contact", "company", "delivery", "erasure", "link", "custom_field",
                         "record_merge", "suppression", "job", "webhook_endpoint", "webhook_attempt", "message", "note",
                         "task", "change")}  # fmt: skip
    others = rows["delivery"] + rows["erasure"] + rows["suppression"] + rows["job"] + rows["link"][:1] + rows["custom_field"][:1]
    created = Known(rows["contact"], rows["company"], others)
    created.others += rows["webhook_endpoint"] + rows["webhook_attempt"] + rows["message"]
    created.endpoints = rows["webhook_endpoint"]
    created.merges, created.notes = rows["record_merge"], rows["note"]
    created.tasks, created.changes = rows["task"], rows["change"]
    listed = await world.execute_sql("SELECT kind, value FROM suppression WHERE client = ? ORDER BY id", a.number)
    created.listed = [(kind, value) for kind, value in listed]
    announced = await world.execute_sql("SELECT endpoint_id, suppression_id FROM announced_suppression WHERE client = ?", a.number)
    created.announced = [(endpoint, entry) for endpoint, entry in announced]
    created.fields = [*rows["custom_field"][:1], field_id(rows["message"][0], w.FIELD)]
    gone = await world.execute_sql("SELECT record_id FROM deleted_record WHERE client = ? AND record_kind = 1", a.number)
    created.others += [row[0] for row in gone]
    created.keys = [row[0] for row in await world.execute_sql("SELECT key_id FROM api_key WHERE client = ? ORDER BY key_id", a.number)]
    timelines = [f"/public/v2/contacts/{n}/timeline" for n in created.contacts] + [f"/public/v2/companies/{created.companies[0]}/timeline"]
    exports = [f"/public/v2/contacts/{n}/export" for n in created.contacts]
    for target in (*LISTS, *timelines, *exports):
        page = await a.sure("GET", f"{target}{'&' if '?' in target else '?'}limit=1")
        created.cursors += [page["next_cursor"]] if page["next_cursor"] else []
    replay = await a.sure("POST", "/admin/v1/deliveries/replay", {"state": "parked", "dry_run": True})
    assert replay["count"] == 2
    created.rules = [rule["id"] for rule in (await a.sure("GET", f"/admin/v1/clients/{a.client_id}/ignore-rules"))["data"]]
    created.items = [item["id"] for item in (await a.sure("GET", f"/team/v1/attention?client_id={a.client_id}"))["data"]][:2]
    created.etags = [(await a("GET", f"/public/v2/contacts/{created.contacts[0]}")).headers["etag"]]
    return created


def filters(owned: Known) -> dict[str, list[str]]:
    """What of A's may stand in a query, by parameter."""
    return {
        "email": [w.EMAIL, w.OTHER_EMAIL], "linkedin_url": [w.LINKEDIN], "contact_status": [w.STATUS, w.NEXT_STATUS],
        "company_id": [str(owned.companies[0])], "domain": [w.DOMAIN], "company_status": [w.COMPANY_STATUS], "external_id": [w.EXTERNAL_ID],
        "updated_since": ["2000-01-01T00:00:00Z"], "received_since": ["2000-01-01T00:00:00Z"],
        "received_until": ["2030-01-01T00:00:00Z"], "contact_id": [str(contact) for contact in owned.contacts[:2]], "text": ["zq", w.EMAIL],
        "event": ["email_sent", "email_replied"], "client": [w.CLIENT_A, w.FORMER_A], "client_id": [w.CLIENT_A, w.FORMER_A],
        "assignee": ["nobody", w.USER.id], "assignee_id": ["none", w.USER.id], "due_before": ["2030-01-01T00:00:00Z"],
        "actor_id": [w.USER.id],
        "tool": ["hubspot", "instantly"], "cursor": owned.cursors, "limit": ["1", "200"], "name": [w.NAME], "confirm": [w.CLIENT_A],
        "as_of": ["2026-11-20T09:30:00Z"], "field": ["contact_status", f"cf.{w.FIELD}"],
        "at": ["0.5", "1"], "cut": ["50"], "sort": ["-updated_time"], "q": ["zq021firstqz", "zq", w.DOMAIN], "fields": ["id"],
        "min_score": ["0"], "after": ["evt_0", "evt_3", "latest", "oldest"], "types": ["contact.*"], "wait": ["0"],
        "match": ["email", "linkedin_url", "domain", "external_id"],
        "value": [w.EMAIL, w.DOMAIN], "contact_email": [w.EMAIL], "campaign_id": ["7"], "mailbox": [w.EMAIL],
        "subject": [w.SUBJECT], "origin": ["api"],
        "page": ["1", "2"], "page_size": ["1", "100"], "firstname": ["zq021firstqz"], "lastname": ["zq024lastqz"], "industry": [w.OPTION],
        "field_name": [w.FIELD], "field_value": [w.OPTION],
        "values": ["delete"], "misfits": ["keep"],
        "since": ["2025-04-01"], "until": ["2026-11-21"], "time_zone": ["Europe/Berlin"],
        "group_by": ["campaign,week", "tool", "step", "label,day"], "compare": ["previous"],
        "endpoint": [str(endpoint) for endpoint in owned.endpoints], "outcome": ["refused"],
        "kind": ["contacts.import"], "mapping": [w.MAPPING], "delimiter": [","], "encoding": ["utf-8"], "sheet": ["A"],
        "header_row": ["1"], "file_name": ["zq.csv"], "job_id": [str(owned.others[-1])], "user_id": [w.USER.id], "waiting_hours": ["1"],
    }  # fmt: skip


def searches(owned: Known) -> list[dict[str, Any]]:
    """What of A's may stand in the filters of a search."""
    return [
        {"id[in]": ",".join(map(str, owned.ids))}, {"email[contains]": "zq"}, {"last_name": "zq024lastqz"}, {f"cf.{w.FIELD}": w.OPTION},
        {"company.domain": w.DOMAIN}, {f"company.cf.{w.OWN_FIELD}[contains]": "zq"}, {"company_id[gte]": "1"}, {"created_time[lt]": "1m"},
        {"counted": "replied;label="}, {"counted": "mailed_replied;tool=instantly;step="},
        {"contact_status[in]": f"{w.STATUS},{w.NEXT_STATUS}"}, {"domain[starts_with]": "zq"}, {"name[contains]": "zq"},
    ]  # fmt: skip


def headers(owned: Known) -> dict[str, list[str]]:
    """What of A's may stand in a header."""
    return {
        "X-Client-Id": [w.CLIENT_A, w.FORMER_A, "nobody"],
        "If-Match": owned.etags,
        "If-None-Match": owned.etags,
        "Last-Event-ID": ["evt_1"],
        "Prefer": ["count=exact", "count=estimated", "handling=strict"],
        "Idempotency-Key": [w.IDEMPOTENCY_KEY, w.ADMINISTRATORS],
    }


def bodies(owned: Known) -> dict[str, list[Any]]:
    """What of A's may stand in a body, by its schema."""
    company = owned.companies[0]
    custom = [{"field_name": w.FIELD, "field_value": w.OPTION}]
    contact = {"email": w.EMAIL, "linkedin_url": w.LINKEDIN, "contact_custom_fields_input": custom, "contact_status": w.STATUS}
    changes = [{"company_id": company}, contact, {"company_id": w.DOMAIN}, {}]
    return {
        "ContactRequest": [{"company_id": company}, {"email": w.EMAIL}, {"linkedin_url": w.LINKEDIN}, {"email": w.OTHER_EMAIL}, contact,
                           {"email": w.GONE_EMAIL}, {"external_id": w.EXTERNAL_ID}],
        "ContactChange": [*changes, {"external_id": w.EXTERNAL_ID}],
        "ContactBatch": [
            {"commands": [{"op": "create", "body": {"email": w.EMAIL}}, {"op": "upsert", "body": {"email": w.EMAIL, "company_id": company}},
                          {"op": "update", "id": owned.contacts[0], "body": contact}, {"op": "create", "body": {"company_id": w.DOMAIN}}]},
            {"commands": [{"op": "delete", "id": owned.contacts[0]}]},
        ],
        "CompanyBatch": [{"commands": [{"op": "upsert", "body": {"domain": w.DOMAIN}}, {"op": "update", "id": company, "body": {}}]}],
        "ContactMatchRequest": [
            {"items": [{"email": w.EMAIL}, {"linkedin_url": w.LINKEDIN}, {"email": w.GONE_EMAIL}, {"external_id": w.EXTERNAL_ID}]},
        ],
        "CompanyMatchRequest": [{"items": [{"domain": w.DOMAIN}, {"external_id": w.EXTERNAL_ID}]}],
        "CompanyRequest": [{"domain": w.DOMAIN}, {"domain": w.DOMAIN, "company_custom_fields": custom}],
        "CompanyChange": [{"domain": w.DOMAIN, "company_status": w.COMPANY_STATUS}, {"company_custom_fields": None}],
        "CustomFieldInput": custom,
        "WebhookEndpointRequest": [{"url": "https://b.example", "filter": {"contact": {"contact_status": w.STATUS}}}],
        "WebhookEndpointChange": [{"disabled": True}],
        "WebhookPreviewRequest": [{"kind": "webhook", "event": f"evt_{number}"} for number in (1, 2, 3)] + [{"event": "evt_1"}],
        "WebhookSecretRotation": [{}],
        "WebhookReplay": [{"event": "evt_1"}, {"missing_since": "2025-01-01T00:00:00Z"}, {"failed_since": "2025-01-01T00:00:00Z"}],
        "PushRetry": [{}, {"events": ["evt_1"]}],
        "CustomFieldValue": [{"field_value": w.OPTION}],
        "SearchBody": [
            *({"where": search} for search in searches(owned)), *({"where": {"not": search}, "q": "zq"} for search in searches(owned)[:2]),
            {"where": {"any": searches(owned)[:4]}, "sort": "email"}, *({"cursor": cursor} for cursor in owned.cursors),
        ],
        "MergeRequest": [{"with": owned.contacts[:1]}, {"with": owned.contacts[1:3], "survivorship": "newest", "dry_run": True},
                         {"with": owned.contacts[:1], "from_ids": {"email": owned.contacts[0], "cf.zq": owned.contacts[0]}}],
        "ReplayRequest": [
            {"client": w.CLIENT_A}, {"client": w.CLIENT_B, "like": owned.others[0], "dry_run": True}, {"tool": "hubspot"},
            {"state": "parked", "dry_run": True}, {"state": "unrecognised"}, {"received_since": "2000-01-01T00:00:00Z", "dry_run": True},
            *({"state": "applied", "cursor": cursor} for cursor in owned.cursors),
        ],
        "ClientRequest": [{"settings": {"create_unknown": False}}],
        "NewClient": [{"client_id": w.CLIENT_A}, {"client_id": w.FORMER_A}, {"name": w.NAME}],
        "ClientChange": [{"name": w.NAME}],
        "IdRotation": [{}, {"client_id": w.FORMER_A}, {"client_id": w.OTHER_B, "keep_old_seconds": 0}],
        "KeyRequest": [{"name": "of B"}, {"name": "of A", "client_id": w.CLIENT_A}, {"name": "of A", "client_id": w.FORMER_A}],
        "KeyRotation": [{}, {"keep_old_seconds": 0}],
        "ConnectionRequest": [{"channel": "crm", "tool": "hubspot", "secrets": [w.SECRET]}],
        "CustomFieldDefinition": [{"name": "of B"}],
        "CustomFieldUpdate": [{"name": "zq of B"}, {"type": "number"}],
        "CustomFieldMerge": [{"into": w.OWN_FIELD}],
        "ValueMerge": [{"values": [w.OPTION], "into": "zq of B"}],
        "StartImport": [{}, {"mapping_name": w.MAPPING}], "ReadAgain": [{}, {"delimiter": ","}],
        "": [None],
        "DistinctPairBody": [{"ids": owned.contacts[:2]}],
        "MappingRequest": [{"settings": {"status_labels": {"a": w.STATUS}}, "like": owned.others[0], "dry_run": True}],
        "ConnectionChange": [{"secrets": []}, {"settings": None}],
        "NewSuppressions": [{"value": w.EMAIL}, {"entries": [{"value": w.DOMAIN}, {"value": w.LINKEDIN}]}],
        "NewEmail": [{"email_type": "sent", "contact_id": owned.contacts[0]}, {"email_type": "reply", "contact_email": w.EMAIL}],
        "InterestedIn": [{"email": w.EMAIL, "subject": w.SUBJECT}],
        "NewMessage": [{"direction": "sent", "contact_id": owned.contacts[0]}, {"direction": "sent", "contact_email": w.EMAIL}],
        "Interest": [{}],
        "BlockContact": [{}, {"company": True}],
        "AttentionChange": [{"snoozed_until": "2027-01-01T00:00:00Z"}, {"snoozed_until": None}],
        "ChangeConversation": [{"state": "done"}, {"label": "later"}],
        "NewAnswer": [{"message_id": 1, "text": "of B"}],
        "TeamStatuses": [{"data": [{"name": w.STATUS}]}],
        "NewDraft": [{"text": "of B"}], "NewNote": [{"text": "of B"}], "NoteChange": [{"text": "of B"}],
        "NewTask": [{"text": "of B", "due_at": "2026-11-23T08:00:00Z"}], "TaskChange": [{"text": "of B"}, {"done": True}],
        "NewSnippet": [{"name": "of B", "text": "of B"}], "NewReportLink": [{"name": "of B"}],
        "SnippetChange": [{"text": "of B"}], "IgnoreRuleChange": [{"name": "of B"}],
        "NewView": [{"name": "of B", "kind": "contact", "visibility": "shared"}], "ViewChange": [{"name": "of B"}],
        "BlockConversations": [{"conversations": [{"client_id": w.CLIENT_A, "contact_id": owned.contacts[0]}], "block": {}}],
        "ChangeConversations": [
            {"conversations": [{"client_id": w.CLIENT_A, "contact_id": owned.contacts[0]}], "change": {"state": "done"}},
        ],
        "NewStatus": [{"name": w.STATUS}],
        "StatusChange": [{"name": w.NEXT_STATUS}],
        "StatusMerge": [{"into": w.NEXT_STATUS}],
        "UserPatch": [{"name": "of B"}, {"grants": [{"client_id": w.CLIENT_A, "role": "admin"}]}],
        "PersonalKeyRequest": [{"name": "of B", "client_id": w.CLIENT_A}],
        "PasswordRequest": [{"current": "a present one of A", "password": "another one of B"}],
        "InvitationRequest": [{"email": "b@b.example", "grants": [{"client_id": w.CLIENT_A, "role": "viewer"}]}],
        "SuppressionCheck": [{"items": [{"email": w.EMAIL, "linkedin_url": w.LINKEDIN}, {"domain": w.DOMAIN}]}],
    }  # fmt: skip


def requests_of(owned: Known) -> list[Request]:
    """Every call that B tries, in an order that is always the same."""
    page = description("1", keys_needed=True)
    # The time that has A's mails; with `since` of `parameters` it would be in days and weeks of B's report by status, which are A's dates.
    created = [Request("GET", "/public/v2/reports/campaigns?since=2025-02-20")]
    for path, item in page["paths"].items():
        for method in METHODS:
            if method in item:
                created += _operation(path, method, item, item[method], owned)
    return created


def _operation(path: str, method: str, item: Any, operation: Any, owned: Known) -> Iterator[Request]:
    if path in RECEIVERS:
        yield from _received(path, method)
        return
    parameters = [*item.get("parameters", ()), *operation.get("parameters", ())]
    queries, sent = _queries(parameters, owned), _headers(parameters, owned)
    offered = _bodies(operation, owned)
    for target in _targets(path, parameters, owned):
        # A status is a word that B's own contacts have too: that the responses are the same without A shows whose it is.
        foreign = target != path and not path.startswith("/public/v2/statuses/")
        for body in offered:
            yield Request(method.upper(), target, body, foreign=foreign)
        for query in queries:
            yield Request(method.upper(), f"{target}?{urlencode(query)}", offered[0], foreign=foreign)
        for header in sent:
            yield Request(method.upper(), target, offered[0], headers=(header,), foreign=foreign)
        if method == "get":
            yield Request("HEAD", target, foreign=foreign)


def _received(path: str, method: str) -> Iterator[Request]:
    """B's own address, with A's very calls: A's address is A's secret, and whoever knows it may send to it."""
    target = path.replace("{client_id}", w.CLIENT_B)
    if method == "post":
        channel = path.split("/")[2]
        yield from (Request("POST", f"{target}?hint=zq027queryqz", raw=raw) for name, raw in w.calls("zq026campaignqz") if name == channel)
    else:
        yield Request(method.upper(), target)


def _targets(path: str, parameters: list[Any], owned: Known) -> Iterator[str]:
    names = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]
    values: dict[str, list[Any]] = {
        "id": owned.ids, "merge_id": owned.merges, "other_id": owned.ids[1:2],
        "client_id": [w.CLIENT_A, w.FORMER_A], "key_id": owned.keys, "link_id": owned.keys,
        "channel": ["crm", "email_campaign"], "tool": ["hubspot", "instantly"], "refused_id": [DIGEST],
        "name": [w.MAPPING, w.STATUS, w.NEXT_STATUS, w.OWN_FIELD],
        "answer_id": [1], "note_id": [1], "task_id": [1], "view_id": [1], "change_id": owned.changes[:2], "snippet_id": ["zq5f3a9c01"],
        "item_id": owned.items, "rule_id": owned.rules,
        "field_id": owned.fields, "user_id": [w.USER.id], "invitation_id": [w.INVITED.id], "session_id": [w.SESSION.id_hash],
    }  # fmt: skip
    for name in names:
        assert name in values, f"the walk does not know what of A's belongs into {{{name}}} of {path}: say it in tests/isolation/walk.py"
    for chosen in product(*(values[name] for name in names)):
        yield path.format(**dict(zip(names, chosen, strict=True)))


def _queries(parameters: list[Any], owned: Known) -> list[dict[str, str]]:
    created: list[dict[str, str]] = []
    together: dict[str, str] = {}
    for item in parameters:
        if item["in"] != "query":
            continue
        if item.get("explode"):
            created += searches(owned)
            continue
        response = filters(owned).get(item["name"], _values(item["schema"]))
        assert response, f"the walk does not know the filter {item['name']}: say in tests/isolation/walk.py what of A's belongs there"
        created += [{item["name"]: value} for value in response]
        if item["name"] != "cursor":
            together[item["name"]] = response[0]
    if "cursor" in {parameter["name"] for parameter in parameters} and "updated_since" in together:
        created += [{"updated_since": together["updated_since"], "cursor": cursor} for cursor in owned.cursors]
    return [*created, together] if len(together) > 1 else created


def _values(schema: Any) -> list[str] | None:
    """The values that a parameter may have, where the description names them."""
    if schema.get("type") == "boolean":
        return ["true", "false"]
    _, values = ENUMS.get(schema.get("$ref", "").rpartition("/")[2], ("", None))
    return values and list(values)


def _headers(parameters: list[Any], owned: Known) -> list[tuple[str, str]]:
    names = [parameter["name"] for parameter in parameters if parameter["in"] == "header"]
    for name in names:
        assert name in headers(owned), f"the walk does not know the header {name}: say in tests/isolation/walk.py what of A's belongs there"
    # A key of an administrator names its client everywhere, so everybody else's name is tried everywhere.
    return [(name, value) for name in dict.fromkeys([*names, "X-Client-Id"]) for value in headers(owned)[name]]


def _bodies(operation: Any, owned: Known) -> list[Any]:
    content = operation.get("requestBody", {}).get("content")
    if content is None:
        return [None]
    names = {kind["schema"].get("$ref", "").rpartition("/")[2] for kind in content.values()}
    results = [body for name in sorted(names) for body in bodies(owned).get(name, ())]
    assert results, f"the walk does not know the body {names}: say in tests/isolation/walk.py what of A's belongs there"
    return results

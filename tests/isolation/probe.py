"""Probes: B's number beside A's ids and keys, put to every statement and every question themselves.

Behind the interface much of this is refused before it comes to a statement; here the statement stands alone.
"""

from __future__ import annotations

import itertools
import re
import typing
from collections.abc import Iterator, Sequence
from dataclasses import replace
from inspect import Parameter, signature
from typing import Any

from tests.isolation import world as w
from tests.isolation.mutants import STATEMENTS
from tests.isolation.walk import Known
from tests.isolation.world import BEYOND, CLIENT_B, IDEMPOTENCY_KEY, LATER_IDS, NEVER, OTHER_B, READER, TIME_OF_A, TIME_OF_B
from tests.operations import all_queries, handler
from tests.storage.statements import texts

from touchbase.attention.plans import list_items, list_snoozes
from touchbase.clients.models import ClientSettings, Removal
from touchbase.clients.sql.clients import begin_deletion, find_client, find_client_by_number, list_client_page
from touchbase.clients.sql.removal import remove_client_rows
from touchbase.clients.sql.stored_bytes import measure_page
from touchbase.conversations.drafts import find_draft, list_writers
from touchbase.conversations.notifications import list_notifications
from touchbase.conversations.plans import list_done_conversations
from touchbase.custom_fields.changes import FieldJob
from touchbase.deliveries.sql.body_retention import drop_unrecognised, prune_bodies
from touchbase.do_not_contact.sql.lookup import list_all_entries
from touchbase.erasure.sql.persons import get_erasure, list_all_requests
from touchbase.erasure.sql.texts import TEXT_TABLES
from touchbase.history.events import COMPANY, CONTACT
from touchbase.idempotency.models import RequestKey
from touchbase.idempotency.sql import find_response
from touchbase.inbox.sql.queries import newest_receipts
from touchbase.inbox.sql.search import find_sought_person, get_effects, step_through_deliveries
from touchbase.messages.sql.plans import list_all_messages
from touchbase.notes.plans import find_note
from touchbase.outgoing.blocklists import url_of
from touchbase.outgoing.sql.announced import find_announced, is_listed, is_on_list
from touchbase.outgoing.sql.pushes import STATES, list_pushes
from touchbase.projection.bin_rows import list_all_deleted
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType
from touchbase.records.sql.reads import Listing, list_records
from touchbase.reports.parts import CampaignGroups
from touchbase.reports.sql.campaigns import report_messages
from touchbase.reports.sql.parts import report_campaigns
from touchbase.search.fields import SearchFields
from touchbase.search.parse import Parser
from touchbase.search.queries import RecordSearch
from touchbase.search.sorting import default_sort
from touchbase.search.sql.plans import clients_with_matches, count_matches, count_matches_of, find_position, search_page
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan
from touchbase.sql.store import Store
from touchbase.statuses.sql.renames import preview_rename
from touchbase.tasks.plans import find_task

# What tells a row from others is taken as A has it; everything else is changed, so that a write shows.
KEYS = {
    "id", "record_kind", "record_id", "email_key", "linkedin_key", "domain", "external_id", "company_id", "tool", "object_type",
    "object_id", "channel", "endpoint_id", "contact_id",
    "key", "name", "state", "client_id", "digest", "erasure", "requested_us", "until_us", "old",
    "occurred_us", "hour", "noticed_us", "type", "sequence", "event_key", "copy_key", "direction",
    "span", "from_status", "to_status", "rule",
}  # fmt: skip
TYPES = {"bigint": int, "text": str, "bytea": bytes | memoryview}
BESIDE = {
    "type": "email",
    "to_id": 1, "to_us": 1, "now_us": NEVER - 1, "most": 50, "times": 1, "applied_us": 1, "next_attempt_us": 0, "shape": "x", "at": NEVER,
    "before_us": NEVER, "after_us": -NEVER, "after_id": 0, "upto_us": NEVER, "duplicate_of": 1, "before": 0, "count": 1, "since": 0,
    "why": "erased", "note": "x", "place": 0, "is_stored": 1, "since_us": 0, "is_loaded": 1, "at_us": 0,
    "from_id": 1, "asked_us": 1, "handled_us": 1, "handled_by": "x", "automatic": 1, "message_id": 1, "copy_key": "x",
    "address": w.EMAIL, "lease_us": w.LEASE_OF_ANSWER, "refused": 1, "until_us": NEVER, "user_id": READER, "until": NEVER,
    "number": 0, "sign": 1, "first": -NEVER, "after": NEVER, "received_us": 1, "former": "a/events/place salt",
    "first_place": "a/", "last_place": "a0", "new_id": 1,
}  # fmt: skip
TIMES: list[dict[str, Any]] = [BESIDE, {**BESIDE, "now_us": BEYOND}]
"""Before and after the end of what is kept for a while."""
MOST_PIECES = 200
REFS = [("", "email", w.EMAIL), ("", "linkedin", "in/zq006linkqz"), ("hubspot", "contact", str(w.OBJECT))]
"""Whom A knows, as identities."""
OF_ADDRESSES = {
    "FORGET_ANNOUNCED": "announced_suppression", "DELETE_CAUSE": "suppression_cause", "DELETE_CAUSES": "suppression_cause",
    "DELETE_ENTRY": "suppression",
}  # fmt: skip
"""Statements about an address, which is no key of theirs, with the table that has the addresses."""
OF_CLIENTS = {
    name
    for name, op in STATEMENTS.items()
    if "client" not in dict(op.columns) and any(re.search(r"\b(FROM|JOIN) client\b", text) for text in texts(op))
}
"""Statements about clients themselves, by number or by id: B's own. They tell whether the client has erased anybody."""


class Try(Command[list[Any]]):
    """Puts rows to one statement, in a transaction of its client."""

    client: int
    name: str
    rows: list[tuple[Any, ...]]


def _try(commands: Sequence[Try], ids: Ids) -> Plan[list[object]]:
    answers: list[object] = []
    for command in commands:
        answers.append(sorted(map(repr, (yield Execute(STATEMENTS[command.name], command.rows)))))
    return answers


TRYING = {Try: handler(_try)}


def tries(client: int, rows: dict[str, list[dict[str, Any]]]) -> list[Try]:
    """Every statement with everything of A's that fits its parameters, under this client's number."""
    tries: list[Try] = []
    # What inserts comes last: B's own rows under A's ids would be in the way of the others. B knows its own calls until then.
    for name, op in sorted(
        STATEMENTS.items(), key=lambda statement: (inserts(statement[0]) or forgets(statement[0]), forgets(statement[0]), statement[0])
    ):
        fitting = [item for table in rows.values() for item in table if _fits(op.columns, item)]
        if name in OF_CLIENTS:
            fitting = [{"id": client, "client_id": client_b} for client_b in (CLIENT_B, OTHER_B)]
        if name.endswith(".MOVE_FILE"):  # a job has one file of a name
            fitting = fitting[:1]
        if name.endswith(".STORE_DELIVERY_TRACED"):  # the other one has made rows of these ids
            fitting = [{**item, "id": item["id"] + 10**6} for item in fitting]
        result = {_row(op.columns, {**beside, **item}, client): None for item in fitting for beside in TIMES}
        if (table := OF_ADDRESSES.get(name.rpartition(".")[2])) is not None:  # a changed value would be in no row
            result = {tuple(client if column == "client" else item[column] for column, _ in op.columns): None for item in rows[table]}
        if name.endswith((".TAKEN_KEYS", ".PERSON_BY_LINK")):  # A's keys, and a record that has none of them
            result = {
                (client, *key, 1)[: len(op.columns)]: None for key in {(item["object_type"], item["object_id"]) for item in rows["link"]}
            }
        assert result, f"nothing of A's fits {name}: say in tests/isolation/probe.py what belongs into {op.columns}"
        tries.append(Try(client, name, list(result)))
    return tries


def inserts(name: str) -> bool:
    """Whether a statement makes rows."""
    return any(part.startswith(("CREATE", "INSERT", "KEEP", "NOTE_FOR", "STORE_DELIVERY", "STORE_WORDS")) for part in name.split("."))


def forgets(name: str) -> bool:
    """Whether a statement makes a call of B's new that was none."""
    return name.startswith("inbox.sql.commands.FORGET_")


def _fits(columns: Columns, of_a: dict[str, Any]) -> bool:
    there = {**BESIDE, **of_a}
    return all(name in there and isinstance(there[name], TYPES[kind] | None) for name, kind in columns)


def _row(columns: Columns, of_a: dict[str, Any], client: int) -> tuple[Any, ...]:
    return tuple(client if name in ("client", "about_client") else _value(name, of_a[name]) for name, _ in columns)


def _value(name: str, value: Any) -> Any:
    if name in KEYS or name in BESIDE or value is None:
        return bytes(value) if isinstance(value, memoryview) else value
    return value + ("x" if isinstance(value, str) else 1) if isinstance(value, str | int) else value


def client_queries(client: int, owned: Known) -> Iterator[Any]:
    """Every question that names its client, about everything of A's, with every choice of its filters."""
    usual: dict[str, list[Any]] = {
        "state": ["parked", "applied"], "kind": [1, 2], "record_kind": [1, 2, 3], "limit": [1, 100], "id": [*owned.ids, *owned.changes],
        "record_id": owned.ids, "delivery_id": owned.ids, "company_id": owned.companies[:1], "client": [client], "before_us": [NEVER],
        "contact": owned.contacts, "contact_id": owned.contacts, "contacts": [owned.contacts],
        "refs": [REFS], "sort": [default_sort(CONTACT)],
        "absorbed": [owned.contacts[1:2]], "survivorship": ["newest"], "block": ["surname", "domain"],
        "what": [FieldJob("merge", w.FIELD, w.OWN_FIELD)],
        "suppressions": [owned.ids], "deliveries": [owned.ids], "ids": [owned.ids], "after_sequence": [0], "types": [None],
        "ignoring": [[("crm", "hubspot", "objects.zq071ignoredqz")]],
        "edges": [[0, 1, NEVER]], "by_tool": [True, False], "by_campaign": [True, False],
        "pairs": [[*itertools.combinations(sorted(owned.contacts), 2)]],
        "table": sorted(TEXT_TABLES), "dedupes": [["zq101toldqz"]], "sequences": [[1, 2]],
    }  # fmt: skip
    for kind in all_queries():
        hints = typing.get_type_hints(kind)
        if "client" not in hints or kind is measure_page:
            continue
        choices: list[list[Any]] = []
        for parameter in signature(kind).parameters.values():
            name = parameter.name
            first = (0, "", b"", (0, 0)) if name == "after" else (0, "hubspot", b"", (0, 0))
            values = usual.get(name) or [item for item in first if _is(hints[name], item)]
            if name == "id":
                values = [item for item in values if _is(hints[name], item)]
            if typing.get_origin(hints[name]) is RecordType:
                values = [CONTACT_TYPE, COMPANY_TYPE]
            if parameter.default is Parameter.empty or name == "client":
                choices.append(values)
            else:
                choices.append([parameter.default, *values] if name in ("contact", "contact_id") else [parameter.default])
        for chosen in itertools.product(*choices):
            yield kind(*chosen)
    # Custom fields and files: other texts have ids, whose digits grow with what A has.
    yield from (measure_page(client, (4, None)), search_page(RecordSearch(CONTACT_TYPE, client, default_sort(CONTACT), 100, words=("a",))))
    for record_type, limit in itertools.product((CONTACT_TYPE, COMPANY_TYPE), (1, 100)):
        yield list_records(Listing(record_type, client, limit))
        yield from (search_page(RecordSearch(record_type, client, default_sort(record_type.kind), limit, share=at)) for at in (None, 0.5))
    everyone = RecordSearch(CONTACT_TYPE, client, default_sort(CONTACT), 100)
    of_a = replace(everyone, where=Parser(SearchFields(CONTACT_TYPE, ClientSettings()), 0, []).json({"email": w.EMAIL}))
    counted = Parser(SearchFields(CONTACT_TYPE, ClientSettings()), 0, []).json({"counted": "mailed_replied;tool=instantly;step="})
    yield from (search_page(replace(everyone, where=counted)), count_matches(everyone), find_position(client, everyone, 1))
    yield from (count_matches_of(of_a, [client]), clients_with_matches(of_a, [client], 1))
    yield from (find_client_by_number(client), list_client_page(9, only=client))
    yield from (find_client(client_id, at) for client_id in (CLIENT_B, OTHER_B) for at in (None, TIME_OF_B))
    yield find_sought_person(client, REFS[:2], mentioned=REFS)
    yield from (find_sought_person(client, contact_id=number) for number in owned.contacts)
    yield from (step_through_deliveries(client, NEVER, 100, event="email_sent", of_contacts=contact) for contact in (None, owned.contacts))
    yield step_through_deliveries(client, NEVER, 100, not_of_contacts=owned.contacts, bodies=True)
    yield get_effects([(client, number) for number in owned.ids])
    yield from (find_announced(client, endpoint, entry) for endpoint, entry in owned.announced)
    yield from (is_listed(client, kind, value, TIME_OF_B) for kind, value in owned.listed)
    yield from (is_on_list(client, endpoint, *address) for endpoint in owned.endpoints for address in owned.listed)
    yield from (list_pushes(client, url_of(w.PUSHED_TO), limit, state_is=state) for limit in (1, 100) for state in (None, *STATES))
    yield from (find_note(client, CONTACT, contact, note) for contact in owned.contacts for note in owned.notes)
    yield from (find_task(client, CONTACT, contact, task) for contact in owned.contacts for task in owned.tasks)
    yield from (
        newest_receipts([client]),
        list_items([client], TIME_OF_A),
        list_writers([client], 0),
        list_snoozes([client], TIME_OF_A),
        list_notifications([client], READER, 100),
    )
    yield from (list_done_conversations(clients, 100) for clients in ([client], [client, 10**6]))
    yield from (find_draft(client, contact, READER) for contact in owned.contacts)
    yield from (preview_rename(client, CONTACT, word, "another", merge=False) for word in ("contacted", "replied"))
    yield report_campaigns(CampaignGroups(client, (0, NEVER), by_tool=True, by_campaign=True), "UTC")
    yield from (report_messages(CampaignGroups(client, (0, NEVER), True, False, by_step=not it, by_label=it)) for it in (False, True))
    yield from (list_items([client], TIME_OF_B), list_all_messages([client], 100, None, {}, 10**6))
    yield from (list_all_deleted([client], kind, 100, 10**6) for kind in (CONTACT, COMPANY))
    yield from (list_all_entries([client], 100, TIME_OF_B, None, {}), list_all_requests([client], 100))
    yield get_erasure(client, LATER_IDS["erasure"])  # B's own, that it begins with
    yield find_response(RequestKey(client, IDEMPOTENCY_KEY, b"", NEVER - 1))


def _is(hint: object, value: object) -> bool:
    """Whether a field of this type may hold the value."""
    kinds = typing.get_args(hint) if type(None) in typing.get_args(hint) else (hint,)
    return any(isinstance(value, typing.get_origin(kind) or kind) for kind in kinds)


async def probe(store: Store, trying: Sequence[Try], questions: Sequence[Any]) -> list[str]:
    """The answers as text. Statements that write are among them."""
    reported = [f"{question}: {await store.read(question)!r}" for question in questions]
    return reported + [f"{item.name}: {await store.write(item)}" for item in trying]


async def leave(store: Store, client: int) -> list[str]:
    """B drops the bodies that it has kept longest, understood and not, and is removed with all that it has; what it is told."""
    drops: list[Command[Any]] = [prune_bodies(client, NEVER, 1, NEVER), drop_unrecognised(client, NEVER, 0, 1, NEVER)]
    reported: list[Any] = [await store.write(item) for item in (*drops, begin_deletion(client, NEVER))]
    removal: Removal | None = None
    while removal is None or not removal.done:
        assert len(reported) < MOST_PIECES, "B's removal does not come to an end"
        removal = await store.write(remove_client_rows(client, BEYOND, 7, removal and removal.position))
        reported.append(removal)
    return [f"leaving: {item!r}" for item in reported]

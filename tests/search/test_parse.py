"""The parser: both faces give one tree, and every fault is named at once."""

from __future__ import annotations

from typing import Any

import pytest

from touchbase.clients.models import Client, ClientSettings, FieldType
from touchbase.common.timestamps import DAY, from_text
from touchbase.errors import Fault, Invalid
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.search.fields import OWN_FIELDS, SearchFields
from touchbase.search.parse import DEEPEST, MOST_CONDITIONS, MOST_OF_ALL, MOST_VALUES, Parser
from touchbase.search.queries import ESTIMATED
from touchbase.search.service import SearchRequest, prepare
from touchbase.search.sorting import SortKey, cursor_of
from touchbase.search.tree import All, Condition, Node, Not, Op

NOW = from_text("2026-11-25T12:00:00Z")
SETTINGS = ClientSettings(contact_fields={"Score": FieldType("number"), "Renewal": FieldType("date")})
CLIENT = Client(7, "acme", 1, SETTINGS)


def parse_query(*parameters: tuple[str, str]) -> tuple[Node, list[Fault]]:
    faults: list[Fault] = []
    return Parser(SearchFields(CONTACT_TYPE, SETTINGS), NOW, faults, ["limit", "cursor"]).query(parameters), faults


def parse_json(body: object) -> tuple[Node, list[Fault]]:
    faults: list[Fault] = []
    return Parser(SearchFields(CONTACT_TYPE, SETTINGS), NOW, faults).json(body), faults


def only(*parameters: tuple[str, str]) -> Node:
    """The one node of a query without faults."""
    tree, faults = parse_query(*parameters)
    assert faults == []
    assert isinstance(tree, All)
    (node,) = tree.nodes
    return node


@pytest.mark.parametrize(
    ("name", "text", "op", "values"),
    [
        ("contact_status", "Won", Op.EQ, ("won",)),
        ("contact_status[in]", "new, Won", Op.IN, ("new", "won")),
        ("email", "Jane+x@ACME.example", Op.EQ, ("jane+x@acme.example",)),
        ("email", "jane x@acme.example", Op.EQ, ("jane+x@acme.example",)),
        ("linkedin_url", "https://www.linkedin.com/in/Jane/", Op.EQ, ("linkedin.com/in/jane",)),
        ("company.domain", "https://www.acme.example/about", Op.EQ, ("acme.example",)),
        ("email[contains]", "ACME", Op.CONTAINS, ("acme",)),
        ("last_reply_received[gte]", "7d", Op.GTE, (NOW - 7 * DAY,)),
        ("last_reply_received[gte]", "12H", Op.GTE, (NOW - DAY // 2,)),
        ("last_reply_received[lt]", "2026-11-01", Op.LT, (from_text("2026-11-01"),)),
        ("last_reply_received[lt]", "2026-11-01T00:00:00 02:00", Op.LT, (from_text("2026-10-31T22:00:00Z"),)),
        ("last_reply_received[is_set]", "false", Op.IS_SET, (False,)),
        ("company_id", "12", Op.EQ, (12,)),
        ("cf.Score[gte]", "12", Op.GTE, (12.0,)),
        ("cf.Undeclared[gt]", "12", Op.GT, (12.0,)),
        ("cf.Undeclared", "12", Op.EQ, ("12",)),
        ("cf.Renewal[lt]", "2d", Op.LT, ("2026-11-23",)),
        ("company.cf.Industry[contains]", "Bank", Op.CONTAINS, ("bank",)),
    ],
)  # fmt: skip
def test_query__reads_a_condition(name: str, text: str, op: Op, values: tuple[object, ...]) -> None:
    node = only((name, text))

    assert isinstance(node, Condition)
    assert (node.field.name, node.op, node.values) == (name.partition("[")[0], op, values)
    assert node.numeric == (values == (12.0,) and name.startswith("cf.") and op is not Op.EQ)


def test_both_faces__give_one_tree() -> None:
    tree = {"contact_status[nin]": ["new", "won"], "email[ne]": "a@b.example", "last_reply_received[gt]": "1w"}

    by_json, faults = parse_json(tree)

    assert faults == []
    assert by_json == parse_query(("contact_status[nin]", "new,won"), ("email[ne]", "a@b.example"), ("last_reply_received[gt]", "1w"))[0]
    assert isinstance(by_json, All)
    assert isinstance(by_json.nodes[0], Not)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Email", "did you mean 'email'?"), ("status", "did you mean 'contact_status'?"),
        ("last_reply", "did you mean 'last_reply_received'?"),
        ("limt", "did you mean 'limit'?"), ("cf.", "there is no field 'cf.'"), ("company.domian", "did you mean 'company.domain'?"),
        ("zzzzzz", "custom fields are named cf.<name>"), ("email[like]", "there is no operator 'like'"),
        ("email[start_with]", "did you mean 'starts_with'?"), ("company.company_id", "there is no field"),
    ],
)  # fmt: skip
def test_query__names_the_nearest(name: str, says: str) -> None:
    (fault,) = parse_query((name, "x@example.com"))[1]

    assert fault.pointer == f"?{name}"
    assert fault.code in ("unknown", "unknown_operator")
    assert says in fault.detail


def test_faults__are_all_named_with_their_places() -> None:
    body = {
        "all": [{"Email": "a"}, {"email": ""}, {"email": "no address"}, {"any": {"id": 1}}, 5, {"id": "x"}, {"id[contains]": 1}],
        "last_reply_received": "yesterday", "contact_status[in]": "new", "cf.Score[gt]": "many", "first_name[is_set]": 1, "last_name": None,
        "not": [], "origin": "a\0b",
    }  # fmt: skip

    faults = {fault.pointer: fault.code for fault in parse_json(body)[1]}

    assert faults == {
        "/all/0/Email": "unknown", "/all/1/email": "blank", "/all/2/email": "email", "/all/3/any": "type", "/all/4": "type",
        "/all/5/id": "range", "/all/6/id[contains]": "operator", "/last_reply_received": "time", "/contact_status[in]": "type",
        "/cf.Score[gt]": "number", "/first_name[is_set]": "choice", "/last_name": "type", "/not": "type", "/origin": "unusable_text",
    }  # fmt: skip


def test_bounds__hold_for_depth_conditions_and_values() -> None:
    deep: Any = {"id": 1}
    for _ in range(DEEPEST):
        deep = {"not": deep}

    assert [fault.code for fault in parse_json(deep)[1]] == ["too_deep"]
    assert parse_json(deep["not"])[1] == []
    assert [fault.code for fault in parse_json({"any": [{"id": 1}] * (MOST_CONDITIONS + 5)})[1]] == ["too_many"]
    assert [fault.code for fault in parse_json({"id[in]": [1] * (MOST_VALUES + 1)})[1]] == ["range"]
    assert [fault.code for fault in parse_json({"id[in]": []})[1]] == ["range"]
    full = [{"id[in]": [1] * MOST_VALUES}] * (MOST_OF_ALL // MOST_VALUES)
    remaining = [1] * (MOST_OF_ALL % MOST_VALUES)
    assert parse_json({"any": [*full, {"id[in]": remaining}]})[1] == []
    assert [fault.code for fault in parse_json({"any": [*full, {"id[in]": [*remaining, 1]}]})[1]] == ["too_many"]
    assert [fault.code for fault in parse_query(("email", "a@b.example"), ("email", "c@d.example"))[1]] == ["repeated"]


def test_prepare__gives_the_query() -> None:
    result = prepare(
        CONTACT_TYPE,
        CLIENT,
        SearchRequest(
            (("id[gt]", "5"),), {"email": "a@b.example"}, "Anna  anna BERG", "-last_reply_received,email", "email,contact_status",
            limit=9, count=ESTIMATED,
        ),
        NOW,
    )  # fmt: skip

    query = result.search
    assert query.kind is CONTACT_TYPE
    assert (query.client, query.limit, query.words, query.count, query.custom_fields) == (7, 9, ("anna", "berg"), ESTIMATED, False)
    assert query.sort == (SortKey(OWN_FIELDS[1]["last_reply_received"], descending=True), SortKey(OWN_FIELDS[1]["email"]))
    assert result.shown == {"id", "email", "contact_status"}


def test_prepare__takes_a_cursor_of_the_same_order_only() -> None:
    sort = prepare(CONTACT_TYPE, CLIENT, SearchRequest(sort="-email"), NOW).search.sort
    cursor = cursor_of(("a@b.example", 5), sort)

    assert prepare(CONTACT_TYPE, CLIENT, SearchRequest(sort="-email", cursor=cursor), NOW).search.after == ("a@b.example", 5)
    for sort_by, text in (("email", cursor), (None, cursor), ("-email", cursor[:-2]), ("-email", "é"), ("-email", cursor_of((5, 5), sort))):
        with pytest.raises(Invalid) as raised:
            prepare(CONTACT_TYPE, CLIENT, SearchRequest(sort=sort_by, cursor=text), NOW)
        assert [fault.code for fault in raised.value.faults] == ["cursor"]


def test_prepare__names_all_faults() -> None:
    request = SearchRequest((("Email", "x"),), {"id": "x"}, "?!", "emial,cf.Score,email,email", "id,emial", "zz")

    with pytest.raises(Invalid) as raised:
        prepare(COMPANY_TYPE, CLIENT, request, NOW)

    assert [fault.pointer for fault in raised.value.faults] == ["?Email", "/where/id", *["?sort"] * 4, "?cursor", "?fields", "?q"]
    assert prepare(COMPANY_TYPE, CLIENT, SearchRequest(), NOW).search.kind is COMPANY_TYPE

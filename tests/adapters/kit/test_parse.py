"""Bodies as they come, and what a relay has wrapped around them."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.interface import ParsedWebhook, WebhookRequest
from touchbase.adapters.kit.parse import layers, parse, unwrap

NAMES = st.text(st.characters(exclude_characters="[]", exclude_categories=["Cs"]), min_size=1, max_size=6)
FIELDS = st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=3), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)), max_size=8)


def call(body: bytes | str, content_type: str = "application/json") -> ParsedWebhook:
    raw = body if isinstance(body, bytes) else body.encode()
    return parse(WebhookRequest("email_campaign", {"content-type": content_type}, "", raw))


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1}', b'  \r\n{"a": 1}\n', b'\xef\xbb\xbf{"a": 1}', '{"a": 1}'.encode("utf-16"), b'"{\\"a\\": 1}"', b'{"a": 1}=',
        quote('{"a": 1}').encode(),
    ],
)  # fmt: skip
@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", "nonsense"])
def test_json_body__is_parsed_under_any_content_type(body: bytes, content_type: str) -> None:
    assert call(body, content_type).data == {"a": 1}


def test_json_list__is_parsed_as_a_list() -> None:
    assert call('[{"a": 1}, 2]').data == [{"a": 1}, 2]


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b'{"a": NaN, "b": 1}', {"a": None, "b": 1}),
        (b'{"a": 1e999, "b": 1}', {"a": None, "b": 1}),
        (b'{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        (b'{"a": "\xff", "b": 1}', {"a": "\N{REPLACEMENT CHARACTER}", "b": 1}),
        (b'{"a": "\\ud800"}', {"a": "?"}),
        (b'{"a": ' + b"9" * 5000 + b', "b": 1}', {"a": None, "b": 1}),
    ],
)
def test_invalid_json__loses_only_the_unreadable_parts(body: bytes, read: object) -> None:
    assert call(body).data == read


@pytest.mark.parametrize(
    "body", [b"", b" ", b"hello", b"<a>", b"<a>text</a>", b"{", b'"text"', b"12", b"null", b"[" * 100_000, b"=", b"&&", b"\x00\xff"]
)
def test_parse__gives_no_data_for_bodies_neither_json_nor_form_nor_xml(body: bytes) -> None:
    assert call(body).data is None


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (b"<a b='c'/>", {"a": {"b": "c"}}),
        (b"\xef\xbb\xbf<?xml version='1.0'?><contact><id>7</id><name/></contact>", {"contact": {"id": "7", "name": None}}),
        (b"<all><e kind='x'>1</e><e><f>2</f></e></all>", [{"kind": "x", "value": "1"}, {"f": "2"}]),
        (b"<hook xmlns='urn:x'><event>opened</event><to>a</to><to>b</to></hook>", {"event": "opened", "to": ["a", "b"]}),
        (b"<a to='a'><event>opened</event><to/><to><n>1</n><n>2</n></to></a>", {"event": "opened", "to": ["a", None, {"n": ["1", "2"]}]}),
        (b"<unsubscribed><email>ann@p.example</email></unsubscribed>", {"event": "unsubscribed", "email": "ann@p.example"}),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a><d>&b;</d></a>", None),
        (b"<a>" * 30 + b"x" + b"</a>" * 30, None),
        ("<a><b>x</b></a>".encode("utf-16"), {"a": {"b": "x"}}),
    ],
)
def test_xml__is_read_as_objects_without_entities(body: bytes, read: object) -> None:
    data = call(body).data

    assert data == read if read is not None else not data or "x" not in str(data)


@pytest.mark.parametrize("write", [str, lambda body: quote(body, safe="=&")])
def test_form_names__with_brackets_become_objects_and_lists(write) -> None:
    body = write("leads[status][0][id]=7&leads[status][3][id]=8&account[subdomain]=büro&type=x")

    read = call(body, "application/x-www-form-urlencoded")

    assert read.form
    assert read.data == {"leads": {"status": [{"id": "7"}, {"id": "8"}]}, "account": {"subdomain": "büro"}, "type": "x"}


def test_form_body__is_recognised_without_its_content_type() -> None:
    assert call("a=1&b=", "").data == {"a": "1", "b": ""}


def test_form_names__that_repeat_become_a_list() -> None:
    assert call("t=1&t=2&u[]=3&u[]=4&u[]=5").data == {"t": ["1", "2"], "u": ["3", "4", "5"]}


@pytest.mark.parametrize("body", ["c=1&c[id]=2", "c[id]=2&c=1"])
def test_form_name__that_is_both_value_and_object_retains_both(body: str) -> None:
    assert call(body).data == {"c": {"": "1", "id": "2"}}


def test_form_names__with_numbers_but_no_zero_stay_object_keys() -> None:
    assert call("f[12]=a&f[7]=b").data == {"f": {"12": "a", "7": "b"}}


@pytest.mark.parametrize("body", ["f[0]=a&f[{}]=b", '{{"f[0]": "a", "f[{}]": "b"}}'])
def test_form_name__with_an_overlong_number_stays_an_object_key(body: str) -> None:
    number = "9" * 5_000

    assert call(body.format(number)).data == {"f": {"0": "a", number: "b"}}


def test_json_with_bracketed_names__is_parsed_as_a_form() -> None:
    assert call('{"data[email]": "a@b.co", "type": "x"}', "application/x-www-form-urlencoded").data == {
        "data": {"email": "a@b.co"},
        "type": "x",
    }


@pytest.mark.parametrize("name", ["mandrill_events", "payload", "anything"])
def test_form_field__that_holds_json_is_parsed(name: str) -> None:
    assert call(name + "=" + quote('[{"a": 1}]')).data == {name: [{"a": 1}]}


def test_form_field__that_only_looks_like_json_stays_text() -> None:
    assert call("note=" + quote("{hello}") + "&payload=" + quote("{broken") + "&x=1").data == {
        "note": "{hello}",
        "payload": "{broken",
        "x": "1",
    }


def test_multipart__gives_text_fields_and_no_files() -> None:
    body = (
        '--b0\r\nContent-Disposition: form-data; name="event"\r\n\r\nclicked\r\n'
        '--b0\r\nContent-Type: text/plain\r\nContent-Disposition: form-data; name="data[email]"\r\n\r\na@b.co\r\n'
        '--b0\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\nsecret\r\n--b0--\r\n'
    )

    read = call(body, "multipart/form-data; boundary=b0")

    assert read.data == {"event": "clicked", "data": {"email": "a@b.co"}}


def test_multipart_header__is_read_line_by_line() -> None:
    heads = ['Content-Disposition: form-data; name="a"; Content-Disposition: form-data; name="b"', 'X: form-data; name="c"', 'name="d"']
    body = "".join(f"--b0\r\n{head}\r\n\r\n{number}\r\n" for number, head in enumerate(heads)) + "--b0--\r\n"

    assert call(body, "multipart/form-data; boundary=b0").data == {"a": "0"}


def test_multipart__limits_fields_despite_a_boundary_everywhere() -> None:
    body = '--\r\nContent-Disposition: form-data; name="a"\r\n\r\nx' + "--" * 100_000

    assert call(body, "multipart/form-data").data == {"a": "x"}


@given(FIELDS)
def test_form_parser__loses_no_value_of_any_form(fields: list[tuple[str, list[str], str]]) -> None:
    names = [name + "".join(f"[{key}]" for key in keys) for name, keys, _ in fields]
    body = "&".join(["q0=q1", *(f"{quote(name, safe='')}={quote(field[2], safe='')}" for name, field in zip(names, fields, strict=True))])

    read = call(body).data

    assert sorted(_leaves(read)) == sorted(["q1", *(value for _, _, value in fields)])


@given(
    st.binary(max_size=400),
    st.sampled_from(["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]),
)
def test_parse__accepts_any_bytes(body: bytes, content_type: str) -> None:
    unwrap(call(body, content_type))


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.sampled_from(["body", "data", "headers", "x"]), inner)
    )
)
def test_unwrap__accepts_any_json(data: object) -> None:
    unwrap(call(json.dumps(data)))


def test_unwrap__removes_the_n8n_envelope_and_takes_its_headers() -> None:
    inner = unwrap(call('[{"headers": {"X-Their-Event": "sent"}, "params": {}, "query": {}, "body": {"a": 1}}]'))

    assert inner.data == {"a": 1}
    assert inner.headers["x-their-event"] == "sent"


FORM = {"headers": {"Content-Type": "application/x-www-form-urlencoded"}, "params": {}, "query": {}}


@pytest.mark.parametrize("headers", [{}, FORM["headers"]])
@pytest.mark.parametrize("several", [0, 1, 2])
def test_n8n_envelope__with_flat_form_fields_is_parsed_as_a_form(headers: dict[str, str], several: int) -> None:
    envelope = {**FORM, "headers": headers, "body": {"leads[update][0][id]": "7", "account[subdomain]": "s", "type": "x"}}

    inner = unwrap(call(json.dumps([envelope] * several if several else envelope)))

    read = {"leads": {"update": [{"id": "7"}]}, "account": {"subdomain": "s"}, "type": "x"}
    assert inner.data == ([read] * 2 if several == 2 else read)
    assert inner.form is (several < 2)


def test_n8n_envelope__parses_a_form_field_that_holds_json() -> None:
    assert unwrap(call(json.dumps({**FORM, "body": {"mandrill_events": '[{"event": "send"}]'}}))).data == {
        "mandrill_events": [{"event": "send"}]
    }


def test_bracketed_column_name__does_not_make_json_a_form() -> None:
    body = {"Revenue [EUR]": "5", "email": "a@b.co"}

    assert unwrap(call(json.dumps({"headers": {}, "query": {}, "body": body}))).data == body
    assert unwrap(call(json.dumps({"headers": {}, "query": {}, "body": {"a[b]": 1}}))).data == {"a[b]": 1}


def test_unwrap__drops_the_fetched_header_from_an_envelope() -> None:
    assert "x-touchbase-fetched" not in unwrap(call('{"headers": {"X-Touchbase-Fetched": "people"}, "body": {"a": 1}}')).headers


@pytest.mark.parametrize("wrapper", ["data", "payload", "body"])
def test_bracketed_names__below_a_wrapper_are_parsed_as_a_form(wrapper: str) -> None:
    first, *_ = [layer for layer in layers(call(json.dumps({wrapper: {"type": "update", "contact[id]": "7"}}))) if "type" in layer.data]

    assert first.form
    assert first.data == {"type": "update", "contact": {"id": "7"}}


def test_unwrap__joins_several_envelopes_into_one_list() -> None:
    assert unwrap(call('[{"headers": {}, "body": {"a": 1}}, {"headers": {}, "body": [{"a": 2}, {"a": 3}]}]')).data == [
        {"a": 1},
        {"a": 2},
        {"a": 3},
    ]


@pytest.mark.parametrize(
    "body", ['{"data": {"a": 1}}', '{"payload": {"a": 1}, "method": "POST"}', '{"body": {"data": {"a": 1}}, "headers": {}}']
)
def test_unwrap__removes_a_lone_wrapper(body: str) -> None:
    assert unwrap(call(body)).data == {"a": 1}


@pytest.mark.parametrize("body", ['{"body": "a mail\'s text"}', '{"event": "x", "data": {"a": 1}}', '{"data": null}', "[1]", "[]"])
def test_unwrap__leaves_a_body_without_an_envelope_unchanged(body: str) -> None:
    before = call(body)

    assert unwrap(before) is before


def _leaves(value: object) -> list[str]:
    if isinstance(value, dict):
        return [leaf for below in value.values() for leaf in _leaves(below)]
    return [leaf for below in value for leaf in _leaves(below)] if isinstance(value, list) else [str(value)]


def test_zapier_form__with_an_empty_querystring_is_parsed_as_a_form() -> None:
    read = call('{"contacts[add][0][id]": "7", "account[subdomain]": "x", "querystring": {}}')

    assert read.form
    assert read.data == {"contacts": {"add": [{"id": "7"}]}, "account": {"subdomain": "x"}, "querystring": {}}


@pytest.mark.parametrize("several", [0, 1, 2])
def test_flat_form_in_json__is_parsed_as_a_form(several: int) -> None:
    flat = {"contact[id]": "7", "contact[phone]": None, "contact[fields][tier]": "A", "seriesid": "9"}

    read = call(json.dumps([flat] * several if several else flat))

    nested = {"contact": {"id": "7", "phone": None, "fields": {"tier": "A"}}, "seriesid": "9"}
    assert read.data == ([nested] * several if several else nested)

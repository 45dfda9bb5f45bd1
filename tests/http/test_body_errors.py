"""The quick reading and the thorough one agree: what one refuses, the other can explain."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.administration.settings_body import ClientRequest
from touchbase.errors import Invalid, MalformedBody
from touchbase.http.body_errors import decode_leniently, parse_json
from touchbase.http.request_body import check_structure, read_struct
from touchbase.records.api.schemas import CompanyChange, CompanyRequest, ContactChange, ContactRequest

WANTED: list[type[msgspec.Struct]] = [ContactRequest, ContactChange, CompanyRequest, CompanyChange, ClientRequest]

texts = st.text(max_size=5) | st.sampled_from(["", " ", "\0", "\ud800", "x" * 201, "x" * 10_001, "error", "number"])
scalars = st.none() | st.booleans() | st.integers() | st.sampled_from([0, 1, 2**53 - 1, 2**53, 2**64, 10**30]) | st.floats() | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts | st.sampled_from(["field_name", "field_value", "statuses", "type", "options"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def bodies(wanted: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    names = st.sampled_from([*wanted.__struct_fields__, "unknown"])
    return st.dictionaries(names, values, max_size=4) | values


@given(st.data())
def test_decode_leniently__reports_faults_exactly_where_strict_decoding_fails(data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(WANTED))
    body = _encoded(data.draw(bodies(wanted)), data.draw(st.booleans()))

    try:
        quick = msgspec.json.decode(body, type=wanted)
    except (msgspec.DecodeError, UnicodeDecodeError):
        quick = None
    read, refusal = read_or_refused(body, wanted)

    if isinstance(refusal, Invalid):
        assert refusal.faults
        assert quick is None or b"\\u0000" in body
        # Whatever was sent, the answer about it can be written.
        assert "".join(fault.pointer + fault.detail for fault in refusal.faults).encode()
    elif refusal is not None:
        # The quick reading skips what it does not know, half a surrogate pair too; a NUL brings the thorough one.
        assert quick is None or b"\\u0000" in body
    else:
        assert read == quick


def read_or_refused(body: bytes, wanted: type[msgspec.Struct]) -> tuple[Any, Invalid | MalformedBody | None]:
    try:
        return read_struct(body, msgspec.json.Decoder(wanted), wanted, lambda partly: None), None
    except (Invalid, MalformedBody) as refusal:
        return None, refusal


def _encoded(value: Any, ascii_only: bool) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


@given(st.binary(max_size=60))
def test_request_body__any_bytes_are_read_or_refused_with_a_message(body: bytes) -> None:
    read, refusal = read_or_refused(body, ContactRequest)

    assert isinstance(read, ContactRequest) or str(refusal)


brackets = st.text(alphabet='[]{}"\\x', max_size=4)


@given(st.recursive(brackets, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(brackets, inner, max_size=3)))
def test_check_structure__measures_the_depth_exactly(value: Any) -> None:
    def depth(part: Any) -> int:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
        return 0 if inner is None else 1 + max((depth(item) for item in inner), default=0)

    body, deep = json.dumps(value).encode(), depth(value)

    check_structure(body, deep)
    if deep:
        with pytest.raises(MalformedBody):
            check_structure(body, deep - 1)


def test_check_structure__reads_unterminated_text_in_linear_time() -> None:
    body = b'["' + b'\\"' * 500_000 + b"[" * 100

    check_structure(body + b'"]', 1)


@pytest.mark.parametrize("value", [b'"\\ud800"', b'{"\\ud800":"\\ud800"}'], ids=["texts", "names"])
def test_decode_leniently__reports_less_text_than_the_body_has(value: bytes) -> None:
    body = b'{"email":5,"%b":[%b]}' % (b"a" * 10_000, b",".join([value] * 5_000))

    _, faults = decode_leniently(parse_json(body), ContactRequest)

    assert faults[0].pointer == "/email"
    assert sum(len(fault.pointer) + len(fault.detail) for fault in faults) < len(body)


def test_decode_leniently__returns_the_valid_fields_with_the_faults() -> None:
    data = parse_json(b'{"email": 5, "first_name": "Jane", "contact_custom_fields_input": [{"field_name": "a", "field_value": 1}]}')

    created, faults = decode_leniently(data, ContactRequest)

    assert (created.email, created.first_name, created.contact_custom_fields_input[0].field_name) == ("", "Jane", "a")
    assert [fault.pointer for fault in faults] == ["/email", "/contact_custom_fields_input/0/field_value"]

"""The rules for values: what a declared custom field takes, and how FLAT answers it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.clients.models import ClientSettings, FieldType, StatusSet
from touchbase.errors import Fault, Invalid
from touchbase.history.events import CONTACT
from touchbase.records.validation import custom_fields, json_value, raise_if_any, status, typed_value

NUMBER, BOOLEAN, DATE = FieldType("number"), FieldType("boolean"), FieldType("date")


def taken(value: str, declared: FieldType) -> bool:
    faults: list[Fault] = []
    typed_value(value, declared, "/value", faults)
    return not faults


@pytest.mark.parametrize("value", ["0", "-0", "12", "-3.5", "1e3", "1.5E-7", "9" * 100])
def test_number_field__accepts_json_numbers(value: str) -> None:
    assert taken(value, NUMBER)
    assert json_value(value, NUMBER) == json.loads(value)


@pytest.mark.parametrize("value", ["many", "+1", "01", ".5", "5.", "1,000", "0x10", "NaN", "Infinity", "1e999", "٣", "1 2", "9" * 101, "-"])
def test_number_field__refuses_other_text_and_returns_it_as_text(value: str) -> None:
    assert not taken(value, NUMBER)
    assert json_value(value, NUMBER) == value


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**90), 10**90))
def test_number_field__preserves_any_number(number: float) -> None:
    assert json_value(json.dumps(number), NUMBER) == number


@pytest.mark.parametrize(("value", "answer"), [("true", True), ("False", False), ("TRUE", True)])
def test_boolean_field__accepts_true_and_false_in_any_case(value: str, answer: bool) -> None:
    assert taken(value, BOOLEAN)
    assert json_value(value, BOOLEAN) is answer


@pytest.mark.parametrize("value", ["yes", "1", "t", "wahr"])
def test_boolean_field__refuses_other_words_and_returns_them_as_text(value: str) -> None:
    assert not taken(value, BOOLEAN)
    assert json_value(value, BOOLEAN) == value


@pytest.mark.parametrize(
    ("value", "wanted"), [("2026-11-20", True), ("2024-02-29", True), ("2026-02-29", False), ("20261120", False), ("2026-W47-5", False)]
)
def test_date_field__accepts_only_existing_iso_dates(value: str, wanted: bool) -> None:
    assert taken(value, DATE) is wanted
    assert json_value(value, DATE) == value


def test_blank_value__is_valid_for_number_and_boolean_and_null_in_flat() -> None:
    for declared in (NUMBER, BOOLEAN):
        assert taken("", declared)
        assert json_value("", declared) is None
    assert json_value("", FieldType("text")) == ""


def test_undeclared_value__stays_text() -> None:
    assert json_value("12", None) == "12"


@dataclass
class Given:
    field_name: str
    field_value: str


def test_custom_fields__trims_names_and_values_and_locates_each_error() -> None:
    faults: list[Fault] = []

    result = custom_fields([Given(" a ", " 1 "), Given("a", "2"), Given(" ", "3"), Given("n", "x")], {"n": NUMBER}, "/fields", faults)

    assert result[0][0] == "a"
    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/fields/1/field_name", "repeated"),
        ("/fields/2/field_name", "required"),
        ("/fields/3/field_value", "number"),
    ]


def test_select_field__bounds_the_size_of_repeated_error_messages() -> None:
    faults: list[Fault] = []
    select = FieldType("select", ["x" * 10_000] * 50)

    custom_fields([Given("a", "none of them")] * 500, {"a": select}, "/fields", faults)

    assert len(faults) == 500
    assert sum(len(fault.detail) for fault in faults) < 2 * 50 * 10_000


def test_status__accepts_any_value_without_a_set_of_the_client() -> None:
    faults: list[Fault] = []

    assert status("anything", ClientSettings(), CONTACT, "/status", faults) == "anything"
    assert status(None, ClientSettings(contact_statuses=StatusSet(["new"])), CONTACT, "/status", faults) is None
    assert faults == []


def test_raise_if_any__raises_all_faults_together() -> None:
    raise_if_any([])

    with pytest.raises(Invalid, match="/a: wrong; /b: wrong"):
        raise_if_any([Fault("/a", "x", "wrong"), Fault("/b", "x", "wrong")])

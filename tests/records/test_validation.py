"""The rules for values: what a declared custom field takes, and how FLAT answers it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.clients.models import FieldType, StatusSet
from touchbase.errors import Fault, Invalid
from touchbase.records.validation import custom_fields, json_value, raise_if_any, status, typed_value

NUMBER, BOOLEAN, DATE = FieldType("number"), FieldType("boolean"), FieldType("date")


def taken(value: str, declared: FieldType) -> bool:
    faults: list[Fault] = []
    typed_value(value, declared, "/value", faults)
    return not faults


@pytest.mark.parametrize("value", ["0", "-0", "12", "-3.5", "1e3", "1.5E-7", "9" * 100])
def test_a_number_is_what_json_calls_one(value: str) -> None:
    assert taken(value, NUMBER)
    assert json_value(value, NUMBER) == json.loads(value)


@pytest.mark.parametrize("value", ["many", "+1", "01", ".5", "5.", "1,000", "0x10", "NaN", "Infinity", "1e999", "٣", "1 2", "9" * 101, "-"])
def test_what_json_does_not_call_a_number_is_refused_and_stays_a_text(value: str) -> None:
    assert not taken(value, NUMBER)
    assert json_value(value, NUMBER) == value


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**90), 10**90))
def test_any_number_survives_being_a_text(number: float) -> None:
    assert json_value(json.dumps(number), NUMBER) == number


@pytest.mark.parametrize(("value", "answer"), [("true", True), ("False", False), ("TRUE", True)])
def test_a_boolean_is_true_or_false(value: str, answer: bool) -> None:
    assert taken(value, BOOLEAN)
    assert json_value(value, BOOLEAN) is answer


@pytest.mark.parametrize("value", ["yes", "1", "t", "wahr"])
def test_another_word_is_no_boolean(value: str) -> None:
    assert not taken(value, BOOLEAN)
    assert json_value(value, BOOLEAN) == value


@pytest.mark.parametrize(
    ("value", "wanted"), [("2026-11-20", True), ("2024-02-29", True), ("2026-02-29", False), ("20261120", False), ("2026-W47-5", False)]
)
def test_a_date_is_a_day_that_there_is(value: str, wanted: bool) -> None:
    assert taken(value, DATE) is wanted
    assert json_value(value, DATE) == value


def test_a_blank_value_is_of_every_type_and_flat_answers_null_for_it() -> None:
    for declared in (NUMBER, BOOLEAN):
        assert taken("", declared)
        assert json_value("", declared) is None
    assert json_value("", FieldType("text")) == ""


def test_an_undeclared_value_is_a_text_whatever_it_looks_like() -> None:
    assert json_value("12", None) == "12"


@dataclass
class Given:
    field_name: str
    field_value: str


def test_names_and_values_are_trimmed_and_each_fault_has_its_place() -> None:
    faults: list[Fault] = []

    found = custom_fields([Given(" a ", " 1 "), Given("a", "2"), Given(" ", "3"), Given("n", "x")], {"n": NUMBER}, "/fields", faults)

    assert found[0][0] == "a"
    assert [(fault.pointer, fault.code) for fault in faults] == [
        ("/fields/1/field_name", "repeated"),
        ("/fields/2/field_name", "required"),
        ("/fields/3/field_value", "number"),
    ]


def test_the_choices_of_a_select_are_told_once_however_often_it_is_given() -> None:
    faults: list[Fault] = []
    select = FieldType("select", ["x" * 10_000] * 50)

    custom_fields([Given("a", "none of them")] * 500, {"a": select}, "/fields", faults)

    assert len(faults) == 500
    assert sum(len(fault.detail) for fault in faults) < 2 * 50 * 10_000


def test_without_a_set_of_its_own_a_client_takes_any_status() -> None:
    faults: list[Fault] = []

    assert status("anything", None, "/status", faults) == "anything"
    assert status(None, StatusSet(["new"]), "/status", faults) is None
    assert faults == []


def test_faults_are_raised_together_and_no_faults_are_not_raised() -> None:
    raise_if_any([])

    with pytest.raises(Invalid, match="/a: wrong; /b: wrong"):
        raise_if_any([Fault("/a", "x", "wrong"), Fault("/b", "x", "wrong")])

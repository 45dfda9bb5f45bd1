"""The table of fields: a field that is added to it is everywhere, and it agrees with the models."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields as attributes
from pathlib import Path

import pytest

from touchbase.records.fields import EMAILS, NUMBER, TEXT, TIME, Field
from touchbase.records.record_type import RECORD_TYPES

PHONE = "+44 20 7946 0958"
ANNOTATIONS = {
    TEXT: ("str", "str | None"), EMAILS: ("str | None",), NUMBER: ("int", "int | None"), TIME: ("Micros", "Micros | None"),
}  # fmt: skip
MEMBERS = [(kind, field) for kind in RECORD_TYPES for field in RECORD_TYPES[kind].members]


def with_phone(store: Path, *, attribute: bool) -> subprocess.CompletedProcess[str]:
    """Run the application with the field `phone` in a process of its own."""
    command = [sys.executable, "-m", "tests.records.with_phone", str(store), "complete" if attribute else "row"]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.slow
def test_field__that_is_a_row_of_the_table_is_in_every_part_of_the_application(tmp_path: Path) -> None:
    result = with_phone(tmp_path / "t.db", attribute=True)

    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {
        "created": PHONE,
        "searched": [1],
        "searched by words": [1],
        "history": [PHONE],
        "exported": f"'{PHONE}",
        "guessed": "phone",
        "of a tool": 200,
        "described": {
            "ContactChange": "The telephone number. White space around it is removed; blank means unset.",
            "ContactResponse": "The telephone number.",
        },
        "merged": PHONE,
        "typing error": "is no member of a contact; the member is called phone",
        "too long": 422,
        "unset": True,
    }


@pytest.mark.slow
def test_field__without_an_attribute_of_the_model_is_an_error_at_import(tmp_path: Path) -> None:
    result = with_phone(tmp_path / "t.db", attribute=False)

    assert result.stderr.splitlines()[-1].startswith("TypeError: records/models.py has no attribute for the column phone of a contact")


@pytest.mark.parametrize(("kind", "field"), MEMBERS, ids=[f"{RECORD_TYPES[kind].name}-{field.name}" for kind, field in MEMBERS])
def test_table__has_the_types_of_the_models(kind: int, field: Field) -> None:
    annotations = {attribute.name: attribute.type for attribute in attributes(RECORD_TYPES[kind].model)}  # type: ignore[arg-type]

    assert annotations[field.column] in ANNOTATIONS[field.kind]
    if field.key:
        assert annotations[field.key] in ANNOTATIONS[TEXT]


@pytest.mark.parametrize("kind", RECORD_TYPES)
def test_headers__name_one_field_only(kind: int) -> None:
    """A header of two fields would be guessed to be the first of them, whichever that is."""
    headers = [header for field in RECORD_TYPES[kind].members for header in field.headers]

    assert len(headers) == len(set(headers))

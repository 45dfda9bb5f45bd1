"""Custom fields as a resource of a client: list, define, type, rename, merge and remove; and values to respell."""

from __future__ import annotations

from touchbase.custom_fields.changes import ACTIONS, FieldChange
from touchbase.custom_fields.commands import (
    ChangePage,
    CountValues,
    DefineField,
    FieldUse,
    FieldValue,
    FindUses,
    ForgetField,
    ReadValues,
    StartChange,
)
from touchbase.custom_fields.job import KINDS
from touchbase.custom_fields.service import CustomField, Preview, TypeCheck, check_merge, check_type, list_fields, preview_change

__all__ = [
    "ACTIONS",
    "KINDS",
    "ChangePage",
    "CountValues",
    "CustomField",
    "DefineField",
    "FieldChange",
    "FieldUse",
    "FieldValue",
    "FindUses",
    "ForgetField",
    "Preview",
    "ReadValues",
    "StartChange",
    "TypeCheck",
    "check_merge",
    "check_type",
    "list_fields",
    "preview_change",
]

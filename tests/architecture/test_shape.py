"""Files and functions stay small enough to read, and say what they are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from statistics import median

from tests.architecture.source import FILES, trees

TEXTS = {path: path.read_text(encoding="utf-8") for path in FILES.values()}

LONGEST_FILE = 350
LONGEST_FUNCTION = 45
USUAL_FUNCTION = 12


def functions() -> Iterator[tuple[int, str]]:
    """The length and place of every function."""
    for module, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                yield node.end_lineno - node.lineno + 1, f"{FILES[module].name}:{node.lineno} {node.name}"


def test_modules__have_a_docstring() -> None:
    assert [module for module, tree in trees().items() if not ast.get_docstring(tree)] == []


def test_files__are_within_the_maximum_length() -> None:
    assert {str(path): text.count("\n") for path, text in TEXTS.items() if text.count("\n") > LONGEST_FILE} == {}


def test_functions__are_within_the_maximum_length() -> None:
    assert [place for length, place in functions() if length > LONGEST_FUNCTION] == []


def test_functions__have_a_short_median_length() -> None:
    assert median(length for length, _ in functions()) < USUAL_FUNCTION


def test_code__contains_no_todo_marks() -> None:
    marks = ("TO" + "DO", "FIX" + "ME", "NotImplemented" + "Error")

    assert [str(path) for path, text in TEXTS.items() if any(mark in text for mark in marks)] == []

"""Modules say what they are."""

from __future__ import annotations

import ast

from tests.architecture.source import trees


def test_modules__have_a_docstring() -> None:
    assert [module for module, tree in trees().items() if not ast.get_docstring(tree)] == []

"""What docs/explanation/security.md says is tested: every test that it names is there, and every risk names one."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "security.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| API\d", line)]


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of a file's tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_security_page__has_a_test_for_every_risk() -> None:
    assert [line.split()[1] for line in ROWS] == [f"API{number}" for number in range(1, 11)]
    assert [line[:40] for line in ROWS if "::test_" not in line] == []


def test_security_page__names_only_existing_tests() -> None:
    named = re.findall(r"`(tests/[\w/.]+)::(\w+)`", PAGE)

    assert len(named) > 20
    assert [f"{path}::{name}" for path, name in named if not (ROOT / path).exists() or name not in names_in(path)] == []


def test_security_policy__links_the_security_page() -> None:
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")

    assert "docs/explanation/security.md" in policy
    assert "Supported versions" in policy
    assert "SECURITY.md" in PAGE

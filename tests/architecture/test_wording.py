"""One word for one thing in what people read: the console, the API's texts, errors, commands, documentation, alerts and dashboards."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROSE = {
    r"\bhand(s|ed|ing)? out\b": "export",
    r"\bfor (ever|good)\b": "permanent",
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\bnot understood\b": "not recognised",
    r"\bpoint at its fields\b": "map fields",
    r"\bproved? (its|their|the) sender|\bproves (its|their|the) sender|\bsender was not proved\b": "signature missing or wrong",
    r"(?<![\w`'\".])mailed\b(?![`'\"_])": "emailed",
    r"\bno call from\b": "nothing from",
    r"\bcalls of tools\b": "webhooks",
}
"""Words that were replaced, wherever somebody reads them; code and names of members are no words."""
LABELS = {
    r"(?<![\w/])(Inbox|Outgoing)(?!\w)": "Webhooks, Endpoints",
    r"\b(Also ended ones|Keep this view|What it decides)\b": "Include expired, Save view, General",
    r"\b(Creating what exists|Days in the bin)\b": "If the record exists, Keep deleted records",
    r"\b(A mail was sent|All contacts that may be one)\b": "Email sent, Find duplicates",
    r"\b(May they be contacted|Make the key|Silences)\b": "Check addresses, Create key, Activity",
    r"\bOnly count\b|\bPut \S+ on the list\b|\bignored ones too\b": "Test run, Block, Processed",
    r"\bat most \d+ a day\b|\bImport of contacts \d": "Peak, contacts.csv",
}
"""Labels of the console that were replaced."""


def console() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "console" / "src").rglob("*.ts*")):
        code = re.sub(r"/\*.*?\*/|^\s*//.*$|^import .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        yield str(path.relative_to(ROOT)), code


def described(value: Any) -> Iterator[str]:
    """The texts of an OpenAPI document that people read."""
    if isinstance(value, dict):
        yield from (text for name in ("description", "summary") if isinstance(text := value.get(name), str))
        for part in value.values():
            yield from described(part)
    elif isinstance(value, list):
        for part in value:
            yield from described(part)


def said(path: Path) -> Iterator[str]:
    """The texts of a module that are not for developers: all but comments and docstrings, which are the help of commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    of_constants = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_help = "cli" in path.parts and id(node) in docstrings
            # A word alone is the name of a member or an event.
            if " " in node.value and (is_help or id(node) not in of_constants):
                yield node.value


def prose() -> Iterator[tuple[str, str]]:
    yield "openapi.json", "\n".join(described(json.loads((ROOT / "openapi.json").read_text(encoding="utf-8"))))
    for path in sorted((ROOT / "src" / "touchbase").rglob("*.py")):
        # Adapters name the words of tools, SQL its own; fields, the headings of others' files.
        if not {"adapters", "sql", "data"} & {*path.parts} and path.name != "fields.py":
            yield str(path.relative_to(ROOT)), "\n".join(said(path))
    paths = [ROOT / "README.md", *sorted((ROOT / "deploy").rglob("*.y*ml")), *sorted((ROOT / "deploy").rglob("*.json"))]
    paths += [path for path in sorted((ROOT / "docs").rglob("*.md")) if "decisions" not in path.parts]
    for path in paths:
        text = re.sub(r"```.*?```|`[^`\n]*`", "`", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        yield str(path.relative_to(ROOT)), text


def test_words__are_those_of_the_wording_table() -> None:
    found = []
    for texts, words in ((prose(), PROSE), (console(), PROSE | LABELS)):
        for place, text in texts:
            for pattern, instead in words.items():
                flags = re.IGNORECASE if pattern in PROSE else 0
                found += [
                    f"{place}: …{text[max(0, match.start() - 40) : match.end() + 20]!r}: {instead}"
                    for match in re.finditer(pattern, text, flags)
                ]

    assert found == []

"""The engines know tables of their own only; what a room's tables need is passed to them."""

from __future__ import annotations

import ast
import re

from tests.architecture.source import ROOT, trees

OWN = {"migration", "id_block", "encryption_key", "store_copy"}
DIRECTORY = {"cell"}
"""Commands about one store read the names of its cells without its encryption key."""


def test_storage__names_no_table_of_a_room() -> None:
    schema = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "sql" / "schema").glob("*.sql"))
    tables = {*re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", schema)} - OWN - DIRECTORY
    results = [
        (module, node.lineno, name)
        for module, tree in trees().items()
        if module.startswith("touchbase.storage")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for name in re.findall(r"\b(?:FROM|INTO|UPDATE|JOIN|ANALYZE|VACUUM) (\w+)", node.value)
        if name in tables
    ]

    assert len(tables) > 50
    assert results == []

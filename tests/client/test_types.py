"""Types that a strict checker accepts, and with which it finds mistakes; and what importing costs."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import touchbase_client

PROGRAM = """
import asyncio
from collections.abc import AsyncIterator, Iterator

from touchbase_client import AsyncTouchbase, Touchbase, models

tb = Touchbase("http://127.0.0.1:8000")
made: models.ContactResponse = tb.contacts.create({"email": "ann@example.com"}, on_duplicate="update")
said: models.DryRunResponse = tb.contacts.create.dry_run({"email": "ann@example.com"})
etag: str | None = tb.contacts.get.response(made["id"]).etag
every: Iterator[models.CompanyResponse] = tb.companies.iterate(domain="example.com")
pieces: Iterator[bytes] = tb.jobs.result.stream(5)
removed: None = tb.webhook_endpoints.remove(5)
event: models.LogEvent = next(tb.events.follow())


async def main() -> AsyncIterator[models.ContactResponse]:
    atb = AsyncTouchbase("http://127.0.0.1:8000")
    found: models.ContactResponse = await atb.contacts.get(made["id"])
    return atb.contacts.iterate(contact_status=found.get("contact_status"))


asyncio.run(main())
"""
MISTAKES = {
    'tb.contacts.create({"emial": "ann@example.com"})': "emial",
    'tb.contacts.list(emial="ann@example.com")': "email",
    'tb.contacts.get("ann")': 'expected "int"',
    'tb.contacts.create({}, on_duplicate="never")': "never",
    'tb.contacts.create({})["emial"]': "emial",
    "tb.contact": "contact",
    "asyncio.run(main()).send": "send",
}


@pytest.mark.slow
def test_types__are_accepted_by_mypy_and_find_mistakes(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(PROGRAM + "\n".join(MISTAKES) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", str(tmp_path / "cache")]
    right = subprocess.run([*command, "right.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    wrong = subprocess.run([*command, "wrong.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    first = PROGRAM.count("\n") + 1

    assert right.returncode == 0, right.stdout
    for line, (mistake, about) in enumerate(MISTAKES.items(), first):
        assert [item for item in wrong.stdout.splitlines() if f"wrong.py:{line}: error" in item and about in item], (mistake, wrong.stdout)


def test_import__loads_no_http_library_and_no_event_loop() -> None:
    code = "import sys, touchbase_client as c; c.Touchbase('http://127.0.0.1'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert {"httpcore", "asyncio", "ssl", "touchbase_client._async", "touchbase_client.models"}.isdisjoint(loaded)


def trees() -> Iterator[tuple[Path, ast.Module]]:
    """The modules of the package."""
    folder = Path(touchbase_client.__file__).parent
    for path in folder.rglob("*.py"):
        yield path.relative_to(folder), ast.parse(path.read_text(encoding="utf-8"))


def test_package__imports_the_standard_library_httpcore_and_itself() -> None:
    nodes = [node for _, tree in trees() for node in ast.walk(tree)]
    imported = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}

    assert {name.partition(".")[0] for name in imported} - sys.stdlib_module_names == {"httpcore", "touchbase_client"}


def test_synchronous_face__waits_for_no_event_loop(subtests: pytest.Subtests) -> None:
    for path, tree in trees():
        if path.parts[0] == "_sync":
            with subtests.test(str(path)):
                waiting = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
                names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}

                assert [node for node in ast.walk(tree) if isinstance(node, waiting)] == []
                assert {name for name in names if name.startswith(("Async", "aclos", "anext", "asyncio"))} == set()

"""What a command on a store does not load."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from touchbase.stores import open_store

LARGE = ("asyncpg", "rapidfuzz", "pyarrow", "joserfc", "uvicorn", "uvloop", "opentelemetry", "nats", "openpyxl", "python_calamine")
"""Libraries that take tens of milliseconds to load, and of which a list of clients on SQLite has no use."""
PROGRAM = """
import sys
from touchbase.cli import cli
cli(["clients", "list", "--database", sys.argv[1]], standalone_mode=False)
print([name for name in sys.argv[2:] if name in sys.modules])
"""


def test_command_on_a_sqlite_store__loads_no_large_library_that_it_does_not_use(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/store.db"
    asyncio.run(_make(database))
    command = [sys.executable, "-c", PROGRAM, database, *LARGE]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


async def _make(database: str) -> None:
    await (await open_store(database)).close()

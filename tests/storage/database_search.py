"""Search a whole database for words: every column of every table in the schema, and the bytes of SQLite's files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import asyncpg


def _holds(value: object, needles: Iterable[str]) -> list[str]:
    text = bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)
    return [needle for needle in needles if needle.casefold() in text.casefold()]


async def find_in_database(engine_url: str, *needles: str) -> list[str]:
    """Return the places that contain any of these words, as `table.column: word` and `file: word`."""
    rows = _sqlite(engine_url) if engine_url.startswith("sqlite") else await _postgres(engine_url)
    results = {f"{place}: {word}" for place, value in rows for word in _holds(value, needles)}
    if engine_url.startswith("sqlite"):
        results |= _in_files(engine_url.removeprefix("sqlite:///"), needles)
    return sorted(results)


def _in_files(path: str, needles: Iterable[str]) -> set[str]:
    files = [file for file in (Path(path), Path(f"{path}-wal")) if file.exists()]
    return {f"{file.name}: {word}" for file in files for word in needles if word.lower().encode() in file.read_bytes().lower()}


def tables_of_sqlite(engine_url: str) -> dict[str, list[str]]:
    """Columns of every table of a SQLite database."""
    with apsw.Connection(engine_url.removeprefix("sqlite:///")) as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")] for table in tables}


def _sqlite(engine_url: str) -> list[tuple[str, Any]]:
    results: list[tuple[str, Any]] = []
    with apsw.Connection(engine_url.removeprefix("sqlite:///")) as connection:
        for table, columns in tables_of_sqlite(engine_url).items():
            for column in columns:
                results += [(f"{table}.{column}", row[0]) for row in connection.execute(f"SELECT {column} FROM {table}")]
    return results


async def _postgres(engine_url: str) -> list[tuple[str, Any]]:
    connection = await asyncpg.connect(engine_url, server_settings={"touchbase.clients": "all"})
    try:
        columns = await connection.fetch(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        )
        results: list[tuple[str, Any]] = []
        for table, column in columns:
            results += [(f"{table}.{column}", row[0]) for row in await connection.fetch(f"SELECT {column} FROM {table}")]
        return results
    finally:
        await connection.close()

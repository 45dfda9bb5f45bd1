"""Pages of a list, with every filter, at the top, half way and near the end: milliseconds of each."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from datetime import datetime
from time import perf_counter
from urllib.parse import quote

from bench.dataset import SPREAD
from bench.load import Address
from bench.server_process import CannotMeasure
from touchbase.http.query_parameters import cursor_text

DEPTHS = (0.0, 0.5, 0.97)
PAGES = 15
"""At each depth, each beginning elsewhere."""
EARLY = "updated_since=2000-01-01T00:00:00Z"
FILTERS = (
    "",
    "contact_status=replied",
    "contact_status=won",
    "company_id={company}",
    EARLY,
    f"{EARLY}&contact_status=replied",
    f"{EARLY}&contact_status=won",
    f"{EARLY}&company_id={{company}}",
)
"""`won` is the status of one contact of a thousand."""


def slowest_pages(address: Address, count: int) -> dict[str, list[list[float]]]:
    """Milliseconds of each page by filters, depth and try."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
    with closing(connection):
        first = json.loads(_asked(connection, f"{EARLY}&limit=1")[1])["data"][0]["updated_time"]
        lowest = int(datetime.fromisoformat(first.replace("Z", "+00:00")).timestamp() * 1e6)
        return {filters or "none": [_pages(connection, filters, depth, count, lowest) for depth in DEPTHS] for filters in FILTERS}


def _pages(connection: http.client.HTTPConnection, filters: str, depth: float, count: int, lowest: int) -> list[float]:
    results = []
    for number in range(PAGES):
        part = depth + number * 0.001
        place = _cursor(filters, part, count, lowest) if depth else ""
        company = int(part * count / 10) + 1 + number
        query = "&".join(filter(None, ("limit=50", filters.format(company=company), place)))
        results.append(_asked(connection, query)[0])
    return results


def _cursor(filters: str, part: float, count: int, lowest: int) -> str:
    number = int(part * count)
    by_time = filters.startswith(EARLY)
    order, at = ("contacts by time", lowest + int(part * SPREAD)) if by_time else ("contacts by creation", 0)
    return f"cursor={quote(cursor_text(order, (at, number)))}"


def _asked(connection: http.client.HTTPConnection, query: str) -> tuple[float, bytes]:
    before = perf_counter()
    connection.request("GET", f"/public/v2/contacts?{query}")
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != 200:
        raise CannotMeasure(f"a list ({query}) was answered {answer.status}: {said.decode()}")
    return (perf_counter() - before) * 1000, said

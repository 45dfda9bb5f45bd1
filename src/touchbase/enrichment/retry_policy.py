"""Retry policy: the meaning of an API response's status for fetching."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.tools import ApiResponse, FetchFailed

RECORDS: Final = "records"
GONE: Final = "gone"
LIMITED: Final = "limited"
RETRY: Final = "failed"
STOPPED: Final = "stopped"
"""Outcomes of a request (`FetchOutcome.outcome`); `OK` and `SPLIT` are verdicts on the way to one."""

OK: Final = "ok"
SPLIT: Final = "split"

DEFAULT_WAIT = 15.0
"""Seconds to wait after a 429 without `Retry-After`."""
_RETRY = (408, 409, 423, 425)
_SPLIT = (400, 413, 414, 422)
_STOP = {
    401: "the access token is wrong or has expired: give the connection a new one",
    402: "the tool requires a payment before its API can be used",
    403: "the access token lacks a permission: docs/reference/connections.md lists them; then give the connection a new one",
    407: "a proxy before the tool requires a password",
}


def classify_response(tool: str, response: ApiResponse, *, single: bool, now_us: Micros) -> str | FetchFailed:
    """Return OK, GONE (no such record), SPLIT (fetch the records one by one), or the failure.

    `single`: the API returns one record for each request, so that a 404 concerns that record.
    """
    status = response.status
    if 200 <= status < 300:
        return OK
    if status in (404, 410) and single and response.body.lstrip()[:1] == b"{":
        return GONE
    if status in _SPLIT:
        return SPLIT
    if status == 429 or (status == 503 and "retry-after" in response.headers):
        return FetchFailed(f"{tool} answered {status}: too many requests", retry_after=seconds_to_wait(response, now_us))
    if status >= 500 or status in _RETRY:
        return FetchFailed(f"{tool} answered {status}")
    # Otherwise a redirect, or a URL that is not the API's: the cause is not in the records.
    return FetchFailed(f"{tool} answered {status}: {_STOP.get(status, 'is api_base the URL of its API?')}", stop=True)


def seconds_to_wait(response: ApiResponse, now_us: Micros) -> float:
    """Return the seconds of `Retry-After`, which may be a date; without the header `DEFAULT_WAIT`."""
    seconds = retry_after_of(response.headers, now_us)
    return DEFAULT_WAIT if seconds is None else seconds


def retry_after_of(headers: Mapping[str, str], now_us: Micros) -> float | None:
    """Return the seconds of `Retry-After`, which may be a date; None without the header."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        return float(text[:10])
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return max(1.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - now_us / SECOND)

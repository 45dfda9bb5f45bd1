"""What the status of a tool's answer means for fetching."""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final

from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.tools import ApiResponse, FetchFailed

RECORDS: Final = "records"
GONE: Final = "gone"
LIMITED: Final = "limited"
TRY_AGAIN: Final = "failed"
STOP: Final = "stopped"
"""What a call may come to."""

GOOD: Final = "good"
USELESS: Final = "useless"

USUAL_WAIT = 15.0
"""Seconds to wait after a 429 that does not say how long."""
_SOON_BETTER = (408, 409, 423, 425)
_NOT_TOGETHER = (400, 413, 414, 422)
_STOP = {
    401: "the access token is wrong or has expired: connect the tool again with a new one (--access-token)",
    402: "the tool wants to be paid before its API may be asked",
    403: "the access token lacks a permission: docs/reference/connections.md says which, then connect the tool again",
    407: "something between us and the tool wants a password",
}


def judged(tool: str, answer: ApiResponse, *, alone: bool, now_us: Micros) -> str | FetchFailed:
    """GOOD, GONE (no such record), USELESS (asked in vain for these together), or why the tool gave no answer.

    `alone`: the API is asked for one record at a time, so that a 404 is about that record.
    """
    status = answer.status
    if 200 <= status < 300:
        return GOOD
    if status in (404, 410) and alone and answer.body.lstrip()[:1] == b"{":
        return GONE
    if status in _NOT_TOGETHER:
        return USELESS
    if status == 429 or (status == 503 and "retry-after" in answer.headers):
        return FetchFailed(f"{tool} answered {status}: too many calls", retry_after=_seconds(answer, now_us))
    if status >= 500 or status in _SOON_BETTER:
        return FetchFailed(f"{tool} answered {status}")
    # Else a redirect, or an address that knows nothing of us: the records are not to blame.
    return FetchFailed(f"{tool} answered {status}: {_STOP.get(status, 'does api_base name its API?')}", stop=True)


def _seconds(answer: ApiResponse, now_us: Micros) -> float:
    told = answer.headers.get("retry-after", "").strip()
    if told.isascii() and told.replace(".", "", 1).isdigit():
        return float(told[:10])
    try:
        at = parsedate_to_datetime(told)
    except (ValueError, OverflowError):
        return USUAL_WAIT
    return max(1.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - now_us / SECOND)

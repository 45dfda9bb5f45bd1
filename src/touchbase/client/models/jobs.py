"""Types of jobs. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TypedDict

from touchbase.client.models.shared import JobOut



class JobPage(TypedDict):
    """A page of jobs, newest first."""

    data: list[JobOut]
    next_cursor: str | None

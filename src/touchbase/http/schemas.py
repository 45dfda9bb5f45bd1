"""Types of members of bodies, which the OpenAPI document is generated from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from touchbase.common import field_limits as limits
from touchbase.connections.models import CHANNELS
from touchbase.history.problems import described
from touchbase.inbox.delivery import STATES

Name = Annotated[str, Meta(max_length=limits.NAME, description="White space around it is removed; blank means unset.")]
RecordId = Annotated[int, Meta(ge=1, le=limits.LARGEST_ID)]
Time = Annotated[str, Meta(description="RFC 3339, UTC.", examples=["2026-11-20T09:30:00Z"], extra_json_schema={"format": "date-time"})]
MaybeTime = Time | None
ChannelOut = Annotated[str, Meta(extra_json_schema={"enum": list(CHANNELS)})]
DeliveryStateOut = Annotated[str, Meta(extra_json_schema={"enum": list(STATES)})]


class ProblemOut(Struct):
    """A problem of an event that was applied nevertheless."""

    code: str
    detail: Annotated[str, Meta(description="What happened and what to do, for people.")]


def problems_out(problems: Mapping[str, str]) -> list[ProblemOut]:
    """Return problems as they appear in responses."""
    return [ProblemOut(code, detail) for code, detail in described(problems)]


encode = msgspec.json.Encoder().encode

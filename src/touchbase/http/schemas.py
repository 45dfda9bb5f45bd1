"""Bodies, field for field as in the interface; the OpenAPI description is made from these very types."""

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
    """What went wrong with an event that was applied all the same."""

    code: str
    detail: Annotated[str, Meta(description="What happened and what to do, for people.")]


def problems_out(problems: Mapping[str, str]) -> list[ProblemOut]:
    """Problems as they are shown."""
    return [ProblemOut(code, detail) for code, detail in described(problems)]


encode = msgspec.json.Encoder().encode

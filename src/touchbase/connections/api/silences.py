"""Bodies of responses about the silences of a connection."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from touchbase.common.timestamps import to_text
from touchbase.connections.rhythm import Silence, per_day
from touchbase.http.schemas import Time


class SilenceOut(Struct):
    """A time in which the tool's usual calls did not come."""

    since_time: Annotated[Time, Meta(description="The last call before it.")]
    noticed_time: Annotated[Time, Meta(description="When so many usual calls were missing that it was recognised.")]
    ended_time: Annotated[Time | None, Meta(description="The next call, or when the alarm was turned off; null: it lasts.")]
    calls_per_day: Annotated[float, Meta(ge=0, description="Of the seven days before it.", examples=[310.4])]
    usual_interval_seconds: Annotated[
        int | None,
        Meta(description="Usual time between two calls at the hour of `noticed_time`; null: less than one is usual.", examples=[240]),
    ]


class SilencePage(Struct):
    """The silences of a connection, newest first."""

    data: list[SilenceOut]
    next_cursor: str | None = None


def silence_out(one: Silence) -> SilenceOut:
    """Return a silence as shown."""
    ended = None if one.ended_us is None else to_text(one.ended_us)
    return SilenceOut(to_text(one.since_us), to_text(one.noticed_us), ended, per_day(one.week), one.usual_interval_seconds)

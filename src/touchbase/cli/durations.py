"""Durations as people write them: `7d`, `24h`, `30m`, `90s`, `0`."""

from __future__ import annotations

import re

import click

from touchbase.domain.times import SECOND, Micros

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
LONGEST_SECONDS = 3_660 * UNITS["d"]
_DURATION = re.compile(r"(\d{1,9})([smhd])")


class Duration(click.ParamType):
    """An option that holds a duration; its value is in microseconds."""

    name = "duration"

    def __init__(self, most_days: int | None = None) -> None:
        self._most = LONGEST_SECONDS if most_days is None else most_days * UNITS["d"]

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Micros:
        """The duration in microseconds."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        found = _DURATION.fullmatch(text)
        if found is None and text != "0":
            self.fail(f"{text!r} is no duration such as 7d, 24h, 30m or 0", param, ctx)
        seconds = int(found[1]) * UNITS[found[2]] if found else 0
        if seconds > self._most:
            self.fail(f"{text} is more than {self._most // UNITS['d']}d", param, ctx)
        return seconds * SECOND

"""Durations as people write them: `7d`, `24h`, `30m`, `90s`, `0`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from touchbase.common.timestamps import SECOND, Micros

F = TypeVar("F", bound=Callable[..., Any])
UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,9})([smhd])")


def micros_in(text: str) -> Micros | None:
    """The microseconds of a duration such as `24h`; None for another text."""
    found = _DURATION.fullmatch(text.strip())
    return int(found[1]) * UNITS[found[2]] * SECOND if found else None


def duration(most_days: int = 3_660) -> Callable[[click.Context, click.Parameter, str | None], Micros | None]:
    """A callback for an option that holds a duration; the value is in microseconds then."""

    def parse(context: click.Context, parameter: click.Parameter, text: str | None) -> Micros | None:
        if text is None:
            return None
        micros = 0 if text.strip() == "0" else micros_in(text)
        if micros is None:
            raise click.BadParameter(f"{text!r} is no duration such as 7d, 24h, 30m or 0")
        if micros > most_days * UNITS["d"] * SECOND:
            raise click.BadParameter(f"{text} is more than {most_days}d")
        return micros

    return parse


def keep_old_option(usual: str, about: str) -> Callable[[F], F]:
    """The option of commands that replace something and honour what was before for a while."""
    return click.option("--keep-old", default=usual, show_default=True, callback=duration(90), metavar="DURATION", help=about)

"""Packing: how what one process hands to another is pickled."""

from __future__ import annotations

import copyreg
from dataclasses import fields
from operator import attrgetter
from typing import TypeVar

T = TypeVar("T")


def packs_by_position(kind: type[T]) -> type[T]:
    """Class decorator, above `dataclass`: objects are pickled as the values of their fields, in order and without the names.

    It takes less than half as long both ways, and the server unpacks one or more of these for each delivery.
    """
    values = attrgetter(*(each.name for each in fields(kind)))  # type: ignore[arg-type]
    copyreg.pickle(kind, lambda one: (kind, values(one)))
    return kind

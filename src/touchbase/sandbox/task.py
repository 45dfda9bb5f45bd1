"""Tasks: functions that run in a sandbox process, named so that the server imports none of their parsers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

TASK_SECONDS = 10.0
"""CPU seconds of a task, or of one step of a session, unless it says otherwise."""


class TaskStopped(Exception):
    """A sandbox process ended during its task; `for_good` if the task exceeded its budget, so that a retry is useless."""

    def __init__(self, why: str, *, for_good: bool) -> None:
        super().__init__(why)
        self.why = why
        self.for_good = for_good


@dataclass(frozen=True)
class Task(Generic[P, T]):
    """A function of this project, written `module:function`; a test checks that each exists with these types.

    Its arguments and its result are pickled. It may raise a `TouchbaseError`; any other exception becomes a `RuntimeError`.
    """

    name: str
    seconds: float = TASK_SECONDS
    """CPU seconds that it may take; `process.limit_seconds` changes them while it runs."""

    def load(self) -> Callable[P, T]:
        """Import the function."""
        module, _, function = self.name.partition(":")
        loaded: Callable[P, T] = getattr(importlib.import_module(module), function)
        return loaded

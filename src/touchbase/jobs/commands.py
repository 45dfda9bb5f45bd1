"""Step of a job: its commands and its checkpoint, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.jobs.models import Checkpoint
from touchbase.sql.operation import Command


@dataclass(slots=True)
class JobStep(Command[list[Any]]):
    """Execute commands and store the job's checkpoint, in one transaction; returns the commands' results.

    `JobLost` if the worker does not have the job any more: then nothing is stored. `checkpoint` gets the results, or errors, in the
    order of the commands. It runs inside the transaction, perhaps on another thread, and again when the transaction is
    retried: it must be quick and without side effects.
    """

    client: int
    id: int
    token: str
    at: Micros
    lease_until_us: Micros
    commands: Sequence[Command[Any]]
    checkpoint: Callable[[list[Any]], Checkpoint]

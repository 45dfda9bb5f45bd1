"""The step of a job: its commands and its checkpoint, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.event_log.models import JOB, LoggedEvent
from touchbase.event_log.sql.log import with_cause
from touchbase.jobs.models import Checkpoint, JobLost
from touchbase.jobs.sql import begin_step, end_step
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Commands, command, needs_of, plan_of, weight_of_all
from touchbase.sql.statement import Plan


def _needs(steps: Sequence[Any]) -> Mapping[str, int]:
    return needs_of([inner for step in steps for inner in step.commands])


@command(ids=_needs, cipher=True, background=True, weight=lambda step: weight_of_all(step.commands))
def execute_step(
    ids: Ids,
    cipher: Cipher,
    client: int,
    id: int,
    token: str,
    at: Micros,
    lease_until_us: Micros,
    commands: Commands,
    checkpoint: Callable[[list[Any]], Checkpoint],
) -> Plan[list[Any] | JobLost]:
    """Execute commands and store the job's checkpoint, in one transaction; return the commands' results.

    `JobLost` if the worker does not have the job any more: then nothing is stored. `checkpoint` gets the results, or errors, in the
    order of the commands. It runs inside the transaction, perhaps on another thread, and again when the transaction is
    retried: it must be quick and without side effects.
    """
    job = yield from begin_step(client, id, token)
    if job is None:
        return JobLost(f"job {id} is not this worker's any more")

    before: Mapping[str, Any] = {}
    cause: Mapping[str, Any] = {}

    def by_job(event: LoggedEvent) -> LoggedEvent:
        nonlocal before, cause
        if event.cause is not before:  # usually all events of a statement share one
            before, cause = event.cause, {**event.cause, "origin": JOB, "job_id": id}
        event.cause = cause
        return event

    results: list[Any] = yield from with_cause(plan_of(commands, ids, cipher), by_job)
    yield from end_step(job, checkpoint(results), at, lease_until_us)
    return results

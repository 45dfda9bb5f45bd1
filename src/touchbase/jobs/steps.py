"""Plan of `JobStep`: a job's commands and its checkpoint, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.event_log.models import JOB, LoggedEvent
from touchbase.event_log.sql.log import with_cause
from touchbase.jobs.models import JobLost, JobStep
from touchbase.jobs.sql import begin_step, end_step
from touchbase.sql.batches import needs_of, plan_of, weight_of_all
from touchbase.sql.ids import Ids
from touchbase.sql.operation import executes
from touchbase.sql.statement import Plan


def _needs(commands: Sequence[JobStep]) -> Mapping[str, int]:
    return needs_of([inner for command in commands for inner in command.commands])


@executes(JobStep, ids=_needs, cipher=True, background=True, weight=lambda command: weight_of_all(command.commands))
def execute_step(command: JobStep, ids: Ids, cipher: Cipher) -> Plan[list[Any] | JobLost]:
    """Execute the commands of a job's step, and store its checkpoint."""
    job = yield from begin_step(command.client, command.id, command.token)
    if job is None:
        return JobLost(f"job {command.id} is not this worker's any more")

    def by_job(event: LoggedEvent) -> LoggedEvent:
        return replace(event, cause={**event.cause, "origin": JOB, "job_id": command.id})

    results: list[Any] = yield from with_cause(plan_of(command.commands, ids, cipher), by_job)
    yield from end_step(job, command.checkpoint(results), command.at, command.lease_until_us)
    return results

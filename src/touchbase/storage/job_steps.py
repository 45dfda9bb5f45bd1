"""The handler of `JobStep`: a job's commands and its checkpoint, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from touchbase.event_log.models import JOB, LoggedEvent
from touchbase.event_log.sql.log import with_cause
from touchbase.jobs.commands import JobStep
from touchbase.jobs.models import JobLost
from touchbase.jobs.sql import begin_step, end_step
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan
from touchbase.storage.batch import Handlers, needs_of, plan_of
from touchbase.storage.command_handlers import Handler


def with_job_steps(handlers: Handlers) -> Handlers:
    """Return these handlers and that of `JobStep`, which executes commands of any of them."""

    def run(commands: Sequence[JobStep], ids: Ids) -> Plan[list[object]]:
        results: list[object] = []
        for command in commands:
            results.append((yield from _execute(command, ids, handlers)))
        return results

    def needs(commands: Sequence[JobStep]) -> Mapping[str, int]:
        return needs_of([inner for command in commands for inner in command.commands], handlers)

    return {**handlers, JobStep: Handler(run, needs)}


def _execute(command: JobStep, ids: Ids, handlers: Handlers) -> Plan[list[Any] | JobLost]:
    job = yield from begin_step(command)
    if job is None:
        return JobLost(f"job {command.id} is not this worker's any more")

    def by_job(event: LoggedEvent) -> LoggedEvent:
        return replace(event, cause={**event.cause, "origin": JOB, "job_id": command.id})

    results: list[Any] = yield from with_cause(plan_of(command.commands, handlers, ids), by_job)
    yield from end_step(command, job, command.checkpoint(results))
    return results

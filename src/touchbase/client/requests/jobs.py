"""Requests of `jobs`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request

if TYPE_CHECKING:
    from touchbase.client.models.jobs import JobPage
    from touchbase.client.models.shared import JobOut, JobState


def list_jobs(
    *, kind: str | None = None, state: JobState | None = None, limit: int | None = None, cursor: str | None = None,
) -> Paged[JobPage, JobOut]:
    """List jobs, newest first."""
    return Paged(
        "list_jobs", "GET", "/public/v2/jobs", query={"kind": kind, "state": state, "limit": limit, "cursor": cursor}, of_client=True,
    )


def get_job(id: int) -> Request[JobOut]:
    """Get one job with its progress."""
    return Request("get_job", "GET", "/public/v2/jobs/{id}", in_path={"id": id}, of_client=True)


def cancel_job(id: int, *, idempotency_key: str | None = None) -> Request[JobOut]:
    """Cancel a job."""
    return Request(
        "cancel_job", "POST", "/public/v2/jobs/{id}/cancel", in_path={"id": id}, headers={"Idempotency-Key": idempotency_key},
        of_client=True, takes_key=True,
    )


def get_job_result(id: int) -> Request[bytes]:
    """Get the file that a job has made."""
    return Request("get_job_result", "GET", "/public/v2/jobs/{id}/result", in_path={"id": id}, of_client=True, answer="bytes")


def get_job_bad_rows(id: int) -> Request[bytes]:
    """Get the rows that an import refused, each with the reason."""
    return Request("get_job_bad_rows", "GET", "/public/v2/jobs/{id}/bad-rows", in_path={"id": id}, of_client=True, answer="bytes")

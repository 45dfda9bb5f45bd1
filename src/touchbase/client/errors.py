"""What can go wrong, as a tree of exceptions.

TouchbaseError
  ConnectionFailed      no answer
    IncompleteDownload
  UnexpectedAnswer      an answer that is not Touchbase's: another program or a proxy
  NotModified           the record is the one that `if_none_match` names
  JobFailed, JobTimeout
  WebhookError          a webhook that does not prove its sender
  Problem               an answer that says what is wrong; one class for each of its codes
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class TouchbaseError(Exception):
    """Any error of this library."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let errors cross processes, as those of `multiprocessing` and task queues do."""
        return _again, (type(self), self.args, dict(self.__dict__))


def _again(kind: type[TouchbaseError], args: tuple[Any, ...], members: Mapping[str, Any]) -> TouchbaseError:
    made = kind.__new__(kind, *args)
    made.__dict__.update(members)
    return made


class ConnectionFailed(TouchbaseError):
    """No answer came, also after the repetitions."""

    def __init__(self, message: str, *, outcome_unknown: bool = False, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.outcome_unknown = outcome_unknown
        """Whether the request may have been carried out."""
        self.idempotency_key = idempotency_key
        """The key of the call: a call with the same request and this key is not carried out twice."""


class IncompleteDownload(ConnectionFailed):
    """The connection broke before the end of a file."""


class UnexpectedAnswer(TouchbaseError):
    """The answer is not one of Touchbase's."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NotModified(TouchbaseError):
    """The record has not changed since the version that `if_none_match` names."""


class JobFailed(TouchbaseError):
    """A job ended without success, or waits for a decision."""

    def __init__(self, message: str, job: Any) -> None:
        super().__init__(message)
        self.job = job
        """The job as `jobs.get` returns it."""


class JobTimeout(TouchbaseError):
    """A job had not ended in the given time; it goes on."""

    def __init__(self, message: str, job: Any) -> None:
        super().__init__(message)
        self.job = job
        """The job as it was last seen."""


class WebhookError(TouchbaseError):
    """A webhook does not prove that Touchbase sent it: answer 401, and do nothing else with it."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One thing wrong with a request."""

    pointer: str
    """A JSON pointer into the body (`/email`), `?name` of a parameter, or the name of a header."""
    code: str
    detail: str

    @property
    def field(self) -> str:
        """The name of the member or parameter: the last part of the pointer."""
        return self.pointer.lstrip("?").rpartition("/")[2]


class Problem(TouchbaseError):
    """An answer that says what is wrong: a code of its own, or one that this version of the library does not know."""

    code: ClassVar[str] = ""
    next_step: ClassVar[str] = ""
    """What to do about it."""

    def __init__(self, status: int, body: Mapping[str, Any], *, lost: bool = False) -> None:
        self.status = status
        self.problem_code = str(body.get("code", ""))
        """The code that the answer has."""
        self.detail = str(body.get("detail", ""))
        self.request_id = str(body.get("request_id", ""))
        """The request's id in the server's log."""
        self.errors: Sequence[FieldError] = tuple(_field_errors(body.get("errors")))
        """Every fault of an invalid request."""
        self.existing_id: int | None = body.get("existing_id")
        """The id of the record that is there already, or into which this one was merged."""
        self.deleted_at: str | None = body.get("deleted_at")
        """When the record was deleted; it can be restored."""
        self.affected: int | None = body.get("affected")
        """Records that a change by filters would have changed."""
        self.valid_cursor: str | None = body.get("valid_cursor")
        """A cursor that events can be read from."""
        self.lost_attempt = lost
        """Whether an earlier attempt of the same call may have been carried out."""
        super().__init__(self.summary)

    @property
    def fields(self) -> list[str]:
        """The names of the faulty members and parameters."""
        return [each.field for each in self.errors]

    @property
    def summary(self) -> str:
        """What is wrong, and the request's id, without the advice for programs."""
        detail = "; ".join(f"{each.pointer or 'the body'}: {each.detail}" for each in self.errors) or self.detail
        lost = " An earlier attempt of this call lost its connection and may have been carried out: read the record first."
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.status} {self.problem_code}: {detail.rstrip('.')}.{lost if self.lost_attempt else ''}{request}"

    def __str__(self) -> str:
        return f"{self.summary} {self.next_step}".rstrip()


def _field_errors(errors: object) -> Iterator[FieldError]:
    for each in errors if isinstance(errors, list) else ():
        if isinstance(each, dict):
            yield FieldError(str(each.get("pointer", "")), str(each.get("code", "")), str(each.get("detail", "")))

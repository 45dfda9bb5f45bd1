"""Fillout: submissions, as its API has them and its webhooks are said to send them."""

from __future__ import annotations

from collections.abc import Iterator

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.answers import FormAdapter, FormAnswer
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.times import parse_time
from touchbase.common.timestamps import Micros


class Fillout(FormAdapter):
    """Reads Fillout's submissions, alone or below `submission`."""

    tool = "fillout"
    detection_keys = frozenset({"questions", "submission"})

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the submission's id and questions."""
        submission = _submission(body)
        return 92 if "submissionId" in submission and isinstance(submission.get("questions"), list) else 0

    def answers(self, body: Body) -> Iterator[FormAnswer]:
        """Yield the answers."""
        for question in map(as_dict, as_list(_submission(body).get("questions"))):
            yield FormAnswer(text(question.get("name")) or "", question.get("value"), text(question.get("type")) or "")

    def submission(self, body: Body) -> tuple[Micros | None, str | None]:
        """Return the time of the submission, and its id."""
        submission = _submission(body)
        return parse_time(first(submission, "submissionTime", "lastUpdatedAt")), text(submission.get("submissionId"))


def _submission(body: Body) -> Body:
    return as_dict(body.get("submission")) or body


ADAPTER = Fillout()

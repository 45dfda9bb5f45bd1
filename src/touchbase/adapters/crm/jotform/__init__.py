"""Jotform: webhooks, a form whose field `rawRequest` holds the answers as JSON, by keys such as `q3_email`. `username` is the owner."""

from __future__ import annotations

import re
from collections.abc import Iterator

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.answers import FormAdapter, FormAnswer
from touchbase.adapters.kit.crm_adapter import Body
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.parse import unquoted
from touchbase.common.timestamps import Micros

_QUESTION = re.compile(r"q\d+_([^\W\d]\D*)\d*")


class Jotform(FormAdapter):
    """Reads Jotform's webhooks."""

    tool = "jotform"
    detection_keys = frozenset({"rawRequest", "submissionID"})

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the fields that every webhook has."""
        return 95 if body.keys() >= {"formID", "submissionID", "rawRequest"} else 0

    def answers(self, body: Body) -> Iterator[FormAnswer]:
        """Yield the answers, each with the name in its key."""
        for key, value in as_dict(unquoted(body.get("rawRequest"))).items():
            if (question := _QUESTION.fullmatch(key)) is not None:
                yield FormAnswer(question[1], value)

    def submission(self, body: Body) -> tuple[Micros | None, str | None]:
        """Return no time, which webhooks leave out, and the submission's id."""
        return None, text(body.get("submissionID"))


ADAPTER = Jotform()

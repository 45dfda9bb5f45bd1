"""A form's answers as a person: the base of form tools, whose bodies are lists of label, type and value."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.body_shapes import usual_label
from touchbase.adapters.kit.crm import CONTACT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import linkedin_from
from touchbase.adapters.kit.extract import address, text
from touchbase.adapters.kit.status_labels import words
from touchbase.common.timestamps import Micros
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

_PERSON = RecordShape(
    CONTACT, email=("email",), first_name=("first_name",), last_name=("last_name",), full_name=("full_name",), linkedin=("linkedin_url",),
    useful=None,
)  # fmt: skip
_BY_KIND = {"email": "email", "phone": "phone", "phonenumber": "phone"}
_MAIL = re.compile(r"\be ?mail\b|\bmail\b")
_OF_OTHERS = re.compile(r"\b(referr?(er|ed|al)|colleague|friend|manager|assistant|partner|spouse|boss|other|second|alternative)\b")


class FormAnswer(NamedTuple):
    """One answer; `kind` is the field's type in the tool's words, if it has one."""

    label: str
    value: object
    kind: str = ""


class FormAdapter(CrmAdapter):
    """Reads the submissions of one form tool, each of which saves its person."""

    channels = (CRM, EMAIL_CAMPAIGN)
    event = "form_response"

    @abstractmethod
    def answers(self, body: Body) -> Iterable[FormAnswer]:
        """Return the answers of one submission."""

    @abstractmethod
    def submission(self, body: Body) -> tuple[Micros | None, str | None]:
        """Return the time of a submission, and its id."""

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the person of one submission; one that names nobody is ignored."""
        record = record_of_answers(self.answers(body))
        if not record.keys() & {"email", "linkedin_url"}:
            return [other_event("ignored", self.event)]
        at, key = self.submission(body)
        return CrmItem(_PERSON, UPDATED, None, None, self.event, at, key, record).events()


def record_of_answers(answers: Iterable[FormAnswer]) -> dict[str, object]:
    """Return the person in a form's answers: the first e-mail address that is not another person's; other answers by their labels."""
    record: dict[str, object] = {}
    for label, value, kind in answers:
        for name, part in _parts(label, value, kind):
            record.setdefault(name, part)
    return record


def _parts(label: str, value: object, kind: str) -> Iterator[tuple[str, object]]:
    plain, type_of = words(label), words(kind).replace("input ", "").replace("form ", "").replace(" ", "")
    if isinstance(value, dict):
        # A name in parts, a date or an address.
        for part, inner in value.items():
            name = {"first": "first_name", "last": "last_name"}.get(words(part), f"{label} {part}")
            yield name, text(inner)
        return
    shown = ", ".join(filter(None, map(text, value))) if isinstance(value, list) else text(value)
    if shown is None:
        return
    if _OF_OTHERS.search(plain) is None:
        if (type_of.startswith("email") or _MAIL.search(plain)) and address(shown) is not None:
            yield "email", shown
            return
        if "linkedin" in plain.replace(" ", "") and linkedin_from(shown) is not None:
            yield "linkedin_url", shown
            return
        if (field := usual_label(label) or _BY_KIND.get(type_of)) is not None and field not in ("email", "linkedin_url"):
            yield field, shown
            return
    yield label, shown

"""Whether a bounce is hard or soft, by the tool's type, the server's answer and the notice's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.adapters.kit.body_paths import paths
from touchbase.adapters.kit.status_labels import kind_of_bounce

TYPES = paths("bounce_type")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"bounce_type": "hard", "failure_message": "421 try again"}, "hard"),
        ({"failure_message": "550 5.1.1 user unknown"}, "hard"),
        ({"bounce": {"bouncedRecipients": [{"status": "5.1.1"}]}}, "hard"),
        ({"smtp_response": "452 4.2.2 mailbox full"}, "soft"),
        ({"error": "552 5.2.2"}, "soft"),
        ({"error": "552 5.3.4"}, "soft"),
        ({"error": "554 5.7.1"}, "soft"),
        ({"reply_text": "Your mail to ann@example.com bounced. 550-5.1.1 The address"}, "hard"),
        ({"body": "Status: 4.4.1"}, "soft"),
        ({"body": "Hi Ann, our invalid offer was temporary"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_bounce__is_hard_or_soft_by_type_answer_or_code(body: dict[str, object], kind: str) -> None:
    assert kind_of_bounce(body, TYPES) == kind


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda inner: st.dictionaries(st.sampled_from(["body", "bounce", "error"]), inner))
)
def test_kind__of_any_body_is_one_of_three(body: object) -> None:
    assert kind_of_bounce(body, TYPES) in ("hard", "soft", "unknown")

from __future__ import annotations

import pytest

from touchbase.adapters.kit.messages import is_machine_mail


@pytest.mark.parametrize(
    "body",
    [
        {"from_email": "MAILER-DAEMON@mx.example.com"},
        {"from": "Mail Delivery <postmaster@example.com>"},
        {"headers": {"Auto-Submitted": "auto-replied"}},
        {"headers": {"auto-submitted": ["auto-generated; x=1"]}},
        {"reply": {"headers": [{"name": "Precedence", "value": "auto_reply"}]}},
        {"message": {"headers": [["X-Autoreply", "yes"]]}},
        {"headers": {"Content-Type": "multipart/report; report-type=delivery-status"}},
    ],
)
def test_is_machine_mail__is_true_by_sender_or_header(body: dict[str, object]) -> None:
    assert is_machine_mail(body)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"from_email": "ann@example.com", "subject": "Re: Auto-Submitted"},
        {"headers": {"Auto-Submitted": "no", "Precedence": "list", "X-Autoreply": "no", "Content-Type": "text/plain"}},
        {"headers": "Auto-Submitted: auto-replied"},
        {"headers": [7, ["a"], {"name": None}]},
        {"from_email": ["x"], "headers": None},
    ],
)
def test_is_machine_mail__is_false_for_mail_of_a_person(body: dict[str, object]) -> None:
    assert not is_machine_mail(body)

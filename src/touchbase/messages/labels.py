"""Labels of replies: the author's intent, by the category that a campaign tool gives to the reply.

Categories are those that the tools document or show in their bodies (docs/reference/tools.md); a word that is not listed is no label.
"""

from __future__ import annotations

import re

LABELS = (
    "interested", "meeting", "question", "referral", "later", "not_interested", "wrong_person", "unsubscribe", "out_of_office", "other",
)  # fmt: skip
OUT_OF_OFFICE = "out_of_office"
_CATEGORIES = {
    "interested": "interested positive lead_interested willing_to_meet more_info warm",
    "meeting": "meeting meeting_request meeting_booked meeting_requested meeting_completed call_booked demo_booked booked",
    "question": "question information_request info_request asking_question has_question needs_info",
    "referral": "referral referred forwarded referred_to_colleague",
    "later": "later not_now maybe_later follow_up_later timing bad_timing contact_later maybe",
    "not_interested": "not_interested negative lead_not_interested no rejected lost do_not_want",
    "wrong_person": "wrong_person wrong_contact not_the_right_person lead_wrong_person left_company no_longer_works",
    "unsubscribe": "unsubscribe unsubscribed do_not_contact dnc remove opt_out stop",
    "out_of_office": "out_of_office ooo auto_reply autoreply automatic_reply auto_replied lead_out_of_office vacation autoresponder",
    "other": "other neutral lead_neutral",
}
_LABEL_OF = {category: label for label, categories in _CATEGORIES.items() for category in categories.split()}
_SEPARATORS = re.compile(r"[^a-z0-9]+")


def label_of(category: str | None) -> str | None:
    """Return the label of a tool's category, whatever its case and separators; None for an unknown one."""
    if category is None:
        return None
    return _LABEL_OF.get(_SEPARATORS.sub("_", category.casefold()).strip("_"))

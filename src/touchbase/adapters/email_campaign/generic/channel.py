"""The channel of an unknown tool's message: only emails change email dates."""

from __future__ import annotations

from touchbase.adapters.email_campaign.generic import field_paths
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import pick
from touchbase.adapters.kit.declarative import Item
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.status_labels import words

_ON_LINKEDIN = {
    m.SENT: m.LINKEDIN_SENT,
    m.MANUAL: m.LINKEDIN_SENT,
    m.REPLIED: m.LINKEDIN_REPLIED,
    m.AUTO_REPLIED: m.LINKEDIN_OTHER,
    m.OPENED: m.LINKEDIN_OTHER,
    m.CLICKED: m.LINKEDIN_OTHER,
    m.DELIVERED: m.LINKEDIN_OTHER,
    m.SEND_FAILED: m.LINKEDIN_OTHER,
}
_SHORT_ON_LINKEDIN = {
    "accepted": m.LINKEDIN_ACCEPTED,
    "connected": m.LINKEDIN_ACCEPTED,
    "new connection": m.LINKEDIN_ACCEPTED,
    "new relation": m.LINKEDIN_ACCEPTED,
    "relation new": m.LINKEDIN_ACCEPTED,
    "connect": m.LINKEDIN_INVITED,
    "connection": m.LINKEDIN_INVITED,
    "message": m.LINKEDIN_OTHER,
    "message request": m.LINKEDIN_OTHER,
    "view": m.LINKEDIN_OTHER,
    "viewed": m.LINKEDIN_OTHER,
    "visited": m.LINKEDIN_OTHER,
    "followed": m.LINKEDIN_OTHER,
    "liked": m.LINKEDIN_OTHER,
}
"""Names that mean something only in a body of LinkedIn's."""
_NEITHER = frozenset(
    {"sms", "whatsapp", "whats app", "call", "phone", "voice", "voicemail", "telegram", "instagram", "messenger", "chat"}
    | {"push", "web push", "in app"}
)
_NO_MAIL = _NEITHER | {"slack", "webhook"}


def meaning_on_channel(meaning: Meaning, name: str | None, item: Item, *, only_a_profile: bool) -> Meaning:
    """Return an event's meaning if the body names another channel, or identifies its person only by a profile.

    A name that says "mail" is about an email, whatever the body contains.
    """
    channel = words(pick(item, field_paths.CHANNEL, text) or "")
    is_linkedin = "linkedin" in channel.replace(" ", "") or (only_a_profile and not channel)
    if meaning is m.UNKNOWN and is_linkedin:
        return _SHORT_ON_LINKEDIN.get(words(name or ""), meaning)
    if not meaning.event.startswith(("email_", "manual_")) or "mail" in words(name or ""):
        return meaning
    if channel in _NEITHER or words(text(item.get("object_type")) or "") in _NO_MAIL:
        return m.OTHER
    if meaning not in _ON_LINKEDIN:
        return meaning
    return _ON_LINKEDIN[meaning] if is_linkedin else meaning

"""Classification of event names by their words: the first rule that matches decides.

Only the name is read, never the texts of a body: sent emails quote replies, and replies quote opt-out lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

from touchbase.adapters.kit.ignored_names import reason_to_ignore
from touchbase.adapters.kit.languages import in_english
from touchbase.adapters.kit.status_labels import words


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of an event name: one of our event types, and the status or bounce kind that the name implies."""

    event: str
    status: str | None = None
    kind: str | None = None
    counts_as_sent: bool = False
    inbound: bool = False
    """The recipient in the body is the client's own address."""


SENT = Meaning("email_sent")
DELIVERED = Meaning("email_delivered")
DELIVERED_AS_SENT = Meaning("email_delivered", counts_as_sent=True)
"""For tools without a sent event: the delivery report counts as sent."""
MANUAL = Meaning("manual_email_sent")
OPENED = Meaning("email_opened")
CLICKED = Meaning("email_clicked")
DEFERRED = Meaning("email_deferred")
SEND_FAILED = Meaning("email_send_failed")
REPLIED = Meaning("email_replied")
AUTO_REPLIED = Meaning("email_auto_replied")
BOUNCED = Meaning("email_bounced")
HARD_BOUNCED = Meaning("email_bounced", kind="hard")
SOFT_BOUNCED = Meaning("email_bounced", kind="soft")
UNSUBSCRIBED = Meaning("email_unsubscribed")
COMPLAINED = Meaning("email_spam_complaint")
RESUBSCRIBED = Meaning("email_resubscribed")
PREFERENCES = Meaning("email_preferences_changed")
"""An opt-out of one list or topic, or an opt-in: nothing is said about all mail."""
STATUS_IN_BODY = Meaning("lead_status_changed")
"""A status change whose status is elsewhere in the body."""
LINKEDIN_SENT = Meaning("linkedin_sent")
LINKEDIN_REPLIED = Meaning("linkedin_replied")
LINKEDIN_INVITED = Meaning("linkedin_invite_sent")
LINKEDIN_ACCEPTED = Meaning("linkedin_invite_accepted")
LINKEDIN_OTHER = Meaning("linkedin_other")
MEETING_BOOKED = Meaning("meeting_booked")
MEETING_CANCELED = Meaning("meeting_canceled")
MEETING_RESCHEDULED = Meaning("meeting_rescheduled")
MEETING_MISSED = Meaning("meeting_no_show")
COMPLETED = Meaning("campaign_completed")
SAVED = Meaning("contact_saved")
ACCOUNT = Meaning("account_event")
OTHER = Meaning("other")
INBOUND_EMAIL = Meaning("other", inbound=True)
"""An inbound email at a sender's address: not a campaign event, and its recipient is not a lead."""
UNKNOWN = Meaning("unknown")


def status(word: str) -> Meaning:
    """Return a status change whose status is in the name."""
    return Meaning("lead_status_changed", status=word)


_REPLY_PROCESSED = (
    r"(un)?archived|(un)?assigned|deleted|removed|updated|edited|(re)?scheduled|queued|approved|snoozed|starred|(un)?read|seen|tagged"
    r"|labell?ed|analy[sz]ed|forwarded|draft(ed)?|generated|suggested|needed|required|due|rate|limit|sentiment|intent|failed|sent"
)
_HANDLED = re.compile(rf"\b(reply|replies|response)\b.*\b({_REPLY_PROCESSED})\b")
_UNANSWERED = re.compile(r"\b(no|without|never|not) repl")


def _linkedin(name: str) -> Meaning:
    if _HANDLED.search(name) or _UNANSWERED.search(name):
        return LINKEDIN_SENT if re.search(r"\bsent\b", name) else LINKEDIN_OTHER
    is_invitation = re.search(r"invit|connect", name)
    # A failed or withdrawn one did not happen; a received one is not the client's.
    if re.search(r"fail|withdr|declin|reject|cancel|expired|skipped", name) or (is_invitation and "received" in name):
        return LINKEDIN_OTHER
    if re.search(r"\brepl(y|ied|ies)\b|received", name):
        return LINKEDIN_REPLIED
    if re.search(r"\baccept(ed)?\b|\bconnected\b", name):
        return LINKEDIN_ACCEPTED
    if is_invitation:
        return LINKEDIN_INVITED
    return LINKEDIN_SENT if re.search(r"\bsent\b", name) else LINKEDIN_OTHER


_NAMESPACE = re.compile(r"\blinked ?in( messenger)?\b")


def _without_namespace(name: str) -> str:
    """Return a name that says mail without the tool's channel: `linked_in_messenger.campaign_email_sent` is about a mail."""
    return _NAMESPACE.sub("", name).strip() if re.search(r"\be ?mails?\b|(?<!\bin )\bmails?\b", name) else name


def _bounce(name: str) -> Meaning:
    return HARD_BOUNCED if re.search(r"hard|permanent|invalid", name) else SOFT_BOUNCED if re.search(r"soft|temporary", name) else BOUNCED


def _automatic(name: str) -> Meaning:
    return status("out_of_office") if re.match(r"(lead|marked)\b", name) else AUTO_REPLIED


def _ours(name: str) -> Meaning:
    return MANUAL if re.search(r"\b(sent|replied)\b", name) else OTHER


def _account(name: str) -> Meaning:
    return OTHER if re.search(r"\b(task|tag|tags|paused)\b", name) else ACCOUNT


def _always(meaning: Meaning) -> Callable[[str], Meaning]:
    return lambda _: meaning


_BARS = r"unsub\w*|opt(?:ed)? ?out|suppression|do not contact|dnc|bl[ao]c?klist\w*"
_NO_CAMPAIGN = (
    r"^(?!.*mail).*\b(form|survey|quiz|poll|ticket|chat|comment|review|invoice|order|payment|proposal|quote|document|envelope|contract"
    r"|cart|notification|receipt|gift|fax|letter|postcard|payout|shipment|password|approval)s?\b"
)
_MEETING = r"\b(?:meeting|invitee|booking|appointment|demo)s?\b"
_PERSON = r"(?:(?:end ?)?user|subscriber|contact|lead|prospect|person|profile|customer|recipient|member)s?"
_SAVED = r"created?|added|new|updated?|changed?|edited|imported|saved?|registered|signed ?up|identified|enriched|upserted|synced"
_RULES: list[tuple[str, Callable[[str], Meaning]]] = [
    (r"\bnothing scheduled\b|\bno (\w+ ){1,3}scheduled\b", _always(OTHER)),
    # Neither email nor LinkedIn: a message there changes no email date and is no reply to an email.
    (r"\b(sms|whats ?app|voice ?mail|voice ?note|text message)s?\b", _always(OTHER)),
    (r"\b(web ?)?push\b|\bpush ?notification|\bin ?app( ?message)?\b|\bcontent ?card", _always(OTHER)),
    # Later processing of a reply is no reply, and a disconnected account is no invitation.
    (r"\b(dis|re)connected\b|\baccount connected\b|\bconnection (lost|error|issue)\b", _always(ACCOUNT)),
    (r"\b(linked ?in|e ?mail|sender|sending) accounts?\b|\bwarm ?up\b", _always(ACCOUNT)),
    (r"\b(campaign|sequence)\b.*\bpaused\b", _always(OTHER)),
    # Statistics say nothing about one person.
    (r"\b(bounced?|spam|complaint|unsubscribed?|reply) (rate|threshold)\b", _always(ACCOUNT)),
    # Undone or failed actions did not happen, a test is no email, and a list of domains or of own addresses names no person.
    (rf"\b({_BARS}|interested) ([a-z]+ )*(removed|deleted|lifted|cleared|revoked|failed)\b", _always(OTHER)),
    (rf"\b(removed|deleted) from( the)? ({_BARS})\b|\bunmarked\b", _always(OTHER)),
    (r"\bspam (test|check|score|filter)s?\b|\bnot (as )?spam\b|(?<!\bab )\btest (e ?mail|message)\b", _always(OTHER)),
    (r"\b(domain|ip|mailbox|sender)s? (\w+ )*bl[ao]c?klist|\bbl[ao]c?klist\w* (\w+ )*(domain|ip|mailbox|sender)\b", _always(OTHER)),
    (r"\b(reply|replies|response)\b.*\b(categori[sz]ed|classified)\b", _always(OTHER)),
    (r"\b(label|category|status)\b.*\b(removed|deleted|cleared|unset)\b", _always(OTHER)),
    (r"\b(reply|response)\b.*\b(category|label)\b", _always(STATUS_IN_BODY)),
    (r"\b(calendar|user|member|team|workspace)\b.*\binvit", _always(OTHER)),
    (r"^(?=.*\b(preferences?|topics?)\b).*\b(changed?|updated?)\b", _always(PREFERENCES)),
    (r"\b(mailing ?list|group|topic|category)s?\b.*\b(un|re)?subscribed?\b", _always(PREFERENCES)),
    (r"\b(channel|e ?mail|marketing|newsletter|list|subscriber|contact|lead) subscription (status )?(changed?|updated?)\b",
     _always(PREFERENCES)),
    (r"linked ?in\b|connection (request|accepted|sent)|\binvit(?!ee)|\bin ?mail\b|message reply|profile (view|visit)", _linkedin),
    (r"\bre ?subscri", _always(RESUBSCRIBED)),
    (r"\bun ?sub|\bopt(ed)? ?out", _always(UNSUBSCRIBED)),
    (rf"^({_PERSON} )?(has )?(subscribed|opt(ed)? ?in)( (to|from) (e ?mail|email marketing|marketing))?$", _always(RESUBSCRIBED)),
    (r"^(new )?form ?(response|submission|submitted|submit|completed)s?$|^form (response|submission) (created|received)$", _always(SAVED)),
    # Forms, purchases, signatures and support requests are no replies to an email, and emails about them are not campaign emails.
    (_NO_CAMPAIGN, _always(OTHER)),
    (r"\bspam|complain|\babuse", _always(COMPLAINED)),
    (r"bounce|\binvalid|\bundeliver|\bmailbox not found|failed permanent|permanent fail", _bounce),
    (r"\bauto ?(reply|replied|replies|response|responded|responder)\b|\bautomat(ic|ed)(?!.*\bsent\b)", _automatic),
    (r"out of (the )?office|\booo\b|\b(vacation|absence) (reply|response|message|notice)\b", _automatic),
    (rf"{_HANDLED.pattern}|\bforwarded\b|\bdrafted\b|\bcategori[sz]ed\b", _ours),
    (r"\b(admin|agent|teammate)\b.*\breplied\b|\b(await(s|ing)?|needs?|pending) (a )?(reply|response)\b", _ours),
    (_UNANSWERED.pattern, _always(COMPLETED)),
    (r"\brepl(y|ied|ies)\b|response received|message received", _always(REPLIED)),
    (rf"{_MEETING}.*\b(request|paid|payment|start|remind)", _always(OTHER)),
    (rf"{_MEETING}.*\b(reschedul|moved\b)|\breschedul\w* {_MEETING}", _always(MEETING_RESCHEDULED)),
    (rf"{_MEETING}.*\b(cancel|reject|declin)|\bcancel\w* {_MEETING}", _always(MEETING_CANCELED)),
    (rf"{_MEETING}.*\bno ?show\b", _always(MEETING_MISSED)),
    (r"\bnot interested|\buninterested", _always(status("not_interested"))),
    (r"\binterested\b|\bpositive\b", _always(status("interested"))),
    # A campaign tool's label of a lead; next to a meeting's start it is the meeting (generic adapter).
    (r"\b(meeting|demo|call) (booked|scheduled)\b", _always(status("meeting_booked"))),
    (rf"{_MEETING} (created|confirmed|booked|scheduled|made)\b", _always(MEETING_BOOKED)),
    (rf"\b(new|booked|scheduled) {_MEETING}$", _always(MEETING_BOOKED)),
    (r"\b(meeting|demo|booking|appointment) (completed|done|held|ended)\b", _always(status("meeting_completed"))),
    (r"\bno ?show\b", _always(status("no_show"))),
    (r"\bwrong (person|contact)\b", _always(status("wrong_person"))),
    (r"\bmaybe later\b", _always(status("maybe_later"))),
    (r"\bdo not contact\b|\bdnc\b|\bbl[ao]c?klist", _always(status("do_not_contact"))),
    (r"\b(lead|marked)\b.*\bneutral\b", _always(status("neutral"))),
    # The state of an email, campaign or mailbox is not the person's status.
    (r"\b(message|delivery|e ?mail|campaign|sequence|cadence|task|list|import|verification|webhook) status\b", _always(OTHER)),
    (r"\b(account|mailbox|inbox|sender|domain|warm ?up|integration|workspace) status\b", _always(ACCOUNT)),
    (r"\b(category|status|label|stage|outcome)\b.*\b(changed?|updated?|set|assigned|added)\b", _always(STATUS_IN_BODY)),
    (r"\blost\b|\bskip(s|ped)?\b|\b(campaign|sequence|conversation|thread|chat|ticket|task)s?\b.*\bclosed\b", _always(OTHER)),
    (r"^(?!.*\baccount\b).*\b(closed|won)\b", _always(status("closed"))),
    (r"\bnot (delivered|sent)\b", _always(SEND_FAILED)),
    (r"\bclick(ed|s)?\b", _always(CLICKED)),
    (r"\bopen(ed|s)?\b", _always(OPENED)),
    (r"\b(deferred|deferral|delayed|delay)\b|\bfail(ed|ure)? temporary|\btemporary fail", _always(DEFERRED)),
    (r"\bdeliver(ed|y)?\b(?!.*\b(fail|reject|block|drop))", _always(DELIVERED)),
    (r"\b(failed|failure|drop(ped)?|reject(ed|ion)?|block(ed)?|suppressed)\b", _always(SEND_FAILED)),
    (r"\b(accounts?|mailbox|limit)\b", _account),
    (r"\bmanual\b.*\bsent\b", _always(MANUAL)),
    (r"\b(lead|contact|prospect|record)s? sent to\b|\bsend to\b", _always(OTHER)),
    (r"\b(sent|send)\b|^(e ?mail |message )?processed$|^(email |mail |message )?requests?$|\bfirst contacted\b", _always(SENT)),
    (r"\b(task|tags?|paused)\b", _always(OTHER)),
    (r"\b(completed?|finished)\b", _always(COMPLETED)),
    (rf"^(campaign |marketing |mautic )?{_PERSON} (was )?({_SAVED})$|^(new|{_SAVED}) ({_PERSON})$|\blead post save\b", _always(SAVED)),
    (rf"^{_PERSON} (was )?added to (a |the )?(campaign|sequence|cadence|list|audience)$", _always(SAVED)),
    (rf"^{_PERSON} (was )?(deleted?|removed|archived)$|\blead post delete\b", _always(OTHER)),
]  # fmt: skip
_MAX_NAME_LENGTH = 200


def meaning_of(name: str) -> Meaning:
    """Return the meaning of a name by its words; `UNKNOWN` if no rule matches."""
    return _meaning(name[:_MAX_NAME_LENGTH])


@lru_cache(maxsize=2_048)
def _meaning(name: str) -> Meaning:
    plain = words(name)
    match = _match(_without_namespace(plain))
    if match is UNKNOWN:
        match = _match(plain)
    if match is UNKNOWN and reason_to_ignore(name):
        return OTHER
    match = _match(_singular(plain)) if match is UNKNOWN else match
    english = in_english(name) if match is UNKNOWN else plain
    return match if english == plain else _match(english)


@cache
def _compiled() -> list[tuple[re.Pattern[str], Callable[[str], Meaning]]]:
    """Return the rules' patterns, compiled when the first name is classified: few commands classify any, and it takes 0.03 s."""
    return [(re.compile(pattern), meaning) for pattern, meaning in _RULES]


def _match(plain: str) -> Meaning:
    return next((meaning(plain) for pattern, meaning in _compiled() if pattern.search(plain)), UNKNOWN)


def _singular(plain: str) -> str:
    """Return a name without the plural of its last word: `Blocks` and `block` are one type."""
    return f"{plain[:-3]}y" if plain.endswith("ies") else plain.removesuffix("s")

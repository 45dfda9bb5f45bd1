"""Bodies of five campaign tools, with the members that `docs/reference/tools.md` lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from touchbase.demo.agency import EMAILBISON, HEYREACH, INSTANTLY, LEMLIST, SMARTLEAD
from touchbase.demo.facts import ACCEPTED, AWAY, BOUNCED, INVITED, LABELLED, MESSAGED, OPENED, REPLIED, SENT, UNSUBSCRIBED, Fact
from touchbase.demo.texts import as_html

Body = dict[str, Any]
NO_MAILBOX = "550 5.1.1 The email account that you tried to reach does not exist"
LABELS = {
    "interested": "Interested",
    "meeting_booked": "Meeting Booked",
    "not_interested": "Not Interested",
    "maybe_later": "Maybe later",
    "wrong_person": "Wrong Person",
    "warm": "warm",
}


def _campaign(fact: Fact) -> int:
    return 40_000 + 100 * len(fact.account.name) + fact.campaign


def smartlead(fact: Fact) -> Body:
    """Return a body of Smartlead."""
    lead, box = fact.person.email, fact.account.mailbox
    common = {
        "event_timestamp": fact.time,
        "from_email": box,
        "to_email": lead,
        "campaign_id": _campaign(fact),
        "campaign_name": fact.campaign_name,
        "campaign_status": "ACTIVE",
        "metadata": {"webhook_created_at": fact.time},
    }
    ids = {"sl_email_lead_map_id": 900_000 + fact.person.number, "sl_lead_email": lead, "stats_id": fact.id, "to_name": fact.person.name}
    if fact.kind == SENT:
        own = {
            "custom_subject": fact.subject,
            "custom_email_message": as_html(fact.text),
            "message_id": f"<{fact.id}@{fact.account.domain}>",
        }
        return {"event_type": "EMAIL_SENT", **common, **ids, "time_sent": fact.time, "sequence_number": fact.step, **own}
    if fact.kind == OPENED:
        return {"event_type": "EMAIL_OPEN", **common, **ids, "time_opened": fact.time, "sequence_number": fact.step}
    if fact.kind in (REPLIED, AWAY):
        away = {"reply_category": "Out Of Office"} if fact.kind == AWAY else {}
        message = {"message_id": f"<{fact.id}@{fact.person.firm.domain}>", "text": fact.text, "html": as_html(fact.text), "time": fact.time}
        return {
            "event_type": "EMAIL_REPLY", **common, **ids, "subject": fact.subject, "time_replied": fact.time, "reply_message": message,
            "preview_text": fact.text.partition("\n")[0][:80], "sequence_number": fact.step, **away,
        }  # fmt: skip
    if fact.kind == BOUNCED:
        return {"event_type": "EMAIL_BOUNCE", **common, **ids, "bounce_reason": NO_MAILBOX}
    if fact.kind == UNSUBSCRIBED:
        return {"event_type": "LEAD_UNSUBSCRIBED", **common, "lead_email": lead, "lead_name": fact.person.name}
    category = {"old_name": None, "new_name": LABELS[fact.label]}
    return {"event_type": "LEAD_CATEGORY_UPDATED", **common, "lead_email": lead, "lead_category": category}


_INSTANTLY = {
    SENT: "email_sent", OPENED: "email_opened", REPLIED: "reply_received", AWAY: "auto_reply_received", BOUNCED: "email_bounced",
    UNSUBSCRIBED: "lead_unsubscribed",
}  # fmt: skip
_INSTANTLY_LABELS = {"maybe_later": "Maybe later", "warm": "warm"}
"""Labels of a team come as the event's name."""


def instantly(fact: Fact) -> Body:
    """Return a body of Instantly."""
    event = _INSTANTLY_LABELS.get(fact.label, f"lead_{fact.label}") if fact.kind == LABELLED else _INSTANTLY[fact.kind]
    body: Body = {
        "timestamp": fact.time,
        "event_type": event,
        "workspace": f"11111111-0000-4000-8000-{len(fact.account.id):012d}",
        "campaign_id": f"22222222-0000-4000-8000-{_campaign(fact):012d}",
        "campaign_name": fact.campaign_name,
        "lead_email": fact.person.email,
        "email_account": fact.account.mailbox,
        "email": fact.person.email,
        "firstName": fact.person.first,
        "lastName": fact.person.last,
        "companyName": fact.person.firm.name,
        "unibox_url": f"https://app.instantly.example/unibox?lead={fact.person.number}",
        "step": fact.step,
    }
    if fact.kind == SENT:
        body |= {"email_id": fact.id, "email_subject": fact.subject, "email_text": fact.text, "email_html": as_html(fact.text)}
    elif fact.kind in (REPLIED, AWAY):
        body |= {"email_id": fact.id, "reply_subject": fact.subject, "reply_text": fact.text, "reply_html": as_html(fact.text)}
    return body


_LEMLIST = {
    SENT: "emailsSent", OPENED: "emailsOpened", REPLIED: "emailsReplied", BOUNCED: "emailsBounced", UNSUBSCRIBED: "emailsUnsubscribed",
    AWAY: "mailinblackDetected",
}  # fmt: skip
_LEMLIST_LABELS = {"interested": "emailsInterested", "not_interested": "emailsNotInterested", "meeting_booked": "opportunitiesDone"}


def lemlist(fact: Fact) -> Body:
    """Return a body of lemlist."""
    kind = _LEMLIST_LABELS.get(fact.label, "annotated") if fact.kind == LABELLED else _LEMLIST[fact.kind]
    body: Body = {
        "_id": f"act_{fact.id}-{kind}",
        "type": kind,
        "createdAt": fact.time,
        "teamId": "tea_demo",
        "leadId": f"lea_{fact.account.id}-{fact.person.number}",
        "leadEmail": fact.person.email,
        "leadFirstName": fact.person.first,
        "leadLastName": fact.person.last,
        "campaignId": f"cam_{_campaign(fact)}",
        "campaignName": fact.campaign_name,
        "sendUserEmail": fact.account.mailbox,
        "emailId": f"eml_{fact.id}",
    }
    if fact.kind in (SENT, REPLIED):
        body |= {"subject": fact.subject, "text": fact.text}
    if fact.kind == BOUNCED:
        body["errorMessage"] = NO_MAILBOX
    return body


_BISON = {
    SENT: "EMAIL_SENT",
    OPENED: "EMAIL_OPENED",
    BOUNCED: "EMAIL_BOUNCED",
    UNSUBSCRIBED: "LEAD_UNSUBSCRIBED",
    LABELLED: "LEAD_INTERESTED",
}


def emailbison(fact: Fact) -> Body:
    """Return a body of EmailBison."""
    kind = _BISON.get(fact.kind, "LEAD_REPLIED")
    number = 10 * fact.person.number + fact.step
    data: Body = {
        "lead": {"id": fact.person.number, "email": fact.person.email, "first_name": fact.person.first, "last_name": fact.person.last},
        "campaign": {"id": _campaign(fact), "name": fact.campaign_name},
        "sender_email": {"id": 5, "email": fact.account.mailbox},
        "campaign_event": {"id": number, "type": kind.lower(), "created_at": fact.time},
    }
    if fact.kind in (SENT, OPENED, BOUNCED):
        mail = {"id": number, "sequence_step_id": fact.step, "sent_at": fact.time, "raw_message_id": f"<{fact.id}@{fact.account.domain}>"}
        data["scheduled_email"] = mail | ({"email_subject": fact.subject, "email_body": as_html(fact.text)} if fact.kind == SENT else {})
    if fact.kind in (REPLIED, AWAY):
        data["reply"] = {
            "id": number, "email_subject": fact.subject, "text_body": fact.text, "html_body": as_html(fact.text),
            "raw_message_id": f"<{fact.id}@{fact.person.firm.domain}>", "from_email_address": fact.person.email,
            "to": [{"address": fact.account.mailbox, "name": fact.account.sender}], "date_received": fact.time,
            "automated_reply": fact.kind == AWAY,
        }  # fmt: skip
    elif fact.kind == BOUNCED:
        sender = f"mailer-daemon@{fact.person.firm.domain}"
        data["reply"] = {
            "id": number,
            "date_received": fact.time,
            "automated_reply": True,
            "from_email_address": sender,
            "text_body": NO_MAILBOX,
        }
    name = kind.replace("_", " ").title()
    return {"event": {"type": kind, "name": name, "instance_url": "https://send.bison.example", "workspace_id": 1}, "data": data}


_HEYREACH = {
    INVITED: "connection_request_sent",
    ACCEPTED: "connection_request_accepted",
    MESSAGED: "message_sent",
    REPLIED: "message_reply_received",
    LABELLED: "lead_tag_updated",
}


def heyreach(fact: Fact) -> Body:
    """Return a body of HeyReach: everything is on LinkedIn."""
    person, tags = fact.person, [LABELS[fact.label]] if fact.label else []
    body: Body = {
        "event_type": _HEYREACH[fact.kind],
        "correlation_id": f"33333333-0000-4000-8000-{person.number:012d}",
        "timestamp": fact.time,
        "campaign": {"id": _campaign(fact), "name": fact.campaign_name},
        "sender": {"id": 1, "email_address": fact.account.mailbox, "profile_url": f"https://www.linkedin.com/in/{fact.account.id}"},
        "lead": {
            "id": str(person.number), "profile_url": person.linkedin, "first_name": person.first, "last_name": person.last,
            "email_address": None, "enriched_email": person.email, "tags": tags,
        },
    }  # fmt: skip
    if fact.kind in (INVITED, ACCEPTED):
        return body | {"connection_message": fact.text}
    message = {"creation_time": fact.time, "message": fact.text, "is_reply": fact.kind == REPLIED}
    return body | {"conversation_id": f"cv-{fact.account.id}-{person.number}", "recent_messages": [message] if fact.text else []}


BODIES: Mapping[str, Callable[[Fact], Body]] = {
    SMARTLEAD: smartlead,
    INSTANTLY: instantly,
    LEMLIST: lemlist,
    EMAILBISON: emailbison,
    HEYREACH: heyreach,
}

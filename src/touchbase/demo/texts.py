"""What the mails of the demo say: three of a campaign, and replies of every kind."""

from __future__ import annotations

from random import Random

from touchbase.demo.agency import Account
from touchbase.demo.people import Person

INTERESTED, QUESTION, LATER, REFERRAL, NO, REMOVE, AWAY = "interested", "question", "later", "referral", "no", "remove", "away"
KINDS = {INTERESTED: 24, QUESTION: 22, LATER: 18, REFERRAL: 12, NO: 18, REMOVE: 6}
"""Kinds of replies, and how often each comes; absence notices are counted apart."""
_FIRST = """Hi {first},

{firm} came up when we looked at companies in {industry} of your size. We {offer}.

Would a short call next week be useful, or is this somebody else's area at {firm}?

{sender}
{client}"""
_SECOND = """Hi {first},

I wrote about {topic} on {weekday} and know how full an inbox gets. Two companies like {firm} began with a small trial this autumn; I can send you their numbers, on one page.

{sender}"""  # noqa: E501
_THIRD = """Hi {first},

I do not want to be a nuisance, so this is my last note about {topic}. If it becomes a subject at {firm} next year, a line to this address is enough.

All the best
{sender}"""  # noqa: E501
MAILS = (_FIRST, _SECOND, _THIRD)
_INVITATION = "Hi {first}, I work with companies in {industry} on {topic}. I would like to stay in touch."
_NOTE = "Thank you for connecting, {first}. We {offer}. Is that a subject at {firm} at the moment?"
REPLIES = {
    INTERESTED: (
        "Hi {sender_first},\n\nyes, let us talk. Thursday at ten works for me, or Friday after two.\n\n{first}",
        "This comes at the right moment: we discuss {topic} in our meeting on Monday. Can you send me the numbers you mention until then?",
        "Sounds good. What do you need from us for a trial?\n\n{name}\n{title}, {firm}",
        "Hi {sender_first}, I am curious. Please book a slot with my assistant, she is in copy.\n\nBest\n{first}",
        "Guten Tag,\n\ndas klingt interessant. Passt Ihnen ein Gespräch am Dienstag um 11 Uhr?\n\nMit freundlichen Grüßen\n{name}",
        "Bonjour,\n\noui, cela nous intéresse. Pouvez-vous m'appeler jeudi matin ?\n\nCordialement\n{name}",
    ),
    QUESTION: (
        "What does it cost for a company with {employees} people? I would have to take it to our board in December.",
        "Interesting. How does this work with what we have? We use two systems today and do not want a third one.",
        "Do you have customers in {industry} that I could call?\n\n{first}",
        "Before we talk: where is the data stored, and who can see it?\n\n{name}\n{title}",
        "¿Tienen ustedes una oferta en español? Me gustaría compartirla con mi equipo.\n\nUn saludo\n{name}",
    ),
    LATER: (
        "Not now. We renew in March, please come back then.",
        "Hi {sender_first}, we have just changed our supplier. Ask me again in autumn.\n\n{first}",
        "Too much going on until the end of the year. A reminder in January would be fine.",
        "Aktuell leider kein Bedarf, gerne im zweiten Quartal noch einmal.\n\n{name}",
    ),
    REFERRAL: (
        "I am not the right person for this. Please write to our head of purchasing.",
        "Hi, I have left this department. My colleague looks after {topic} now; I forwarded your mail.",
        "This is decided at our parent company, not here.\n\n{name}",
    ),
    NO: (
        "No, thank you.",
        "We do this ourselves and are happy with it. No need to follow up.\n\n{first}",
        "Thanks, but not a fit for {firm}.",
        "Nein, danke. Kein Interesse.",
    ),
    REMOVE: (
        "Who gave you my address? Please take me off the list.",
        "Please remove me from your mailing list. Thank you.\n\n{name}",
        "Unsubscribe",
    ),
    AWAY: (
        "Thank you for your message. I am out of the office until Monday and read my mail after that. In urgent cases please call us.",
        "Ich bin bis zum 1. nicht im Büro. Ihre E-Mail wird nicht weitergeleitet.",
        "I am on parental leave until April. My colleagues at {firm} will help you.",
    ),
}  # fmt: skip


def subject(account: Account, person: Person) -> str:
    """Return the subject of a campaign's mails to a person."""
    return f"{person.firm.name} and {account.topic}"


def mail(account: Account, person: Person, step: int, weekday: str) -> str:
    """Return the text of the first, second or third mail."""
    return _filled(MAILS[step - 1], account, person, weekday)


def invitation(account: Account, person: Person) -> str:
    """Return the text of an invitation on LinkedIn."""
    return _filled(_INVITATION, account, person)


def note(account: Account, person: Person) -> str:
    """Return the text of the first message on LinkedIn."""
    return _filled(_NOTE, account, person)


def reply(kind: str, chance: Random, account: Account, person: Person) -> str:
    """Return the text of a reply; some quote what they answer."""
    text = _filled(chance.choice(REPLIES[kind]), account, person)
    if kind == AWAY or chance.random() < 0.6:
        return text
    quoted = "\n".join(f"> {line}".rstrip() for line in mail(account, person, 1, "Monday").split("\n"))
    return f"{text}\n\n{account.sender} <{account.mailbox}> wrote:\n{quoted}"


def as_html(text: str) -> str:
    """Return a text as the HTML that a campaign tool sends."""
    parts = text.replace("&", "&amp;").replace("<", "&lt;").split("\n\n")
    return "".join(f"<p>{part}</p>" for part in parts).replace("\n", "<br>")


def _filled(text: str, account: Account, person: Person, weekday: str = "Monday") -> str:
    return text.format(
        first=person.first, name=person.name, title=person.title, firm=person.firm.name, industry=person.firm.industry.lower(),
        employees=person.firm.employees, client=account.name, sender=account.sender, sender_first=account.sender.split()[0],
        topic=account.topic, offer=account.offer, weekday=weekday,
    )  # fmt: skip

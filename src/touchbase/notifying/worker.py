"""Notification worker: finds in the logs of clients what people want to know, and mails it; once a day it sums up for them.

A mail is claimed before it is sent, and has all that is due about a client: a person gets at most one about it in five minutes, and
none twice. What could not be emailed stays in the console. A summary of a day is a row of the home store, also where nothing happened:
whichever worker stores it first sends it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid, parseaddr
from typing import Any
from urllib.parse import urlencode

import msgspec

from touchbase.attention.plans import CRITICAL as CRITICAL_ITEM
from touchbase.attention.plans import MOST as MOST_ITEMS
from touchbase.attention.plans import PROMISING, list_items
from touchbase.auth.users import ACTIVE, User, list_users
from touchbase.clients.sql.clients import find_client_by_number, find_clients, list_active_clients
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros, is_clock
from touchbase.conversations.notifications import (
    ABOUT_COMPANIES,
    ASSIGNMENT,
    CRITICAL,
    KINDS,
    MENTION,
    NO_CLIENT,
    NOTHING,
    POSITIVE_REPLY,
    REPLY,
    SUMMARY,
    TASK_DUE,
    NewNotification,
    Notification,
    claim_mails,
    clients_to_prune,
    due_mails,
    find_assignees,
    find_dedupes,
    notification_positions,
    prune_notifications,
    return_mails,
    store_notifications,
)
from touchbase.event_log.models import EventType, LoggedEvent
from touchbase.event_log.sql.queries import clients_with_events, list_logged_events, list_newest_events
from touchbase.history.events import CONTACT
from touchbase.messages.models import Message
from touchbase.messages.sql.plans import get_messages
from touchbase.notifying.summary import clients_of, summarize, summary_lines, summary_time
from touchbase.outgoing.content import one_line
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.mail_client import ACCEPTED, mailto, why_not_mailed
from touchbase.outgoing.models import UNREACHABLE, Installation
from touchbase.outgoing.slack import escaped
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker
from touchbase.tasks.plans import list_newly_due

LOG = logging.getLogger("touchbase.notifications")
PAGE = 500
MOST_PEOPLE = 10_000
MOST_LINES = 20
"""Notifications that a mail names."""
OK = 200
RECENT: Micros = 3600 * SECOND
"""Older events notify nobody: they come from a time when nobody wanted to know, or from before a restart."""
MAIL_EVERY: Micros = 300 * SECOND
SLACK_API = "https://slack.com/api"
"""https://docs.slack.dev/reference/methods/chat.postMessage and users.lookupByEmail, whose scope is users:read.email."""
MEMBER = re.compile(r'"user":\s*\{\s*"id":\s*"([A-Z0-9]+)"')
"""A member's id in the response, of which only the beginning is read."""
PEOPLE_EVERY: Micros = 10 * SECOND
"""How old the list of people and of their wishes may be."""
ITEMS_EVERY: Micros = 60 * SECOND
SUMMARIES_EVERY: Micros = 30 * SECOND
PRUNE_EVERY: Micros = 3600 * SECOND
MOST_BEHIND = 20_000
"""Events of a client that are looked through; before them nothing notifies."""
NAMELESS = "No client"
"""Name in a summary for what is no client's, such as webhooks with an unknown id."""
BROWSER, EMAIL, SLACK = "browser", "email", "slack"
NOTES = (EventType.NOTE_CREATED.value, EventType.NOTE_UPDATED.value)
TYPES = [EventType.MESSAGE_RECEIVED.value, EventType.CONVERSATION_ASSIGNED.value, *NOTES]
Post = Callable[[str, dict[str, str], bytes], Awaitable[ReceiverAnswer]]


def quiet_until(user: User, now: Micros) -> Micros | None:
    """Return when the quiet hours of a person end, in which `now` lies; None: it lies in none."""
    begin, end = user.notifications.get("quiet_from"), user.notifications.get("quiet_until")
    # Former servers stored any text, and the zones of this system may be others: one person's settings must not stop everybody's.
    if not begin or not end or begin == end or not is_clock(begin) or not is_clock(end):
        return None
    local = datetime.fromtimestamp(now / SECOND, user.zone)
    clock = local.strftime("%H:%M")
    is_quiet = begin <= clock < end if begin < end else clock >= begin or clock < end
    if not is_quiet:
        return None
    hour, minute = map(int, end.split(":"))
    ends = local.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if ends <= local:
        ends += timedelta(days=1)
    return int(ends.astimezone(UTC).timestamp()) * SECOND


def _new(user: User, kind: str, dedupe: str, now: Micros, contact_id: int | None = None, about: str = "") -> NewNotification | None:
    """Return the notification of a person who wants to know this; None for another one."""
    channels = user.notifications.get(kind) or ()
    if not {BROWSER, EMAIL, SLACK} & {*channels}:
        return None
    quiet = quiet_until(user, now)
    mail_us = max(quiet or 0, (now // MAIL_EVERY + 1) * MAIL_EVERY) if EMAIL in channels and kind != SUMMARY else None
    if {EMAIL, SLACK} & {*channels} and mail_us is None:
        mail_us = quiet or now
    return NewNotification(user.id, kind, dedupe, contact_id, about, BROWSER in channels and quiet is None, mail_us)


class NotificationWorker(Worker):
    """Looks for events until it is stopped. Several processes may do so: what one has stored, no other stores."""

    log, label, failure = LOG, "notifying people", "looking for what people want to know failed and will be retried"
    poll_seconds, slows_down = 1.0, True

    def __init__(
        self, store: Store, people: Store, clock: Clock, post: Post, place: Installation, outage: Outage | None = None,
        *, summarizes: bool = True,
    ) -> None:  # fmt: skip
        """`people`: the store that has people, which a cell has not, and all clients. `summarizes`: whether to send the daily summaries."""
        super().__init__(outage)
        self._summarizes = summarizes
        self._summarized: dict[str, str] = {}
        """The latest summary of each person, sent or not."""
        self._store, self._people_store, self._clock, self._post, self._place = store, people, clock, post, place
        self._people: list[User] = []
        self._passed: dict[int, int] = {}
        """By client, the sequence of its log before which all events are old, as far as this process knows."""
        self._members: dict[str, str] = {}
        """People's ids in Slack, by e-mail address."""
        self._people_us = self._items_us = self._pruned_us = self._summaries_us = 0

    async def drain(self) -> None:
        """Notify of all that has happened, and mail what is due."""
        self._people_us = self._items_us = self._summaries_us = 0
        await self._round()

    async def _round(self) -> float:
        now = self._clock()
        if now - self._people_us >= PEOPLE_EVERY:
            listed = await self._people_store.read(list_users(MOST_PEOPLE, state=ACTIVE))
            self._people = [user for user in listed if any(user.notifications.get(kind) for kind in KINDS)]
            self._people_us = now
        if self._people:
            self._idle_rounds = 0
            await self._look(now)
        if self._summarizes and self._people and now - self._summaries_us >= SUMMARIES_EVERY:
            with self._attempt("daily summaries", "daily summaries failed and will be retried"):
                await self._summarize(now)
            self._summaries_us = now
        await self._mail(now)
        return self.poll_seconds

    async def _summarize(self, now: Micros) -> None:
        """Store the summaries whose time has come; what is stored is not counted again."""
        due = [
            (user, time)
            for user in self._people
            if user.notifications.get(SUMMARY) and (time := summary_time(user, now)) and self._summarized.get(user.id) != time.dedupe
        ]
        sent = await self._people_store.read(find_dedupes(NO_CLIENT, {time.dedupe for _, time in due})) if due else set()
        for user, time in due:
            if (user.id, time.dedupe) not in sent and (new := _new(user, SUMMARY, time.dedupe, now)) is not None:
                about = await summarize(self._people_store, user, time, now)
                new = replace(new, about=about) if about else NewNotification(user.id, NOTHING, time.dedupe)
                await self._people_store.write(store_notifications(NO_CLIENT, [new], now))
            self._summarized[user.id] = time.dedupe

    def _wanting(self, client: int, *kinds: str) -> list[User]:
        return [user for user in self._people if user.scopes(client) and any(user.notifications.get(kind) for kind in kinds)]

    async def _look(self, now: Micros) -> None:
        newest = await self._store.read(list_newest_events())
        positions = await self._store.read(notification_positions())
        behind = [
            client
            for client, last in newest.items()
            if last > max(positions.get(client, 0), self._passed.get(client, 0))
            and self._wanting(client, MENTION, ASSIGNMENT, REPLY, POSITIVE_REPLY)
        ]
        for first in range(0, len(behind), PAGE):
            part = behind[first : first + PAGE]
            recent = {*(await self._store.read(clients_with_events(part, now - RECENT)))}
            # At first these are all clients, and nothing of most of them is new.
            self._passed |= {client: newest[client] for client in part if client not in recent}
            for client in sorted(recent):
                # Where nobody wanted to know, the position is old: not the whole log is read then.
                last = newest[client]
                after = max(positions.get(client, last - PAGE), self._passed.get(client, 0), last - MOST_BEHIND)
                await self._look_at(client, after, now)
        prunes = now - self._pruned_us >= PRUNE_EVERY
        for client in (await self._store.read(clients_to_prune(now, PAGE))) if prunes else ():
            await self._store.write(prune_notifications(client, now, PAGE))
        if now - self._items_us >= ITEMS_EVERY:
            # Also clients without events: webhooks of a new one may be refused. Together, as there may be very many.
            wanting = [client for client in await self._store.read(list_active_clients()) if self._wanting(client, CRITICAL)]
            for first in range(0, len(wanting), PAGE):
                await self._look_at_items(wanting[first : first + PAGE], now)
            await self._look_at_tasks(now)
            self._items_us = now
        self._pruned_us = now if prunes else self._pruned_us

    async def _look_at(self, client: int, after: int, now: Micros) -> None:
        page = await self._store.read(list_logged_events(client, after, PAGE, TYPES))
        events = [event for event in page.events if now - event.at < RECENT]
        numbers = [event.data["message_id"] for event in events if "message_id" in event.data]
        messages = await self._store.read(get_messages(client, numbers)) if numbers else {}
        contacts = {event.record_id for event in events if event.record_id is not None}
        assignees = await self._store.read(find_assignees(client, sorted(contacts))) if contacts else {}
        new = [notification for event in events for notification in self._of_event(client, event, messages, assignees, now)]
        await self._store.write(store_notifications(client, new, now, page.last))

    def _of_event(
        self, client: int, event: LoggedEvent, messages: Mapping[int, Message], assignees: Mapping[int, str], now: Micros
    ) -> list[NewNotification]:
        dedupe, contact = f"evt_{event.sequence}", event.record_id
        if contact is None:
            return []
        if event.type in NOTES:
            mentioned = [user for user in self._wanting(client, MENTION) if user.id in event.data.get("mentions", ())]
            mentioned = [user for user in mentioned if user.id != event.cause.get("key_id")]
            place = (contact, "") if event.record_kind == CONTACT else (None, str(contact))
            return [new for user in mentioned if (new := _new(user, MENTION, dedupe, now, *place)) is not None]
        if event.type == EventType.CONVERSATION_ASSIGNED:
            recipients = [(ASSIGNMENT, user) for user in self._wanting(client, ASSIGNMENT) if user.id == event.data.get("assignee_id")]
            recipients = [(kind, user) for kind, user in recipients if user.id != event.cause.get("key_id")]
        else:
            message = messages.get(event.data.get("message_id", 0))
            if message is None or message.automatic or now - message.occurred_us > DAY:
                return []
            own = [(REPLY, user) for user in self._wanting(client, REPLY) if user.id == assignees.get(contact)]
            positive = self._wanting(client, POSITIVE_REPLY) if message.label in PROMISING else []
            recipients = own + [(POSITIVE_REPLY, user) for user in positive if user.id not in {owner.id for _, owner in own}]
        return [new for kind, user in recipients if (new := _new(user, kind, dedupe, now, contact)) is not None]

    async def _look_at_items(self, clients: Sequence[int], now: Micros) -> None:
        items = await self._store.read(list_items(clients, now))
        if len(items) >= MOST_ITEMS and len(clients) > 1:  # more may be left out
            half = len(clients) // 2
            for part in (clients[:half], clients[half:]):
                await self._look_at_items(part, now)
            return
        new: dict[int, list[NewNotification]] = {}
        for item in items:
            if item.severity == CRITICAL_ITEM and item.snoozed_until_us is None:
                about = " ".join(filter(None, (item.kind, item.channel, item.tool)))
                dedupe = f"{about} {item.id if item.kind in ('endpoint', 'job') else ''}"
                people = self._wanting(item.client, CRITICAL)
                critical = [notification for user in people if (notification := _new(user, CRITICAL, dedupe, now, about=about)) is not None]
                new.setdefault(item.client, []).extend(critical)
        for client, notifications in new.items():
            await self._store.write(store_notifications(client, notifications, now))

    async def _look_at_tasks(self, now: Micros) -> None:
        """Notify of tasks that became due in the last day: a time that was changed is another one."""
        if not any(user.notifications.get(TASK_DUE) for user in self._people):
            return
        due: dict[int, list[NewNotification]] = {}
        for task in await self._store.read(list_newly_due(now - DAY, now, MOST_BEHIND)):
            place = (task.record_id, "") if task.record_kind == CONTACT else (None, str(task.record_id))
            new = [
                _new(user, TASK_DUE, f"task_{task.id} {task.due_us}", now, *place)
                for user in self._wanting(task.client, TASK_DUE)
                if user.id == task.assignee_id
            ]
            due.setdefault(task.client, []).extend(filter(None, new))
        for client, notifications in due.items():
            names = sorted({notification.dedupe for notification in notifications})
            for first in range(0, len(names), PAGE):
                part = {*names[first : first + PAGE]}
                present = await self._store.read(find_dedupes(client, part))
                new_ones = [item for item in notifications if item.dedupe in part and (item.user_id, item.dedupe) not in present]
                if new_ones:
                    await self._store.write(store_notifications(client, new_ones, now))

    async def _mail(self, now: Micros) -> None:
        for client_number, user_id in await self._store.read(due_mails(now, PAGE)):
            due = await self._store.write(claim_mails(client_number, user_id, now))
            # Rights may have changed since.
            user = next((user for user in self._people if user.id == user_id and self._may_see(user, client_number)), None)
            if not due or user is None:
                continue
            mailed, slacked = [[item for item in due if channel in (user.notifications.get(item.kind) or ())] for channel in (EMAIL, SLACK)]
            again: list[int] = []
            if slacked and not await self._tell_in_slack(user, (await self._text(user, client_number, slacked))[1]):
                again += [item.id for item in slacked if item not in mailed]
            if mailed and not await self._mail_to(user, *(await self._text(user, client_number, mailed))):
                again += [item.id for item in mailed if item not in slacked]
            if again:
                await self._store.write(return_mails(client_number, again, now + MAIL_EVERY))

    @staticmethod
    def _may_see(user: User, client: int) -> bool:
        return client == NO_CLIENT or bool(user.scopes(client))

    async def _mail_to(self, user: User, subject: str, lines: Sequence[str]) -> bool:
        """Mail notifications; return whether that is done with: False if no server has the mail."""
        if (why := why_not_mailed(user.email, self._place.mail_domains)) is not None or not self._place.mail_from:
            LOG.warning("no notification is emailed to user %s: %s", user.id, why or "TOUCHBASE_SMTP_FROM is not set")
            return True
        answer = await self._post(mailto([user.email]), {}, self._source(user, subject, lines))
        if answer.status != ACCEPTED:
            LOG.warning("a mail with notifications for user %s was not sent: %s", user.id, answer.error or answer.status)
        return answer.failure != UNREACHABLE  # after another failure it may have been taken

    async def _tell_in_slack(self, user: User, lines: Sequence[str]) -> bool:
        """Send a direct message to the member with the person's address; return whether that is done with, as `_mail_to`."""
        token = {"authorization": f"Bearer {self._place.slack_token}"}
        if not self._place.slack_token:
            LOG.warning("user %s is not told in Slack: TOUCHBASE_SLACK_TOKEN is not set", user.id)
            return True
        answer, member = None, self._members.get(user.email)
        if member is None:
            form = {**token, "content-type": "application/x-www-form-urlencoded"}
            answer = await self._post(f"{SLACK_API}/users.lookupByEmail", form, urlencode({"email": user.email}).encode())
            if (known := MEMBER.search(answer.body)) is not None:
                member = self._members[user.email] = known[1]
        if member is not None:
            body = msgspec.json.encode({"channel": member, "text": "\n".join(map(escaped, lines))})
            answer = await self._post(f"{SLACK_API}/chat.postMessage", {**token, "content-type": "application/json; charset=utf-8"}, body)
        if answer is not None and not (answer.status == OK and '"ok":true' in answer.body.replace(" ", "")):
            LOG.warning("user %s is not told in Slack: %s", user.id, answer.error or answer.body[:200] or answer.status)
        return answer is None or answer.failure != UNREACHABLE

    async def _text(self, user: User, client_number: int, due: Sequence[Notification]) -> tuple[str, list[str]]:
        """Return the subject and the lines of a mail or message."""
        if client_number == NO_CLIENT:
            return await self._summary_text(user, due[-1])
        client = await self._store.read(find_client_by_number(client_number))
        name, address = (one_line(client.name) or client.client_id, f"replies?client={client.handle}") if client else ("", "")
        lines = [line_of(notification, name) for notification in due[:MOST_LINES]]
        if len(due) > MOST_LINES:
            lines.append(f"and {len(due) - MOST_LINES} more")
        return lines[0] if len(due) == 1 else f"{len(due)} notifications about {name}", self._linked(lines, address)

    async def _summary_text(self, user: User, summary: Notification) -> tuple[str, list[str]]:
        numbers = [number for number in clients_of(summary.about) if number and user.scopes(number)]
        clients = await self._people_store.read(find_clients(numbers)) if numbers else []
        names = {client.number: one_line(client.name) or client.client_id for client in clients}
        lines = summary_lines(summary.about, names | ({NO_CLIENT: NAMELESS} if user.role is not None else {}))
        return lines[0], self._linked(lines, "all/overview")

    def _linked(self, lines: list[str], address: str) -> list[str]:
        return [*lines, "", f"{self._place.public_url}/console/{address}"] if self._place.public_url else lines

    def _source(self, user: User, subject: str, lines: Sequence[str]) -> bytes:
        mail = EmailMessage(policy=SMTP)
        mail["From"], mail["To"] = self._place.mail_from, user.email
        mail["Subject"] = subject
        mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain=parseaddr(self._place.mail_from)[1].rpartition("@")[2])
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content("\n".join([*lines, "", "Your profile in Touchbase says what you are told of, and when.", ""]))
        return mail.as_bytes()


_SAID: Mapping[str, Any] = {
    MENTION: "A note on {who} names you ({client})",
    ASSIGNMENT: "The conversation with {who} is yours ({client})",
    TASK_DUE: "A task about {who} is due ({client})",
    REPLY: "{who} replied to you ({client})",
    POSITIVE_REPLY: "{who} is interested ({client})",
    CRITICAL: "{client} needs somebody: {about}",
}


def line_of(notification: Notification, client: str) -> str:
    """Return a notification in one line; of a summary see `summary_lines`."""
    who = " ".join(filter(None, (notification.first_name, notification.last_name))) or notification.email
    who = who or ("a company" if notification.kind in ABOUT_COMPANIES and notification.about else "a contact")
    about = notification.about.replace("_", " ")
    text = str(_SAID[notification.kind]).format(who=who, client=client, about=about)
    return one_line(text)

"""The usual template: FastAPI, SQLModel, a session for each request; contacts with custom fields and a webhook receiver.

Written as its guides write it, then tuned: uvloop and httptools, a pool of a size that was tried out, WAL with synchronous=FULL
and BEGIN IMMEDIATE on SQLite, no reading back after a commit, the collector calmed as we calm ours. Like ours it answers a
contact only once it is on disk. Its webhook receiver does what is usual: it keeps the call, finds or makes the contact and
changes it, all in one transaction, before it answers.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import sha256
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from sqlalchemy import Column, LargeBinary, event
from sqlalchemy.exc import IntegrityError
from sqlmodel import Field, Relationship, Session, SQLModel, create_engine, select
from starlette.concurrency import run_in_threadpool

DATABASE = os.environ["TEMPLATE_DATABASE"]
POOL = int(os.environ["TEMPLATE_POOL"])
STATUS = {"email_sent": "contacted", "reply_received": "replied"}


def now() -> datetime:
    return datetime.now(UTC)


class CustomField(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    contact_id: int | None = Field(default=None, foreign_key="contact.id", index=True)
    field_name: str
    field_value: str
    updated_time: datetime = Field(default_factory=now)
    contact: "Contact" = Relationship(back_populates="contact_custom_fields")


class ContactBase(SQLModel):
    email: str | None = Field(default=None, unique=True, index=True)
    linkedin_url: str | None = Field(default=None, unique=True, index=True)
    first_name: str = ""
    last_name: str = ""
    origin: str = ""
    contact_status: str | None = Field(default=None, index=True)


class Contact(ContactBase, table=True):
    id: int | None = Field(default=None, primary_key=True)
    updated_time: datetime = Field(default_factory=now, index=True)
    first_campaign_email_sent: datetime | None = None
    last_campaign_email_sent: datetime | None = None
    last_reply_received: datetime | None = None
    previous_status: str | None = None
    status_changed_at: datetime | None = None
    contact_custom_fields: list[CustomField] = Relationship(back_populates="contact")


class WebhookCall(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    client_id: str = Field(index=True)
    key: str = Field(unique=True, index=True)
    received_at: datetime = Field(default_factory=now)
    body: bytes = Field(sa_column=Column(LargeBinary))
    contact_id: int | None = Field(default=None, foreign_key="contact.id", index=True)
    event_type: str


class CustomFieldIn(SQLModel):
    field_name: str
    field_value: str


class CustomFieldOut(CustomFieldIn):
    id: int
    updated_time: datetime


class ContactIn(ContactBase):
    contact_custom_fields_input: list[CustomFieldIn] = []


class ContactOut(ContactBase):
    id: int
    updated_time: datetime
    first_campaign_email_sent: datetime | None
    last_campaign_email_sent: datetime | None
    last_reply_received: datetime | None
    previous_status: str | None
    status_changed_at: datetime | None
    contact_custom_fields: list[CustomFieldOut]


class Event(SQLModel):
    timestamp: datetime
    event_type: str
    lead_email: str
    firstName: str = ""
    lastName: str = ""


arguments: dict[str, Any] = {"check_same_thread": False, "timeout": 60} if DATABASE.startswith("sqlite") else {}
engine = create_engine(DATABASE, pool_size=POOL, max_overflow=0, pool_timeout=60, connect_args=arguments)

if DATABASE.startswith("sqlite"):

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def get_session() -> Iterator[Session]:
    with Session(engine, expire_on_commit=False) as session:
        yield session


SessionDep = Annotated[Session, Depends(get_session)]


@asynccontextmanager
async def lifespan(app: FastAPI) -> Any:
    SQLModel.metadata.create_all(engine)
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    yield


app = FastAPI(lifespan=lifespan)


@app.post("/public/v2/contacts", response_model=ContactOut, status_code=201)
def create_contact(asked: ContactIn, session: SessionDep) -> Contact:
    contact = Contact(**asked.model_dump(exclude={"contact_custom_fields_input"}))
    contact.contact_custom_fields = [CustomField(**item.model_dump()) for item in asked.contact_custom_fields_input]
    session.add(contact)
    try:
        session.commit()
    except IntegrityError as error:
        raise HTTPException(409, "there is such a contact already") from error
    return contact


@app.post("/public/emailcampaign-webhook/{client_id}")
async def receive(client_id: str, request: Request) -> Response:
    body = await request.body()
    await run_in_threadpool(keep, client_id, body)
    return Response()


def keep(client_id: str, body: bytes) -> None:
    document = Event.model_validate_json(body)
    with Session(engine, expire_on_commit=False) as session:
        contact = session.exec(select(Contact).where(Contact.email == document.lead_email)).first()
        if contact is None:
            contact = Contact(email=document.lead_email, first_name=document.firstName, last_name=document.lastName, origin="instantly")
            session.add(contact)
            session.flush()
        apply(contact, document)
        key = sha256(body).hexdigest()
        session.add(WebhookCall(client_id=client_id, key=key, body=body, contact_id=contact.id, event_type=document.event_type))
        try:
            session.commit()
        except IntegrityError:
            session.rollback()  # it came twice, or somebody made the contact at the same moment: the tool sends it again


def apply(contact: Contact, reported: Event) -> None:
    at = reported.timestamp
    if reported.event_type == "email_sent":
        contact.first_campaign_email_sent = contact.first_campaign_email_sent or at
        contact.last_campaign_email_sent = at
    if reported.event_type == "reply_received":
        contact.last_reply_received = at
    status = STATUS.get(reported.event_type)
    if status and status != contact.contact_status:
        contact.previous_status, contact.contact_status, contact.status_changed_at = contact.contact_status, status, at
    contact.updated_time = now()

"""Fields of contacts and companies: the table that everything which lists them is made from.

A row says how a field is called in JSON and in the store, which values requests may set, how responses show it, and how it is found,
searched and imported. Bodies of requests and responses, columns of exports, targets of imports, fields of searches and texts of the
OpenAPI document come from it, in the order of the rows. The columns of the store are the attributes in `records/models.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, get_args

from msgspec import Meta

from touchbase.common import field_limits as limits
from touchbase.common import normalize
from touchbase.errors import Fault
from touchbase.http.schemas import RecordId
from touchbase.records import validation

Name = Annotated[str, Meta(max_length=limits.NAME, description="White space around it is removed; blank means unset.")]
Email = Annotated[
    str, Meta(max_length=limits.EMAIL, description="Checked for its syntax only; blank means unset.", examples=["jane@example.com"])
]
Emails = Annotated[
    list[Email],
    Meta(
        max_length=limits.EMAILS,
        description="All e-mail addresses of the person, the first one as `email`. A request replaces them all; a response has them only "
        "if there are several. Each belongs to one contact: webhooks, look-ups and imports find the person by any of them.",
        examples=[["jane@example.com", "j.doe@example.org"]],
    ),
]
Url = Annotated[
    str,
    Meta(
        max_length=limits.URL,
        description="The address of a person's profile, compared in a normal form; another page is refused. Blank and `N/A` mean unset.",
        examples=["https://www.linkedin.com/in/jane-doe"],
    ),
]
Domain = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.URL,
        description="A domain, or an address that contains one; stored in lower case without `www.`, port and path.",
        examples=["example.com"],
    ),
]
CompanyId = Annotated[
    str,
    Meta(max_length=limits.URL, description="The domain of a company that exists. Blank means unset.", examples=["example.com"]),
]
ExternalId = Annotated[
    str,
    Meta(
        max_length=limits.EXTERNAL_ID,
        description="Your own id of the record, such as its key in your database. At most one record of its kind has it; letters' case "
        "counts. Blank means unset.",
        examples=["crm-4711"],
    ),
]
OwnerId = Annotated[
    str,
    Meta(
        max_length=limits.EMAIL,
        description="The user who looks after the record: an id, or the e-mail address of a user who may see the client. Responses have "
        "the id. Blank means unset.",
        examples=["mira@example.com"],
    ),
]
Status = Annotated[str, Meta(max_length=limits.STATUS, description="Any text, unless the client has defined its set. Blank means unset.")]

TEXT, NUMBER, TIME, EMAILS, CUSTOM = "text", "number", "time", "emails", "custom"
"""Kinds of values; a time is microseconds in the store. CUSTOM marks where the custom fields are in requests."""
ABSENT, BLANK, NULL = "absent", "blank", "null"
"""How a response shows that there is no value: the member is left out, `""` or null."""


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a record."""

    name: str
    """The JSON member, and the column if `column` is blank."""
    value: Any = None
    """The type of its values in requests; None: no request sets it."""
    meaning: str = ""
    """The description of members of this name in the OpenAPI document that have no other."""
    _: KW_ONLY
    kind: str = TEXT
    column: str = ""
    unset: str = ABSENT
    """How responses show that it has no value."""
    required: bool = False
    """A record cannot be without it."""
    nullable: bool = True
    """A creation may have null for it; a change always may, which unsets it."""
    key: str = ""
    """Column that is unique within a client: the normal form, or the value itself; empty where the field identifies no record."""
    link: str = ""
    """`object_type` of the identity link from a former value to the record; empty where webhooks do not find records by the field."""
    normalize: Callable[[str | None, str, list[Fault]], str | None] | None = None
    """Value, JSON pointer, faults -> `key`."""
    clean: Callable[[str], str | None] | None = None
    """The text as it is stored, from a text without white space around it; None: none."""
    search_key: Callable[[str], str] | None = None
    """The normal form that searches look for; it raises `InvalidText` for text that has none."""
    has_words: bool = False
    """Searches of words find its value."""
    from_tools: bool = False
    """Events of CRMs set it by their `fields`."""
    headers: tuple[str, ...] = ()
    """Headers of columns that are guessed to be this field, the best first."""
    of_contacts: bool = False
    """Of a company: guessed in files of contacts too, as `company.NAME`."""
    mark: str = ""
    """Part of every value, by which a column is guessed if no header is known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "column", self.column or self.name)

    @property
    def longest(self) -> int:
        """Characters of a value in requests."""
        metas = [meta for part in (self.value, *get_args(self.value)) for meta in getattr(part, "__metadata__", ())]
        return max((meta.max_length for meta in metas if meta.max_length is not None), default=limits.NAME)


def _status(name: str, meaning: str, headers: tuple[str, ...]) -> Field:
    return Field(name, Status, meaning, column="status", nullable=False, headers=headers)


ID = Field("id", kind=NUMBER, unset=BLANK)
UPDATED = Field("updated_time", meaning="When it changed last.", kind=TIME, column="updated_us", unset=BLANK)
EXTERNAL_ID = Field(
    "external_id", ExternalId, "Your own id of the record; absent: none.", key="external_id",
    headers=("external id", "external key", "external reference"),
)  # fmt: skip
# No other header of a file is taken for it: the owners of a CRM are users of the CRM, and become custom fields.
OWNER_ID = Field("owner_id", OwnerId, "The user who looks after the record; absent: nobody.")
DATES = (
    Field(
        "first_campaign_email_sent", meaning="When the first e-mail of a campaign was sent to the contact; null: none was.",
        kind=TIME, column="first_sent_us", unset=NULL,
        headers=(
            "first campaign email sent", "first email sent", "first emailed", "first mailed", "first email date", "first sent",
            "first marketing email send date", "first sent at", "first contacted", "first contacted at",
        ),
    ),
    Field(
        "last_campaign_email_sent", meaning="When the last e-mail of a campaign was sent to the contact; null: none was.",
        kind=TIME, column="last_sent_us", unset=NULL,
        headers=(
            "last campaign email sent", "last email sent", "last emailed", "last mailed", "last email date", "last sent", "last sent at",
            "last marketing email send date", "timestamp last contact", "last email send date", "last contacted", "last contacted at",
            "last contacted date", "date last contacted", "last contact", "last contact date", "last outreach", "last outreach date",
            "zuletzt kontaktiert", "letzter kontakt", "dernier contact", "ultimo contacto", "laatst gecontacteerd", "ultimo contatto",
        ),
    ),
    Field(
        "last_reply_received", meaning="When the contact last replied; null: never.", kind=TIME, column="last_reply_us", unset=NULL,
        headers=(
            "last reply received", "last reply", "last replied", "last replied at", "last reply at", "last reply date", "reply date",
            "replied at", "timestamp last reply", "last marketing email reply date", "recent sales email replied date", "date replied",
            "reply time", "replied date", "letzte antwort", "derniere reponse", "ultima respuesta", "laatste antwoord", "ultima risposta",
        ),
    ),
)  # fmt: skip
"""Times of a contact that are projected from its history; imports write them as events."""
PREVIOUS_STATUS = (
    Field("previous_status", meaning="The status before the present one; null: none.", unset=NULL),
    Field(
        "status_changed_at", meaning="When the status changed last; null: never.", kind=TIME, column="status_changed_us", unset=NULL
    ),
)  # fmt: skip

CONTACT = (
    ID,
    UPDATED,
    Field(
        "email", Email, "The person's e-mail address; absent or null: none.", key="email_key", link="email", normalize=validation.email,
        clean=normalize.email_text, search_key=normalize.email_key, has_words=True, mark="@",
        headers=(
            "email", "email address", "work email", "e mail", "e mail address", "mail", "business email", "professional email",
            "primary email", "contact email", "lead email", "prospect email", "final email", "find work email", "email 1", "e mail 1",
            "email 1 value", "e mail 1 value", "email 1 address", "e mail 1 address", "email address 1", "e mail address 1", "email1",
            "work e mail", "email work", "primary e mail", "primary email address", "contact email address", "person email", "email id",
            "e mail adresse", "email adresse", "emailadresse", "mailadresse", "mail adresse", "adresse e mail", "adresse email",
            "adresse mail", "adresse electronique", "courriel", "correo electronico", "correo", "direccion de correo electronico",
            "direccion de correo", "email de trabajo", "e mailadres", "emailadres", "mailadres", "indirizzo email", "indirizzo e mail",
            "indirizzo di posta elettronica", "posta elettronica", "endereco de email", "personal email",
        ),
    ),
    Field(
        "emails", Emails, "All e-mail addresses of the person, the first one as `email`; absent: there are not several.", kind=EMAILS,
        column="further_emails", has_words=True,
        headers=(
            "emails", "all emails", "email addresses", "other emails", "additional emails", "additional email addresses",
            "additional e mail addresses", "secondary email", "other email", "alternate email", "email 2", "e mail 2", "email2",
            "email 2 value", "e mail 2 value", "email 2 address", "e mail 2 address",
        ),
    ),
    Field(
        "linkedin_url", Url, "The person's LinkedIn address; absent or null: none.", key="linkedin_key", link="linkedin",
        normalize=validation.linkedin, clean=lambda text: None if normalize.is_nothing(text) else text,
        search_key=normalize.linkedin_search_key, mark="linkedin.com/in/",
        headers=(
            "default profile url",
            "linkedin url", "person linkedin url", "linkedin", "linkedin profile", "linkedin profile url", "linkedin link", "linkedin bio",
            "contact linkedin url", "lead linkedin url", "profile url", "personal linkedin", "person linkedin", "linkedin address",
            "linkedin person url", "linkedin member url", "public profile url", "contact linkedin", "lead linkedin", "linkedin profil",
            "profil linkedin", "perfil de linkedin", "perfil linkedin", "linkedin profiel", "profilo linkedin", "url linkedin",
        ),
    ),
    Field(
        "first_name", Name, "The first name.", unset=BLANK, nullable=False, has_words=True, from_tools=True,
        headers=(
            "first name", "firstname", "given name", "forename", "contact first name", "lead first name", "first", "fname", "name first",
            "vorname", "prenom", "voornaam", "primer nombre", "nombre de pila", "nombre", "nome", "given names",
        ),
    ),
    Field(
        "last_name", Name, "The last name.", unset=BLANK, nullable=False, has_words=True, from_tools=True,
        headers=(
            "last name", "lastname", "surname", "family name", "contact last name", "lead last name", "last", "lname", "name last",
            "nachname", "familienname", "zuname", "nom de famille", "nom", "apellidos", "apellido", "primer apellido", "achternaam",
            "familienaam", "cognome", "sobrenome",
        ),
    ),
    Field("company_id", RecordId | CompanyId, "The contact's company; absent: none.", kind=NUMBER),
    Field("contact_custom_fields_input", kind=CUSTOM),
    Field(
        "origin", Name, "Where the contact came from.", unset=BLANK, nullable=False,
        headers=(
            "origin", "lead source", "contact source", "source", "original source", "quelle", "lead quelle", "herkunft", "fuente", "origen",
            "herkomst", "origine", "fonte",
        ),
    ),
    _status(
        "contact_status",
        "The contact's status; absent or null: none.",
        (
            "contact status", "lead status", "interest status", "lead category", "category", "contact stage", "stage", "status",
            "lifecycle stage", "kontaktstatus", "statut", "lead stage", "pipeline stage",
        ),
    ),
    EXTERNAL_ID,
    OWNER_ID,
    *DATES,
    *PREVIOUS_STATUS,
)  # fmt: skip
COMPANY = (
    ID,
    UPDATED,
    Field(
        "domain", Domain, "The company's domain, in normal form; blank: an import knew only its name.",
        unset=BLANK, required=True, key="domain", link="domain",
        normalize=validation.domain, search_key=normalize.company_domain, has_words=True, of_contacts=True,
        headers=(
            "company domain", "domain", "company domain name", "account domain", "organization domain", "website domain",
            "company website domain", "company website", "website", "website url", "company url", "company website url",
            "organization website", "account website", "company homepage", "corporate website", "homepage", "web page", "website 1 value",
            "webseite", "firmenwebsite", "internetseite", "webadresse", "unternehmenswebsite", "domane", "site web", "site internet",
            "sitio web", "pagina web", "dominio", "sito web", "sito", "domein", "domaine", "domain name", "web", "url",
        ),
    ),
    Field(
        "name", Name, "The company's name.", nullable=False, has_words=True, from_tools=True, of_contacts=True,
        headers=(
            "company name", "company", "name", "account name", "account", "organization", "organization name", "organisation", "employer",
            "company name for emails", "associated company", "current company", "business name", "organization 1 name",
            "organisation name", "employer name", "current company name", "firma", "firmenname", "unternehmen", "unternehmensname",
            "arbeitgeber", "entreprise", "societe", "nom de l entreprise", "raison sociale", "empresa", "nombre de la empresa", "compania",
            "bedrijf", "bedrijfsnaam", "organisatie", "azienda", "nome azienda", "ragione sociale", "societa",
        ),
    ),
    _status(
        "company_status",
        "The company's status; absent or null: none.",
        ("company status", "account status", "account stage", "status", "stage", "lifecycle stage"),
    ),
    EXTERNAL_ID,
    OWNER_ID,
    Field("company_custom_fields", kind=CUSTOM),
    *PREVIOUS_STATUS,
)  # fmt: skip


def members(table: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of a table, without the place of the custom fields."""
    return tuple(field for field in table if field.kind != CUSTOM)


def body(table: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields that requests set, with the place of the custom fields."""
    return tuple(field for field in table if field.value is not None or field.kind == CUSTOM)


def stamped(table: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields that requests set and that carry a stamp: not the status, which is projected from the history."""
    return tuple(field for field in table if field.value is not None and field.column == field.name)


def shown(table: tuple[Field, ...], custom_fields: str) -> tuple[Field, ...]:
    """Return the members of a response in their order: required members, custom fields, optional members."""
    always = [field for field in members(table) if field.unset != ABSENT]
    return (*always, Field(custom_fields, kind=CUSTOM), *(field for field in members(table) if field.unset == ABSENT))


def as_shown(field: Field, value: str) -> str:
    """Return the expression of a response member, made from its column's expression, for a compiled function.

    It uses the names `text`, which writes a time, `emails`, `blank` and `UNSET`.
    """
    if field.kind == EMAILS:
        return f"UNSET if {value} is None else emails({value.replace(field.column, 'email')}, {value})"
    if field.kind == TIME:
        return f"None if {value} is None else text({value})"
    if field.unset == NULL or field is ID:
        return value
    return f"{value} or {'blank' if field.unset == BLANK else 'UNSET'}"

"""Bodies that programs of the stateful test send: few addresses and words, in several spellings, so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.records.model_fold import Values


def optional(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[Values]:
    """Bodies that have some of these members."""
    return st.fixed_dictionaries({}, optional=values)


def sometimes_odd(bodies: st.SearchStrategy[Values], **odd: st.SearchStrategy[Any]) -> st.SearchStrategy[Values]:
    """These bodies; now and then with a member that is a fault, or is ignored."""
    strange = st.builds(lambda body, more: body | more, bodies, optional(**odd))
    return st.one_of(bodies, bodies, bodies, bodies, strange)


def custom(*values: object) -> st.SearchStrategy[list[Values]]:
    fixed_dictionaries = st.fixed_dictionaries({"field_name": st.sampled_from(["Seats", "Team"]), "field_value": st.sampled_from(values)})
    return st.lists(fixed_dictionaries, max_size=2, unique_by=lambda fixed_dictionary: fixed_dictionary["field_name"])


EMAILS = ["a@x.example", "A@X.example", "b@x.example", "c@y.example", " B@x.example "]
LINKEDIN = ["linkedin.com/in/ann", "https://www.linkedin.com/in/Ann/", "linkedin.com/in/bob"]
DOMAINS = ["x.example", "https://www.X.example/about", "y.example", "z.example"]
WORDS = ["new", "Prospect", "interested", "won"]
COMPANY = st.one_of(
    st.integers(0, 1), st.integers(0, 1), st.sampled_from(["x.example", "www.Y.example", "x.example", "nowhere.example", None])
)
"""The company of a contact: a number that picks one that is there, or a domain."""
ODD: dict[str, st.SearchStrategy[Any]] = {"title": st.just("CEO"), "Email": st.just("x"), "id": st.just(7), "email": st.just("nonsense")}
PERSON = sometimes_odd(optional(
    email=st.sampled_from([*EMAILS, None, ""]), linkedin_url=st.sampled_from([*LINKEDIN, None]),
    first_name=st.sampled_from(["Ann", "Bob", " Cid ", ""]), last_name=st.sampled_from(["Lee", ""]), origin=st.sampled_from(["import", ""]),
    contact_status=st.sampled_from([*WORDS, ""]), contact_custom_fields=custom("1", " 20", ""), company_id=COMPANY,
), **ODD)  # fmt: skip
CHANGES = sometimes_odd(optional(
    email=st.sampled_from([*EMAILS, None]), linkedin_url=st.sampled_from([*LINKEDIN, None]),
    first_name=st.sampled_from(["Ann", "Bob", None, " "]), last_name=st.sampled_from(["Lee", None]), origin=st.sampled_from(["api", None]),
    contact_status=st.sampled_from([*WORDS, None]), contact_custom_fields=st.one_of(custom("1", "20", None), st.none()),
    company_id=COMPANY,
), **ODD)  # fmt: skip
FIRM = sometimes_odd(optional(
    domain=st.sampled_from(DOMAINS), name=st.sampled_from(["Acme", "Beta", ""]), company_status=st.sampled_from([*WORDS, ""]),
    company_custom_fields=custom("1", " 20", ""),
), title=st.just("x"), domain=st.just("no"))  # fmt: skip
FIRM_CHANGES = optional(
    domain=st.sampled_from([*DOMAINS, *DOMAINS, *DOMAINS, None]), name=st.sampled_from(["Acme", "Beta", None]),
    company_status=st.sampled_from([*WORDS, None]), company_custom_fields=st.one_of(custom("1", "20", None), st.none()),
)  # fmt: skip
WHO = st.integers(0, 1)
KIND = st.sampled_from(["contacts", "contacts", "companies"])
PICK = st.integers(0, 9)
DUPLICATE = st.sampled_from(["error", "return", "update"])
Write = tuple[str, str, Values, Any]
"""A write of one record: operation, kind, body, and what the operation needs."""
CREATES: st.SearchStrategy[Write] = st.one_of(
    st.tuples(st.just("create"), st.just("contacts"), PERSON, DUPLICATE),
    st.tuples(st.just("create"), st.just("companies"), FIRM, DUPLICATE),
)
UPDATES: st.SearchStrategy[Write] = st.one_of(
    st.tuples(st.just("update"), st.just("contacts"), CHANGES, PICK), st.tuples(st.just("update"), st.just("companies"), FIRM_CHANGES, PICK)
)
UPSERTS: st.SearchStrategy[Write] = st.one_of(
    st.tuples(st.just("upsert"), st.just("contacts"), CHANGES, st.sampled_from(["email", "email", "linkedin_url"])),
    st.tuples(st.just("upsert"), st.just("companies"), FIRM_CHANGES, st.just("domain")),
)
TWO = st.fixed_dictionaries(
    {"email": st.sampled_from(EMAILS), "linkedin_url": st.sampled_from(LINKEDIN)}, optional={"first_name": st.sampled_from(["Ann", "Bob"])}
)
"""The keys of two contacts."""
JOINS: st.SearchStrategy[Write] = st.one_of(
    st.tuples(st.just("create"), st.just("contacts"), TWO, st.just("update")),
    st.tuples(st.just("upsert"), st.just("contacts"), TWO, st.sampled_from(["email", "linkedin_url"])),
)
SEVERAL = st.lists(st.sampled_from(["a@x.example", "b@x.example", "c@y.example", "D@y.example"]), min_size=1, max_size=3, unique=True)
LISTS: st.SearchStrategy[Write] = st.one_of(
    st.tuples(st.just("create"), st.just("contacts"), st.builds(lambda emails: {"emails": emails}, SEVERAL), st.just("error")),
    st.tuples(st.just("update"), st.just("contacts"), st.builds(lambda emails: {"emails": emails}, SEVERAL), PICK),
)
"""Writes of all addresses of a person; upserts with several are left out."""
WRITES = st.one_of(CREATES, UPDATES, UPSERTS, JOINS, LISTS)
DRY = st.sampled_from([False, False, False, True])

FIRST: list[tuple[str, Values]] = [
    ("companies", {"domain": "x.example", "name": "Acme", "company_status": "new"}),
    ("companies", {"domain": "y.example", "company_custom_fields": [{"field_name": "Seats", "field_value": "1"}]}),
    ("contacts", {"email": "a@x.example", "first_name": "Ann", "company_id": "x.example", "contact_status": "new"}),
    (
        "contacts",
        {
            "email": "b@x.example",
            "linkedin_url": "linkedin.com/in/bob",
            "contact_custom_fields": [{"field_name": "Seats", "field_value": "20"}],
        },
    ),
    ("contacts", {"linkedin_url": "linkedin.com/in/ann", "last_name": "Lee", "company_id": "y.example", "contact_status": "won"}),
]
"""What there is before a program; some of it, at random."""

"""Mappings of columns, and their guess."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.errors import MOST_FAULTS, Fault, Invalid
from touchbase.imports.columns import COMPANY_TARGETS, CONTACT_TARGETS, Mapping, resolve
from touchbase.imports.guessing import Guess, guess, words_of

EXPORTS = {
    "apollo": (
        "First Name,Last Name,Title,Company,Company Name for Emails,Email,Email Status,Stage,Last Contacted,# Employees,Industry,"
        "Person Linkedin Url,Website,Company Linkedin Url,City,Secondary Email,Replied,Apollo Contact Id",
        {
            "Secondary Email": "emails",
            "First Name": "first_name", "Last Name": "last_name", "Company": "company.name", "Email": "email", "Stage": "contact_status",
            "Person Linkedin Url": "linkedin_url", "Website": "company.domain", "Last Contacted": "last_campaign_email_sent",
        },
    ),
    "hubspot": (
        "Record ID,First Name,Last Name,Email,Phone Number,Contact owner,Associated Company,Lead Status,Lifecycle Stage,Website URL,"
        "Last marketing email send date,Last marketing email reply date,Create Date",
        {
            "First Name": "first_name", "Last Name": "last_name", "Email": "email", "Associated Company": "company.name",
            "Lead Status": "contact_status", "Website URL": "company.domain", "Last marketing email send date": "last_campaign_email_sent",
            "Last marketing email reply date": "last_reply_received",
        },
    ),
    "instantly": (
        "Email,First Name,Last Name,Company Name,Website,Personalization,Lead Status,Interest Status,timestamp_last_contact",
        {
            "Email": "email", "First Name": "first_name", "Last Name": "last_name", "Company Name": "company.name",
            "Website": "company.domain", "Interest Status": "contact_status", "timestamp_last_contact": "last_campaign_email_sent",
        },
    ),
    "smartlead": (
        "id,campaign_lead_map_id,status,category,first_name,last_name,email,phone_number,company_name,website,location,linkedin_profile,company_url",
        {
            "first_name": "first_name", "last_name": "last_name", "email": "email", "company_name": "company.name",
            "website": "company.domain", "linkedin_profile": "linkedin_url", "category": "contact_status",
        },
    ),
    "lemlist": (
        "email,firstName,lastName,companyName,companyDomain,linkedinUrl,phone,jobTitle,icebreaker,lastState,status",
        {
            "email": "email", "firstName": "first_name", "lastName": "last_name", "companyName": "company.name",
            "companyDomain": "company.domain", "linkedinUrl": "linkedin_url",
        },
    ),
    "clay": (
        "First Name,Last Name,Full Name,Job Title,Location,Company Domain,LinkedIn Profile,Company Name,Work Email",
        {
            "First Name": "first_name", "Last Name": "last_name", "Company Domain": "company.domain", "LinkedIn Profile": "linkedin_url",
            "Company Name": "company.name", "Work Email": "email",
        },
    ),
    "revyops": (
        "id,updated_time,email,linkedin_url,firstname,lastname,company_id,origin,contact_status,previous_status,first_campaign_email_sent,"
        "last_campaign_email_sent,last_reply_received,Seats",
        {
            "id": "", "updated_time": "", "company_id": "", "previous_status": "", "email": "email", "linkedin_url": "linkedin_url",
            "firstname": "first_name", "lastname": "last_name", "origin": "origin", "contact_status": "contact_status",
            "first_campaign_email_sent": "first_campaign_email_sent", "last_campaign_email_sent": "last_campaign_email_sent",
            "last_reply_received": "last_reply_received",
        },
    ),
    "": (  # Airtable, or any spreadsheet
        "Name,E-Mail,LinkedIn,Status,Last Emailed,Reply Date,Domain,Notes",
        {
            "Name": "full_name", "E-Mail": "email", "LinkedIn": "linkedin_url", "Status": "contact_status",
            "Last Emailed": "last_campaign_email_sent", "Reply Date": "last_reply_received", "Domain": "company.domain",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("source", EXPORTS)
def test_guess__knows_the_exports_of_tools(source: str) -> None:
    header, fields = EXPORTS[source]
    names = header.split(",")

    result = guess(names, "contact")

    assert result.source == source
    assert result.mapping.columns == {name: f"cf.{name}" for name in names} | fields


def test_guess__of_companies() -> None:
    names = ["Company Name", "Company Name for Emails", "Website", "Account Stage", "# Employees"]

    assert guess(names, "company") == Guess(
        Mapping(
            "company",
            {
                "Company Name": "name",
                "Company Name for Emails": "cf.Company Name for Emails",
                "Website": "domain",
                "Account Stage": "company_status",
                "# Employees": "cf.# Employees",
            },
        ),
        "apollo",
    )


def test_guess__takes_names_of_fields_as_exports_of_touchbase_have_them() -> None:
    names = ["email", "company.domain", "company.cf.Size", "cf.Seats", "contact_custom_fields.City", "row", "reason"]

    assert guess(names, "contact").mapping.columns == {
        "email": "email", "company.domain": "company.domain", "company.cf.Size": "company.cf.Size", "cf.Seats": "cf.Seats",
        "contact_custom_fields.City": "cf.City", "row": "", "reason": "",
    }  # fmt: skip


def test_guess__looks_at_values_where_headers_do_not_decide() -> None:
    names = ["Wer", "Wo", "Replied at", "Last mailed", "X"]
    sample = [["jane@x.co", "linkedin.com/in/jane", "true", "11/25/2026", "a@b.co and more"], ["joe@x.co", "", "false", "1/2/2026", ""]]

    result = guess(names, "contact", sample).mapping

    assert result.columns == {
        "Wer": "email",
        "Wo": "linkedin_url",
        "Replied at": "cf.Replied at",
        "Last mailed": "last_campaign_email_sent",
        "X": "cf.X",
    }


def test_guess__takes_a_company_by_its_name() -> None:
    assert guess(["Email", "Company"], "contact").mapping.columns == {"Email": "email", "Company": "company.name"}


@pytest.mark.parametrize(
    ("header", "fields"),
    [
        ("First,Last,Email", "first_name,last_name,email"),
        ("fname,lname,E-mail", "first_name,last_name,email"),
        ("Vorname,Nachname,E-Mail-Adresse,Firma,Webseite", "first_name,last_name,email,company.name,company.domain"),
        ("Prénom,Nom,Adresse e-mail,Société,Site web", "first_name,last_name,email,company.name,company.domain"),
        ("Nombre,Apellidos,Correo electrónico,Empresa,Sitio web", "first_name,last_name,email,company.name,company.domain"),
        ("Voornaam,Achternaam,E-mailadres,Bedrijf", "first_name,last_name,email,company.name"),
        ("Nome,Cognome,Indirizzo email,Azienda,Sito web", "first_name,last_name,email,company.name,company.domain"),
        ("Nom,Courriel", "full_name,email"),
        ("Nombre,Correo", "full_name,email"),
        ("Vorname,Name,E-Mail", "first_name,last_name,email"),
        ("Account Name,Email,Last Contacted", "company.name,email,last_campaign_email_sent"),
        ("E-mail 2 - Value,E-mail 1 - Value,Given Name", "emails,email,first_name"),
        ("linkedInProfileUrl,defaultProfileUrl,firstName", "cf.linkedInProfileUrl,linkedin_url,first_name"),
    ],
)
def test_guess__knows_names_of_columns_in_other_words_and_languages(header: str, fields: str) -> None:
    names = header.split(",")

    assert list(guess(names, "contact").mapping.columns.values()) == fields.split(",")


def test_guess__takes_the_first_address_however_dirty_it_is() -> None:
    sample = [["n/a; ann@x.co", "ann@y.co"], ["bob at x.co", "bob@y.co"]]

    assert guess(["E-mail 1", "E-mail 2"], "contact", sample).mapping.columns == {"E-mail 1": "email", "E-mail 2": "emails"}


def test_guess__takes_no_page_of_a_company_for_its_domain() -> None:
    sample = [["ann@x.co", "https://www.linkedin.com/sales/company/1", "x.co"], ["bob@y.co", "linkedin.com/company/y", ""]]

    columns = guess(["Email", "companyUrl", "Website"], "contact", sample).mapping.columns

    assert columns == {"Email": "email", "companyUrl": "cf.companyUrl", "Website": "company.domain"}


@pytest.mark.parametrize("name", ["Contact owner", "Sent from", "Account Manager", "created_by"])
def test_guess__makes_no_identity_of_a_column_about_other_people(name: str) -> None:
    sample = [["Ann", "ann@agency.co"], ["Bob", "bob@agency.co"]]

    assert guess(["First", name], "contact", sample).mapping.columns[name] == f"cf.{name}"


def test_guess__makes_no_identity_of_an_address_that_rows_share() -> None:
    sample = [[f"Ann {number}", "team@agency.co"] for number in range(5)]

    assert guess(["First", "Wer"], "contact", sample).mapping.columns["Wer"] == "cf.Wer"


@pytest.mark.parametrize("name", ["companyDomain", "Company Domain", "company_domain", " COMPANY-domain "])
def test_words_of__sees_one_name_in_its_spellings(name: str) -> None:
    assert words_of(name) == "company domain"


HEADERS = st.lists(
    st.one_of(
        st.sampled_from([*CONTACT_TARGETS, *COMPANY_TARGETS, "Company", "Email", "cf.X", "X", "row", "reason", "Name", "id", "Status"]),
        st.text(min_size=1, max_size=20),
    ).filter(lambda name: name == " ".join(name.split()) != "" and not name.endswith("cf.")),
    unique=True,
    max_size=10,
)


@given(HEADERS, st.sampled_from(["contact", "company"]))
def test_guess__is_a_valid_mapping_of_any_header(header: list[str], record: str) -> None:
    result = guess(header, record, [["x"] * len(header)]).mapping  # type: ignore[arg-type]
    again = msgspec.json.decode(msgspec.json.encode(result), type=Mapping)

    assert again == result
    assert list(result.columns) == header
    keys = {"email", "linkedin_url", "external_id"} if record == "contact" else {"domain", "name"}
    has_key = keys & set(result.columns.values())
    if has_key:
        assert resolve(result, header) == list(result.columns.values())
    else:  # a key that the file does not have cannot be guessed
        assert [(fault.pointer, fault.code) for fault in faults(result, *header)] == [("/columns", "required")]


def faults(mapping: Mapping, *header: str) -> list[Fault]:
    with pytest.raises(Invalid) as raised:
        resolve(mapping, header)
    return list(raised.value.faults)


def test_resolve__makes_other_columns_custom_fields_or_ignores_them() -> None:
    columns = {"Mail": "email", "Skip": ""}
    header = ["Mail", "Skip", "Town"]

    assert resolve(Mapping("contact", columns), header) == ["email", "", "cf.Town"]
    assert resolve(Mapping("contact", columns, others="ignore"), header) == ["email", "", ""]


def test_resolve__refuses_two_columns_on_one_field() -> None:
    result = faults(Mapping("contact", {"Mail": "email", "E": "email", "a": "cf.X", "b": "cf. X "}), "Mail", "E", "a", "b")

    assert [(fault.pointer, fault.code) for fault in result] == [
        ("/columns/Mail", "repeated"), ("/columns/E", "repeated"), ("/columns/a", "repeated"), ("/columns/b", "repeated"),
    ]  # fmt: skip
    assert result[0].detail == "the columns 'Mail' and 'E' become one field, 'email'; leave all but one out"


@pytest.mark.parametrize(
    ("columns", "code", "detail"),
    [
        (
            {"Mail": "emial"},
            "unknown_field",
            "the column 'Mail' cannot become 'emial', which is no field of a contact; did you mean 'email'",
        ),
        ({"Mail": "Email"}, "unknown_field", "did you mean 'email'"),
        ({"Mial": "email"}, "unknown_column", "it has 'Mail'"),
        ({"Mail": "domain"}, "unknown_field", "no field of a contact; did you mean 'company.domain'"),
        ({"Mail": "cf. "}, "unknown_field", "must not be blank"),
        ({"Mail": f"cf.{'x' * 201}"}, "unknown_field", "at most 200 characters, and has 201"),
        ({"Mail": "email", "A": "company.company_status"}, "required", "needs a column that becomes 'company.domain'"),
        ({"Mail": "first_name"}, "required", "no column becomes 'email' or 'linkedin_url'"),
        (
            {"Mail": "email", "A": "full_name", "B": "last_name"},
            "contradiction",
            "the column 'A' becomes first_name and last_name, which have columns of their own",
        ),
        ({"Mail": "email", "A": "company_id", "B": "company.domain"}, "contradiction", "both choose the company"),
    ],
)
def test_resolve__says_what_is_wrong(columns: dict[str, str], code: str, detail: str) -> None:
    result = faults(Mapping("contact", columns), "Mail", "A", "B")

    assert [fault.code for fault in result if detail in fault.detail] == [code]


def test_resolve__refuses_an_unknown_zone_and_a_company_without_an_identity() -> None:
    result = faults(Mapping("company", {"N": "cf.N"}, time_zone="Mars/Base"), "N")

    assert [(fault.pointer, fault.code) for fault in result] == [("/columns", "required"), ("/time_zone", "time_zone")]


def test_resolve__refuses_more_custom_fields_than_a_record_may_have() -> None:
    names = [f"field {number}" for number in range(501)]

    assert [(fault.code, fault.detail[:30]) for fault in faults(Mapping("contact", {"Mail": "email"}), "Mail", *names)] == [
        ("too_many", "501 columns are custom fields;")
    ]
    assert len(resolve(Mapping("contact", {"Mail": "email"}), ["Mail", *names[:500]])) == 501


def test_guess__shortens_a_header_that_is_longer_than_a_name() -> None:
    header = ["Email", "x" * 300, "x" * 299]

    assert resolve(guess(header, "contact").mapping, header) == ["email", f"cf.{'x' * 190}", f"cf.{'x' * 190} (2)"]


def test_resolve__lets_contacts_without_key_in_if_asked() -> None:
    assert resolve(Mapping("contact", {"N": "first_name"}, without_key=True), ["N"]) == ["first_name"]


def test_unknown_columns_of_a_wide_file__are_compared_with_its_columns_for_the_first_faults_only() -> None:
    header = ["email", *(f"column {number}" for number in range(999))]
    with pytest.raises(Invalid) as invalid:
        resolve(Mapping("contact", {f"colum {number}": "cf.x" for number in range(100)}, others="ignore"), header)

    hinted = ["; it has 'column " in fault.detail for fault in invalid.value.faults if fault.code == "unknown_column"]
    assert hinted == [True] * 10 + [False] * (MOST_FAULTS - 10)

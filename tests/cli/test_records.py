"""`touchbase contacts` and `companies`: the filters of the API on a store."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.cli.conftest import Run

from touchbase.clients.sql.clients import ensure_client
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact
from touchbase.records.writes import Creation
from touchbase.stores import open_store


@pytest.fixture
def filled(store: Run) -> Run:
    """A client with three contacts and two companies."""

    async def fill() -> None:
        store = await open_store("sqlite:///touchbase.db")
        client = (await store.write(ensure_client("acme", 1))).number
        await store.write(create_company(Creation(Company(client, 0, 5, 5, "bank.example", "First Bank"), [("Industry", "Banking")])))
        await store.write(create_company(Creation(Company(client, 0, 6, 6, "b.example", "B"))))
        for n, (name, status) in enumerate((("Anna", "New"), ("Bert", "won"), ("Cleo", "lost"))):
            email = f"{name.lower()}@example.com"
            await store.write(
                create_contact(Creation(Contact(client, 0, n, n, email, email, first_name=name, status=status, company_id=1)))
            )
        await store.close()

    asyncio.run(fill())
    return store


def test_list__takes_filters_and_an_order(filled: Run) -> None:
    result = filled("contacts", "list", "--client", "acme", "--filter", "contact_status[in]=new,won", "--sort", "-first_name", "--json")

    assert [item["first_name"] for item in json.loads(result.stdout)] == ["Bert", "Anna"]
    assert result.exit_code == 0
    both = filled("contacts", "list", "--client", "acme", "--filter", "company.cf.Industry[contains]=bank", "--filter", "first_name=CLEO")
    assert both.stdout.splitlines()[0].split() == ["ID", "EMAIL", "FIRST", "NAME", "LAST", "NAME", "STATUS", "LAST", "EMAILED", "LAST",
                                                   "REPLIED", "COMPANY"]  # fmt: skip
    assert both.stdout.splitlines()[1].split() == ["3", "cleo@example.com", "Cleo", "-", "lost", "-", "-", "1"]


def test_search__finds_words(filled: Run) -> None:
    result = {
        words: [item["id"] for item in json.loads(filled(*words.split(), "--client", "acme", "--json").stdout)]
        for words in (
            "contacts search ANN",
            "companies search bank first",
            "companies list --filter domain=www.b.example",
            "contacts search x",
        )
    }

    assert [*result.values()] == [[1], [1], [2], []]


def test_list__says_that_there_are_more(filled: Run) -> None:
    result = filled("contacts", "list", "--client", "acme", "--limit", "2", "--json")

    assert len(json.loads(result.stdout)) == 2
    assert result.stderr == "there are more than 2: raise --limit, or add a --filter\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--filter", "status=new"], "--filter status: there is no field 'status'; did you mean 'contact_status'?"),
        (["--filter", "email"], "--filter 'email' has no value"),
        (["--sort", "emial"], "--sort: cannot sort by 'emial'; did you mean 'email'?"),
    ],
)
def test_list__names_what_is_wrong(filled: Run, options: list[str], says: str) -> None:
    result = filled("contacts", "list", "--client", "acme", *options)

    assert result.exit_code == 2
    assert says in result.stderr.replace("\n", " ")

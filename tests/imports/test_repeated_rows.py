"""Rows of one person, on both engines: they fill each other's blanks, and are listed."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient
from tests.imports.jobs import contacts, counts, finished, imported, report, upload

from touchbase.imports import job as import_job

FILE = (
    b"email,linkedin_url,first_name,last_name,Town,Plan\n"
    b"ann@x.co,,Ann,,,gold\nbob@x.co,,Bob,,,\nANN@x.co,linkedin.com/in/ann,Anna,Lee,Bath,\n,linkedin.com/in/ann,,,York,silver\nann@x.co,,,,,\n"
)


@pytest.mark.parametrize("batch", [1, 2, 1_000])
async def test_rows_of_one_person__fill_each_others_blanks(call: ApiClient, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(import_job, "BATCH", batch)
    job = await finished(call, await upload(call, FILE, start="true"))
    before = await contacts(call)
    call.clock.move(60)

    again = await imported(call, FILE)

    ann, bob = before
    assert counts(job) == {"created": 2, "duplicate_in_file": 3}
    assert [line for line in await report(call, job) if line[1] == "duplicate_in_file"] == [
        (row, "duplicate_in_file", "", "", "is the same contact as row 2") for row in ("4", "5", "6")
    ]
    assert (ann["email"], ann["linkedin_url"], ann["first_name"], ann["last_name"]) == ("ann@x.co", "linkedin.com/in/ann", "Ann", "Lee")
    assert ann["contact_custom_fields"] == {"Plan": "gold", "Town": "Bath"}
    assert bob["first_name"] == "Bob"
    assert again == {"unchanged": 2, "duplicate_in_file": 3}
    assert await contacts(call) == before


@pytest.mark.parametrize("batch", [1, 1_000])
async def test_rows_of_one_person__may_count_by_the_last_value(call: ApiClient, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(import_job, "BATCH", batch)

    columns = {name: name for name in ("email", "linkedin_url", "first_name", "last_name")}
    await imported(call, FILE, mapping={"columns": columns, "repeated": "last"})

    ann, _ = await contacts(call)
    assert (ann["first_name"], ann["last_name"]) == ("Anna", "Lee")
    assert ann["contact_custom_fields"] == {"Plan": "silver", "Town": "York"}


async def test_rows_of_one_person_in_the_store__fill_each_others_blanks(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "ann@x.co", "linkedin_url": "linkedin.com/in/ann", "first_name": "A"})

    counted = await imported(call, b"email,linkedin_url,first_name,last_name\nann@x.co,,Ann,\n,linkedin.com/in/ann,Anna,Lee\n")

    (ann,) = await contacts(call)
    assert counted == {"updated": 1, "duplicate_in_file": 1}
    assert (ann["first_name"], ann["last_name"]) == ("Ann", "Lee")


async def test_profile_of_an_earlier_row_with_another_address__is_listed_and_left_out(call: ApiClient) -> None:
    file = (
        b"email,linkedin_url,Town\nann@x.co,linkedin.com/in/ann,\nann@home.net,linkedin.com/in/ann,Bath\nbob@x.co,,\n"
        b"ann@x.co,linkedin.com/in/bob,\nbob@x.co,linkedin.com/in/ann,\n"
    )

    job = await finished(call, await upload(call, file, start="true"))

    assert counts(job) == {"created": 3, "duplicate_in_file": 2, "cells_left_out": 3}
    assert [line[:4] for line in await report(call, job) if line[1] == "cells_left_out"] == [
        ("3", "cells_left_out", "linkedin_url", "linkedin.com/in/ann"),
        ("5", "cells_left_out", "linkedin_url", "linkedin.com/in/bob"),
        ("6", "cells_left_out", "linkedin_url", "linkedin.com/in/ann"),
    ]
    assert [(contact["email"], contact.get("linkedin_url")) for contact in await contacts(call)] == [
        ("ann@x.co", "linkedin.com/in/ann"), ("ann@home.net", None), ("bob@x.co", None),
    ]  # fmt: skip


async def test_an_address_of_another_person_in_the_store__loses_the_cell_and_not_the_person(call: ApiClient) -> None:
    await imported(call, b"email,linkedin_url\nann@x.co,\nbob@x.co,linkedin.com/in/bob\n")

    job = await finished(call, await upload(call, b"email,linkedin_url,first_name\nann@x.co,linkedin.com/in/bob,Ann\n", start="true"))

    assert counts(job) == {"updated": 1, "cells_left_out": 1}
    assert [line[1:] for line in await report(call, job)] == [
        ("updated", "", "", ""), ("cells_left_out", "linkedin_url", "linkedin.com/in/bob", "contact 2 has it"),
    ]  # fmt: skip
    assert (await contacts(call))[0]["first_name"] == "Ann"


async def test_mode_create__fills_the_blanks_of_the_contacts_that_it_created(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await imported(call, b"email,first_name\nold@x.co,Old\n")
    call.clock.move(60)
    monkeypatch.setattr(import_job, "BATCH", 1)

    counted = await imported(
        call, b"email,first_name,last_name\nnew@x.co,New,\nold@x.co,Older,\nnew@x.co,,Lee\nold@x.co,,Ray\n", mode="create"
    )

    assert counted == {"created": 1, "unchanged": 1, "duplicate_in_file": 2}
    assert [(contact["first_name"], contact["last_name"]) for contact in await contacts(call)] == [("Old", ""), ("New", "Lee")]


async def test_a_dry_run__counts_repeated_rows_as_the_import_does(call: ApiClient) -> None:
    dry = await imported(call, FILE, dry_run="true")

    assert dry == await imported(call, FILE) == {"created": 2, "duplicate_in_file": 3}


@pytest.mark.parametrize("split", [1, 2, 3])
@pytest.mark.parametrize("batch", [1, 1_000])
@pytest.mark.parametrize("match", ["", "linkedin_url"])
async def test_rows_with_the_profile_of_another_person__are_one_person_also_by_profile(
    call: ApiClient, monkeypatch: pytest.MonkeyPatch, match: str, batch: int, split: int
) -> None:
    """In one file or in several ones: no row changes the contact that has the profile."""
    monkeypatch.setattr(import_job, "BATCH", batch)
    header, *rows = [
        b"email,linkedin_url,first_name,Town\n", b"ann@x.co,linkedin.com/in/ann,Ann,\n", b"eve@x.co,linkedin.com/in/ann,Eve,\n",
        b"eve@x.co,linkedin.com/in/ann,,Bath\n",
    ]  # fmt: skip
    options = {"match": match} if match else {}

    jobs = [
        await finished(call, await upload(call, header + b"".join(part), start="true", **options))
        for part in (rows[:split], rows[split:])
        if part
    ]

    assert all(counts(job).keys() <= {"created", "updated", "duplicate_in_file", "cells_left_out"} for job in jobs)
    assert any("cells_left_out" in counts(job) for job in jobs)
    ann, eve = await contacts(call)
    assert (ann["email"], ann["linkedin_url"], ann["first_name"], ann["contact_custom_fields"]) == (
        "ann@x.co", "linkedin.com/in/ann", "Ann", {},
    )  # fmt: skip
    assert (eve["email"], eve.get("linkedin_url"), eve["first_name"], eve["contact_custom_fields"]) == (
        "eve@x.co", None, "Eve", {"Town": "Bath"},
    )  # fmt: skip

"""Reading of pages: what is tried again, what ends the import, and bodies in every form that a list has had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asgi_client import ApiClient
from tests.revyops_import.fake_revyops import BASE, KEY, Answer, FakeRevyOps, Import, contact, counts

from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed
from touchbase.revyops_import.list_pages import NotAPage, page_of
from touchbase.revyops_import.list_reader import ListReader, ReadFailed, check_base_url

CONTACTS = "page 2 of /public/v2/contacts-master-list"


@pytest.fixture
def fake() -> FakeRevyOps:
    return FakeRevyOps([contact(number) for number in range(1, 8)])


@pytest.fixture
def run(sqlite_call: ApiClient, fake: FakeRevyOps, tmp_path: Path) -> Import:
    return Import(sqlite_call, fake, tmp_path / "work")


async def test_page__is_tried_again_after_a_busy_or_broken_answer(run: Import, fake: FakeRevyOps) -> None:
    answers: list[Answer] = [
        (429, {}, {"retry-after": "7"}), (500, b"<html>oops</html>"), (200, b"<html>back soon</html>"), (503, b"", {"retry-after": "0"}),
        (200, b""), (200, {"detail": "try later"}),
    ]  # fmt: skip
    fake.instead += [("contacts-master-list?page=2", answer) for answer in answers]

    result = await run(compare="none")

    assert counts(result) == {"41": {"created": 7, "here": 7}}
    assert run.waits == [7.0, 2.0, 4.0, 1.0, 16.0, 32.0]
    assert run.notes[0] == f"{CONTACTS}: answered 429; next attempt in 7 s"
    assert run.notes[2] == f"{CONTACTS}: is not JSON; it begins with '<html>back soon</html>'; next attempt in 4 s"
    assert "is an object without results, although the list has 3 pages" in run.notes[5]
    assert KEY not in str(run.notes)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([(500, b"")] * 8, f"{CONTACTS}: answered 500 (8 attempts); run the command again later: it continues with this page"),
        ([(200, b"<html>")] * 8, f"{CONTACTS}: is not JSON; it begins with '<html>' (8 attempts); run the command again later"),
        ([(200, b'"text"')] * 8, f"{CONTACTS}: is neither an object nor an array"),
        ([(429, b"", {"retry-after": "86400"})], f"{CONTACTS}: answered 429 (it asks to wait 86400 s)"),
        ([(403, {"detail": f"no {KEY}"})], 'the key is refused (403: \'{"detail": "no ***"}\'); this list needs a master key'),
        (
            [(302, b"", {"location": f"https://other.test/login?next={KEY}"})],
            "with the address 'https://other.test/login': give that server",
        ),
        ([(400, {"detail": "bad page_size"})], f"{CONTACTS}: answered 400: "),
    ],
)
async def test_failure__names_the_page_and_the_next_run_continues(
    run: Import, fake: FakeRevyOps, answers: list[Answer], message: str
) -> None:
    fake.instead += [("contacts-master-list?page=2", answer) for answer in answers]

    with pytest.raises(ReadFailed) as failed:
        await run()
    before = len(fake.requests)
    result = await run(compare="none")

    assert message in failed.value.detail
    assert KEY not in failed.value.detail
    assert counts(result) == {"41": {"created": 7, "here": 7}}
    assert ["page=1&" in fake.requests[before], "page=2&" in fake.requests[before + 1]] == [True, True]


async def test_wrong_key__is_said_at_once(run: Import, fake: FakeRevyOps) -> None:
    fake.instead.append(("companies", (403, {"detail": "Forbidden"})))

    with pytest.raises(ReadFailed, match=r"page 1 of /public/v2/companies-master-list: the key is refused \(403"):
        await run()
    assert (len(fake.requests), run.waits) == (1, [])


async def test_base__is_found_with_api_in_front_and_without(run: Import, fake: FakeRevyOps) -> None:
    fake.prefix = "/api"

    result = await run()

    assert (result.base_url, counts(result)["41"]["created"]) == (f"{BASE}/api", 7)
    reader = ListReader(FakeRevyOps(), f"{BASE}/api/", KEY, run.call.clock)
    assert (await reader.page("contacts", 1)).records == []
    assert reader.base_url == BASE
    with pytest.raises(ReadFailed, match=r"neither http://revyops\.test/x nor http://revyops\.test/x/api has /public/v2/contacts"):
        await ListReader(FakeRevyOps(), f"{BASE}/x", KEY, run.call.clock).page("contacts", 1)


async def test_unreachable_server__fails_at_once_and_is_waited_for_later(run: Import, fake: FakeRevyOps) -> None:
    class Unreachable(FakeRevyOps):
        async def send(self, base: str, request: ApiRequest) -> ApiResponse:
            if down:
                down.pop()
                raise FetchFailed("revyops.test cannot be reached: ConnectError")
            return await super().send(base, request)

    down = [1]
    reader = ListReader(Unreachable(fake.contacts), BASE, KEY, run.call.clock, sleep=run._sleep)
    with pytest.raises(ReadFailed, match=r"page 1 of /public/v2/contacts-master-list: revyops\.test cannot be reached"):
        await reader.page("contacts", 1)
    await reader.page("contacts", 1)
    down += [1, 1]

    assert len((await reader.page("contacts", 1)).records) == 7
    assert run.waits == [1.0, 2.0]


ONE, TWO, THREE = (contact(number) for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("pages", "found"),
    [
        pytest.param([[ONE, TWO], [THREE], []], 3, id="bare arrays until an empty one"),
        pytest.param([[ONE, TWO], [ONE, TWO]], 2, id="a bare array that ignores the page"),
        pytest.param([{"results": [ONE, TWO]}, {"results": [TWO, THREE]}, {"results": []}], 3, id="envelopes without numbers"),
        pytest.param([[ONE], {"detail": "No contacts found."}], 1, id="an object after the last page"),
        pytest.param([ONE, []], 1, id="one record in place of a list"),
        pytest.param([{"results": ONE}, []], 1, id="one record in place of results"),
        pytest.param([{"message": "No contacts found."}], 0, id="an object on no hit"),
        pytest.param([{"results": {}, "count": 0, "total_pages": 0}], 0, id="an empty object in place of results"),
        pytest.param([{"results": [ONE, TWO], "total_pages": 2}, None], 2, id="a list that became shorter"),
    ],
)
async def test_list__of_every_form_is_read_to_its_end(run: Import, fake: FakeRevyOps, pages: list[Any], found: int) -> None:
    fake.instead += [("contacts", (404, {}) if page is None else (200, page)) for page in pages]

    result = await run(compare="none")

    assert sum(one.here or 0 for one in result.clients) == found
    assert fake.instead == []
    assert len([path for path in fake.requests if "contacts" in path]) == len(pages)


LEAVES = st.none() | st.integers() | st.sampled_from(["", "text"])
MEMBERS = st.sampled_from(["results", "id", "count", "total_pages", "x"])


@given(
    st.binary(max_size=10)
    | LEAVES
    | st.lists(LEAVES, max_size=2)
    | st.dictionaries(MEMBERS, LEAVES | st.lists(LEAVES, max_size=2), max_size=3)
)
def test_any_body__is_a_page_or_no_page(value: Any) -> None:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    try:
        page = page_of(body)
    except NotAPage:
        return
    assert isinstance(page.records, list)
    assert page.is_last(1) in (True, False)


async def test_base_url__must_be_one_that_keeps_the_key_secret() -> None:
    for good in ("https://app.example.com", "https://app.example.com/api/", "http://127.0.0.1:8000", "http://10.1.2.3"):
        await check_base_url(good)
    for bad in (
        "app.example.com",
        "ftp://app.example.com",
        "https://user:pass@app.example.com",
        "https://app.example.com?x=1",
        "http://8.8.8.8",
    ):
        with pytest.raises(ReadFailed, match="--base-url"):
            await check_base_url(bad)

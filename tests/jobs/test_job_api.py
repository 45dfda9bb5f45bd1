"""Jobs over HTTP: list with filters and pages, get, refused uploads and mappings, stored mappings."""

from __future__ import annotations

from tests.asgi_client import ApiClient
from tests.imports.jobs import counts, finished, imported, upload

from touchbase.imports.report import MOST_MAPPINGS, StoredMapping
from touchbase.imports.sql import save_mapping

FILE = b"E-mail,Vorname\njane@example.com,Jane\n"


async def test_list__is_newest_first_filtered_and_paged(call: ApiClient) -> None:
    first, second = await upload(call, FILE), await upload(call, FILE, path="companies/imports")
    third = await finished(call, await upload(call, FILE, start="true"))

    page = (await call.get("/public/v2/jobs?limit=2")).json()
    body = (await call.get(f"/public/v2/jobs?limit=2&cursor={page['next_cursor']}")).json()
    imports = (await call.get("/public/v2/jobs?kind=contacts.import&state=preview")).json()

    assert [job["id"] for job in page["data"] + body["data"]] == [third["id"], second["id"], first["id"]]
    assert body["next_cursor"] is None
    assert [job["id"] for job in imports["data"]] == [first["id"]]
    assert (await call.get("/public/v2/jobs", x_client_id="other")).status in (200, 404)
    assert (await call.get("/public/v2/jobs?state=nonsense")).status == 422


async def test_another_clients_job__is_not_found(call: ApiClient) -> None:
    job = await upload(call, FILE)
    await call.post("/public/v2/contacts", {"first_name": "Jane"}, x_client_id="other")

    for method, end in (("GET", ""), ("POST", "/start"), ("POST", "/cancel"), ("GET", "/bad-rows"), ("GET", "/result")):
        reply = await call(method, f"/public/v2/jobs/{job['id']}{end}", {} if end == "/start" else None, x_client_id="other")
        assert (reply.status, reply.problem["detail"]) == (404, f"there is no job with id {job['id']}")


async def test_a_file_that_is_no_table__is_refused_and_its_job_says_why(call: ApiClient) -> None:
    reply = await call.in_pieces("POST", "/public/v2/contacts/imports", [b"%PDF-1.7 ..."])

    assert (reply.status, reply.problem["detail"]) == (400, "the file is a PDF; send the table as CSV or XLSX")
    (job,) = (await call.get("/public/v2/jobs")).json()["data"]
    assert (job["state"], job["error"]) == ("failed", reply.problem["detail"])


async def test_a_file_that_is_too_long__is_refused(store, make_client) -> None:
    from touchbase.http.dependencies import RequestLimits

    call = make_client(store, limits=RequestLimits(file_bytes=1_000))

    reply = await call.in_pieces("POST", "/public/v2/contacts/imports", [b"email\n", b"x" * 1_000])
    announced = await call("POST", "/public/v2/contacts/imports", raw=b"x" * 1_001)

    assert (reply.status, announced.status) == (413, 413)


async def test_faults_of_a_mapping__name_each_column(call: ApiClient) -> None:
    job = await upload(call, FILE)

    reply = await call.post(
        f"/public/v2/jobs/{job['id']}/start", {"mapping": {"columns": {"E-mail": "emial", "Vornam": "first_name"}, "time_zone": "Berlin"}}
    )

    assert reply.status == 422
    assert [error["pointer"] for error in reply.problem["errors"]] == [
        "/mapping/columns/Vornam", "/mapping/columns/E-mail", "/mapping/columns", "/mapping/time_zone",
    ]  # fmt: skip
    assert (await call.get(f"/public/v2/jobs/{job['id']}")).json()["state"] == "preview"


async def test_a_stored_mapping__is_used_by_its_name(call: ApiClient) -> None:
    job = await upload(call, FILE)
    columns = {"E-mail": "email", "Vorname": "first_name"}
    assert (await call.post(f"/public/v2/jobs/{job['id']}/start", {"mapping": {"columns": columns}, "save_as": "Leads"})).status == 200

    stored = (await call.get("/public/v2/import-mappings/contacts")).json()["data"]
    again = await imported(call, FILE.replace(b"jane@", b"joe@"), mapping="Leads")
    unknown = await call.in_pieces("POST", "/public/v2/contacts/imports?mapping=Other", [FILE])
    removed = await call("DELETE", "/public/v2/import-mappings/contacts/Leads")

    assert [(item["name"], item["mapping"]["columns"]) for item in stored] == [("Leads", columns)]
    assert again == {"created": 1}
    assert (await call.get("/public/v2/contacts")).json()["data"][0]["first_name"] == "Jane"
    assert (unknown.status, "'Leads'" in str(unknown.problem)) == (422, True)
    assert removed.status == 204
    assert (await call("DELETE", "/public/v2/import-mappings/contacts/Leads")).status == 404


async def test_stored_mappings__are_bounded_in_number_and_length(call: ApiClient) -> None:
    columns = {"E-mail": "email"} | {f"c{number}" + "l" * 900: "" for number in range(80)}
    wide = await upload(call, f"{','.join(columns)}\njane@example.com{',' * 80}\n".encode())
    store = call.parts.store
    for number in range(MOST_MAPPINGS):
        await store.write(save_mapping(1, StoredMapping("contact", f"m{number}", {"columns": {}}, 1)))
    job = await upload(call, FILE)
    start, mapping = f"/public/v2/jobs/{job['id']}/start", {"columns": {"E-mail": "email", "Vorname": "first_name"}}

    long = await call.post(f"/public/v2/jobs/{wide['id']}/start", {"mapping": {"columns": columns}, "save_as": "m1"})
    one_more = await call.post(start, {"mapping": mapping, "save_as": "Leads"})
    replaced = await call.post(start, {"mapping": mapping, "save_as": "m1"})

    assert (long.status, [error["pointer"] for error in long.problem["errors"]]) == (422, ["/save_as"])
    assert (one_more.status, one_more.problem["code"], "remove one" in one_more.problem["detail"]) == (409, "conflict", True)
    assert replaced.status == 200


async def test_start__twice_is_a_conflict(call: ApiClient) -> None:
    job = await upload(call, FILE)

    replies = [await call.post(f"/public/v2/jobs/{job['id']}/start", {}) for _ in range(2)]

    assert [reply.status for reply in replies] == [200, 409]
    assert counts(await finished(call, job)) == {"created": 1}

"""Vtiger: webhooks of workflows, whose body an administrator lays out, and fetching records of the cloud edition.

Reference: help.vtiger.com, webhook workflow; the API from clients of it. A record's id is that of its module, `x`, and its own: `12x345`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import ClassVar

from touchbase.adapters.kit.crm import COMPANY, CONTACT, RecordShape
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import dig, text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget
from touchbase.adapters.kit.laid_out import LaidOutCrm
from touchbase.connections.tools import ApiRequest, Fetcher, FetchFailed

_PERSON = RecordShape(
    CONTACT, email=("email",), first_name=("firstname",), last_name=("lastname",), employer=("account_id",), employer_type="account",
    useful=("title", "phone", "mobile"),
)  # fmt: skip


def _make(target: FetchTarget) -> ApiRequest | None:
    module, x, number = target.ids[0].partition("x")
    if not x or not module.isdecimal() or not number.isdecimal():
        return None
    user = b64encode(f"{target.connection.settings.api_user}:{target.connection.access_token}".encode()).decode()
    return target.get(f"/restapi/v1/vtiger/default/retrieve?id={target.ids[0]}", {"authorization": f"Basic {user}"})


def _listed(data: object) -> list[object]:
    """Return the record in an answer; a failure has the status 200 too."""
    code = text(dig(data, "error", "code")) or ""
    if "AUTH" in code or "LOGIN" in code:
        raise FetchFailed("vtiger refused the user and the access key: connect it again with both", stop=True)
    return [as_dict(data).get("result")]


class Vtiger(LaidOutCrm):
    """Reads the webhooks of Vtiger's workflows."""

    tool = "vtiger"
    words = ("lead",)
    detection_keys = frozenset({"vtiger"})
    status: ClassVar[dict[str, tuple[str, ...]]] = {"lead": ("leadstatus",), "contact": (), "company": ()}
    shapes: ClassVar[dict[str, RecordShape]] = {
        "contact": _PERSON, "lead": _PERSON,
        "account": RecordShape(COMPANY, domain=("website",), company=("accountname",), useful=("phone",)),
    }  # fmt: skip
    times = ("modifiedtime",)
    fetcher: ClassVar[Fetcher | None] = ApiFetcher(
        "https://your-domain.odx.vtiger.com", 1, 60, _make, _listed, needs=("api_base", "api_user")
    )


ADAPTER = Vtiger()

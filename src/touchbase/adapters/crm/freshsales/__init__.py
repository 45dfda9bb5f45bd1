"""Freshsales: webhooks of workflows, whose body an administrator lays out, and fetching records.

Reference: developers.freshworks.com/crm/api, contacts and accounts, from clients of it; no webhook body is published.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.kit.crm import COMPANY, CONTACT, RecordShape
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path
from touchbase.adapters.kit.laid_out import LaidOutCrm
from touchbase.connections.tools import ApiRequest, Fetcher

_PERSON = RecordShape(
    CONTACT, email=("email",), first_name=("first_name",), last_name=("last_name",), full_name=("display_name",), linkedin=("linkedin",),
    employer=("sales_account_id",), employer_type="sales_account", useful=("job_title", "mobile_number", "work_number"),
)  # fmt: skip


def _make(target: FetchTarget) -> ApiRequest:
    path = build_path("crm", "sales", "api", f"{target.word}s", target.ids[0])
    return target.get(path, {"authorization": f"Token token={target.connection.access_token}"})


class Freshsales(LaidOutCrm):
    """Reads the webhooks of Freshsales' workflows."""

    tool = "freshsales"
    words = ("lead",)
    detection_keys = frozenset({"freshsales"})
    shapes: ClassVar[dict[str, RecordShape]] = {
        "contact": _PERSON, "lead": _PERSON,
        "sales_account": RecordShape(COMPANY, domain=("website",), company=("name",), useful=("phone",)),
    }  # fmt: skip
    times = ("updated_at",)
    fetcher: ClassVar[Fetcher | None] = ApiFetcher(
        "https://your-domain.myfreshworks.com", 1, 15, _make, lambda data: as_dict(data).values(), needs=("api_base",)
    )


ADAPTER = Freshsales()

"""Companies: `/public/v2/companies`, one of them, and its timeline."""

from __future__ import annotations

from touchbase.api.query import Parameters
from touchbase.api.record_calls import Kind
from touchbase.api.records import company_out
from touchbase.api.schemas import CompanyChange, CompanyRequest
from touchbase.domain.company import Company
from touchbase.domain.events import COMPANY
from touchbase.service.create_company import company_command, create_company
from touchbase.service.read_records import Wanted, get_company, list_companies
from touchbase.service.update_company import update_company, update_company_command


def _wanted(parameters: Parameters) -> Wanted:
    return Wanted(
        domain=parameters.text("domain"),
        status=parameters.text("company_status"),
        updated_since_us=parameters.time("updated_since"),
    )


COMPANIES: Kind[CompanyRequest, CompanyChange, Company] = Kind(
    kind=COMPANY,
    name="companies",
    one="company",
    path="/public/v2/companies",
    wanted=CompanyRequest,
    change=CompanyChange,
    custom="company_custom_fields",
    rules=company_command,
    create=create_company,
    change_rules=update_company_command,
    update=update_company,
    get=get_company,
    find=list_companies,
    wanted_by=_wanted,
    out=company_out,
)

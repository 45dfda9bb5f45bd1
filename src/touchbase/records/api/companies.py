"""Companies: `/public/v2/companies`, one of them, and its timeline."""

from __future__ import annotations

from touchbase.history.events import COMPANY
from touchbase.http.query_parameters import Parameters
from touchbase.records.api.resource import RecordType
from touchbase.records.api.schemas import CompanyChange, CompanyRequest
from touchbase.records.api.serializers import company_out
from touchbase.records.company import Company
from touchbase.records.create_company import company_command, create_company
from touchbase.records.read_records import RecordFilter, get_company, list_companies
from touchbase.records.update_company import update_company, update_company_command


def _wanted(parameters: Parameters) -> RecordFilter:
    return RecordFilter(
        domain=parameters.text("domain"),
        status=parameters.text("company_status"),
        updated_since_us=parameters.time("updated_since"),
    )


COMPANIES: RecordType[CompanyRequest, CompanyChange, Company] = RecordType(
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

"""Listed packages alone import a library; what parses files, mails and markup is imported by listed modules, for work in the sandbox."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest
from tests.architecture.source import trees

LIBRARIES = {
    "apsw": {"storage"},
    "asyncpg": {"storage"},
    "certifi": {"enrichment.http_pool"},
    "click": {"cli"},
    "cryptography": {"adapters", "encryption"},
    "difflib": {"common.misspelt"},
    "email_validator": {"common.normalize"},
    "httptools": {"enrichment.http_connection", "server"},
    "idna": {"common.normalize"},
    "joserfc": {"console.oidc"},
    "nats": {"relay.nats_sink"},
    "opentelemetry": {"tracing"},
    "prometheus_client": {"server"},
    "publicsuffixlist": {"company_links"},
    "rapidfuzz": {"merging"},
    "touchbase_client": {"cli"},
    "uvicorn": {"server"},
    "uvloop": {"cli"},
}
"""By library: the packages or modules that may import it."""
PARSERS = {
    "html": {
        "answering.requests": "writes",
        "common.html_text": "character references only, by one regular expression; its callers bound the text",
        "administration.report_page": "escapes text for its page, and parses nothing",
    },
    "xml": {
        "adapters.crm.salesforce.outbound": "adapters run in the sandbox",
        "adapters.kit.xml_bodies": "adapters run in the sandbox",
    },
    "email": {
        "adapters.kit.times": "one date; adapters run in the sandbox",
        "config_values": "an operator's own setting",
        "enrichment.retry_policy": "a Retry-After header, which the client bounds",
        "outgoing.api.preview": "a mail that this server has just written",
        "outgoing.mail_client": "an operator's own setting",
        "outgoing.api.mail_to_people": "writes mails",
        "outgoing.content": "writes mails",
        "notifying.worker": "writes mails",
    },
    "csv": {
        "administration.audit_events": "writes",
        "changes.job": "writes",
        "do_not_contact.csv_files": "at most as long as a request; without quotes that span it",
        "do_not_contact.list_reader": "a file of the command line's own user",
        "exports.encoders": "writes",
        "imports.csv_rows": "files of imports",
        "imports.report": "writes",
    },
    "zipfile": {"imports.workbook": "files of imports"},
    "python_calamine": {"imports.workbook": "files of imports"},
    "pyarrow": {"common.parquet": "files of imports, and of exports, which it writes"},
    "charset_normalizer": {"imports.csv_rows": "files of imports"},
    "openpyxl": {},
    "zlib": {
        "auth.service": "a checksum",
        "common.content_encoding": "a body, up to as many bytes as its caller allows",
        "http.request_body": "a body, up to the limit of its path",
        "imports.workbook": "files of imports",
        "reports.parts": "parts of reports that this server has packed",
        "search.words": "a checksum",
        "spool.files": "a checksum",
    },
    "gzip": {"console.api": "packs files of ours"},
    "pickle": {
        "common.frames": "values of processes of ours",
        "projection.inbox_batch": "values of processes of ours",
    },
    "marshal": {
        "imports.file_tasks": "values for processes of ours",
        "imports.job": "values of processes of ours",
    },
    **{
        library: {}
        for library in ("bs4", "bz2", "configparser", "html5lib", "lxml", "lzma", "plistlib", "quopri", "tarfile", "tomllib", "yaml")
    },
}
"""By library: the modules that import it, each with the reason."""
IN_SANDBOX = {"adapters.crm.salesforce.outbound", "do_not_contact.list_reader", "imports.csv_rows", "imports.workbook"}
"""Modules that parse files and markup of any size; the server names what calls them as text (`sandbox/task.py`)."""


@cache
def imports() -> dict[str, frozenset[str]]:
    """Every absolute import, by module."""
    return {module.removeprefix("touchbase."): frozenset(names_in(tree)) for module, tree in trees().items()}


def names_in(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importing(library: str) -> set[str]:
    """Return the modules that import a library."""
    return {module for module, names in imports().items() if any(name.partition(".")[0] == library for name in names)}


@pytest.mark.parametrize("library", LIBRARIES)
def test_library__is_imported_by_the_listed_packages_only(library: str) -> None:
    def listed(module: str) -> bool:
        return any(module == package or module.startswith(f"{package}.") for package in LIBRARIES[library])

    assert [module for module in importing(library) if not listed(module)] == []
    assert importing(library)


@pytest.mark.parametrize("parser", PARSERS)
def test_parser__is_imported_by_the_listed_modules_only(parser: str) -> None:
    assert importing(parser) == set(PARSERS[parser])


def reachable(*starts: str) -> set[str]:
    """Return the modules that these import, directly or by way of others."""
    reached: set[str] = set()
    left = list(starts)
    while left:
        if (module := left.pop()) in imports() and module not in reached:
            reached.add(module)
            named = [name.removeprefix("touchbase.") for name in imports()[module]]
            left += [*named, *(name.rpartition(".")[0] for name in named)]
    return reached


def test_server__reaches_no_parser_of_the_sandbox() -> None:
    served = reachable("app", "fleet", "web", "workers")

    assert {"imports.job", "inbox.worker", "http.routing"} <= served
    assert served & IN_SANDBOX == set()
    assert {module for library in PARSERS.values() for module in library} >= IN_SANDBOX


def test_html_parser__is_not_used_at_all() -> None:
    named = [module for module, names in imports().items() if "html.parser" in names]

    assert named == [], "it takes quadratic time: use common.html_text"


@pytest.mark.parametrize("module", ["identity.resolution", "projection.apply", "projection.suppression_guard"])
def test_plans__import_no_conversion_of_html(module: str) -> None:
    assert "touchbase.common.html_text" not in imports()[module]


TASK_MODULES = {"touchbase.inbox.translation", "touchbase.inbox.body_search"}
"""Modules of tasks; only sandbox processes import them."""


def test_task_modules__are_imported_by_no_other_module() -> None:
    assert {module for module, names in imports().items() if names & TASK_MODULES} == set()

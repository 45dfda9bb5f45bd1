"""`touchbase contacts, companies`: records of a client that match filters or words, records to get, create and update, their files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal

import click

from touchbase.cli.options import ID, OF_CLIENT, Group, json_option
from touchbase.cli.output import NOTE, SHORT, SPARE, Column, escape_controls, print_json, print_list, print_record, print_table
from touchbase.cli.records_files import add_export, add_import
from touchbase.cli.through_api import CLIENT_ID, PAGE, here, page_of, through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

CONTACT_COLUMNS = {
    "id": "id",
    "email": Column("email", SHORT),
    "first_name": Column("first name", SHORT),
    "last_name": Column("last name", SHORT),
    "contact_status": Column("status", SHORT),
    "last_campaign_email_sent": Column("last emailed", SPARE),
    "last_reply_received": Column("last replied", SPARE),
    "company_id": Column("company", SPARE),
}
COMPANY_COLUMNS = {
    "id": "id",
    "domain": Column("domain", SHORT),
    "name": Column("name", SHORT),
    "company_status": Column("status", SHORT),
    "updated_time": Column("updated", SPARE),
}
CUSTOM = {"contact": "contact_custom_fields_input", "company": "company_custom_fields"}
CUSTOM_PREFIX = "cf."
VALUES = click.argument("values", nargs=-1, required=True, metavar="FIELD=VALUE...")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only print what would change; nothing is stored.")


def search_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a search."""
    for option in (
        json_option("Print JSON, all members included."),
        click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most records to list."),
        click.option("--sort", help="Fields to sort by, as in the API: -last_reply_received,email."),
        click.option(
            "--filter", "filters", multiple=True, metavar="NAME[OPERATOR]=VALUE",
            help="A filter as in the API, such as 'contact_status[in]=new,won'; more than one: all must hold.",
        ),
    ):  # fmt: skip
        function = option(function)
    return through_api(client="needed")(function)


def add_single(group: click.Group, kind: str) -> None:
    """Add the commands `get`, `create` and `update` to a group."""

    @group.command("get")
    @through_api(client="needed")
    @click.argument("record_id", type=ID)
    @json_option()
    def get(tb: Touchbase, record_id: int, as_json: bool) -> None:
        _print_record(group_of(tb, kind).get(record_id, structure="FLAT"), as_json)

    @group.command("create")
    @through_api(client="needed")
    @VALUES
    @DRY_RUN
    @json_option()
    def create(tb: Touchbase, values: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
        method = group_of(tb, kind).create
        _print_record((method.dry_run if dry_run else method)(body_of(kind, values), structure="FLAT"), as_json)

    @group.command("update")
    @through_api(client="needed")
    @click.argument("record_id", type=ID)
    @VALUES
    @DRY_RUN
    @json_option()
    def update(tb: Touchbase, record_id: int, values: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
        method = group_of(tb, kind).update
        _print_record((method.dry_run if dry_run else method)(record_id, body_of(kind, values), structure="FLAT"), as_json)

    example = "email=ann@example.com contact_status=new" if kind == "contact" else "domain=example.com company_status=new"
    fields = f"Give fields as the API names them, such as {example}; cf.NAME is a custom field."
    get.help = f"Show one {kind}."
    create.help = f"Create a {kind}.\n\n{fields}"
    update.help = f"Change fields of one {kind}; the others stay.\n\n{fields} A blank value unsets a field."


def body_of(kind: str, values: tuple[str, ...]) -> dict[str, Any]:
    """Return the body that `FIELD=VALUE` arguments describe."""
    body: dict[str, Any] = {}
    for pair in values:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise click.UsageError(f"{pair!r} has no value: give FIELD=VALUE, or FIELD= to unset it")
        if name.startswith(CUSTOM_PREFIX):
            custom = {"field_name": name.removeprefix(CUSTOM_PREFIX), "field_value": value or None}
            body.setdefault(CUSTOM[kind], []).append(custom)
        elif name in body:
            raise click.UsageError(f"{name} is given twice")
        else:
            body[name] = int(value) if name == "company_id" and value.isascii() and value.isdigit() else value
    return body


@click.group(cls=Group)
def contacts() -> None:
    """List, search, get, create, update, import, export, block, delete, restore and merge the contacts of a client."""


@click.group(cls=Group)
def companies() -> None:
    """List, search, get, create, update, import, export, delete, restore and merge the companies of a client."""


@contacts.command("list")
@search_options
def list_contacts(tb: Touchbase, **options: Any) -> None:
    """List contacts that match all filters, in the order of the API."""
    _print(tb.contacts, CONTACT_COLUMNS, None, **options)


@contacts.command("search")
@click.argument("words", nargs=-1, required=True)
@search_options
def search_contacts(tb: Touchbase, words: tuple[str, ...], **options: Any) -> None:
    """Find contacts by words that begin words of names, e-mail address, or custom fields."""
    _print(tb.contacts, CONTACT_COLUMNS, " ".join(words), **options)


@companies.command("list")
@search_options
def list_companies(tb: Touchbase, **options: Any) -> None:
    """List companies that match all filters, in the order of the API."""
    _print(tb.companies, COMPANY_COLUMNS, None, **options)


@companies.command("search")
@click.argument("words", nargs=-1, required=True)
@search_options
def search_companies(tb: Touchbase, words: tuple[str, ...], **options: Any) -> None:
    """Find companies by words that begin words of name, domain, or custom fields."""
    _print(tb.companies, COMPANY_COLUMNS, " ".join(words), **options)


add_import(contacts, "contact")
add_export(contacts, "contact")
add_import(companies, "company")
add_export(companies, "company")


def _print(
    group: Any, columns: dict[str, Any], q: str | None, *, filters: tuple[str, ...], sort: str | None, limit: int, as_json: bool
) -> None:
    from touchbase_client import Problem

    try:
        page, has_more = page_of(group.iterate(q=q, sort=sort, filters=_pairs(filters), limit=min(PAGE, limit + 1)), limit)
    except Problem as problem:
        if here() is None or not problem.errors:
            raise
        raise click.UsageError("; ".join(f"{_option(fault.pointer)}: {fault.detail}" for fault in problem.errors)) from None
    if as_json:
        print_json(page)
    else:
        print_table([*columns.values()], [[record.get(name) for name in columns] for record in page], empty="no record matches")
    if has_more:
        click.echo(f"there are more than {limit}: raise --limit, or add a --filter", err=True)


def _pairs(filters: tuple[str, ...]) -> dict[str, str]:
    """Return filters as values by names with operators."""
    pairs: dict[str, str] = {}
    for pair in filters:
        name, mark, value = pair.partition("=")
        if not mark:
            raise click.UsageError(f"--filter {pair!r} has no value: give NAME=VALUE or NAME[OPERATOR]=VALUE")
        if name in pairs:
            raise click.UsageError("--filter is given twice for one name; give several values as NAME[in]=VALUE,VALUE")
        pairs[name] = value
    return pairs


def _option(pointer: str) -> str:
    name = pointer.removeprefix("?")
    return {"sort": "--sort", "q": "WORDS"}.get(name, f"--filter {name}")


def _print_record(values: Mapping[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(values)
        return
    changed = values.get("changed")
    shown = values if changed is None else {**values, "changed": {change["field"]: change["value"] for change in changed}}
    print_record(shown)


Record = Literal["contact", "company"]
MOST_IDS = 1_000
"""Records of one command, which are written one by one."""
SURVIVORSHIPS = ("newest", "if_empty", "keep", "most_complete")
_dry_run = click.option("--dry-run", is_flag=True, help="Only say what would change.")


def add_bin(group: click.Group, record: Record) -> None:
    """Add the commands `delete` and `restore` to a group."""
    for name, done, about in (
        ("delete", "deleted", f"Delete {group.name}: move them into the bin, from which `restore` takes them."),
        ("restore", "restored", f"Restore deleted {group.name}: take them out of the bin, with custom fields, timelines and links."),
    ):

        def change(tb: Touchbase, ids: tuple[int, ...], dry_run: bool, as_json: bool, name: str = name, done: str = done) -> None:
            if len(ids) > MOST_IDS:
                raise click.UsageError(f"at most {MOST_IDS} ids at once")
            results = _change(group_of(tb, record), record, name, ids, dry_run)
            if as_json:
                print_json(results)
            else:
                for result in results:
                    shown = f"{record} {result['id']}"
                    click.echo(
                        f"{shown}: {result['problem']['detail']}" if "problem" in result else f"{done} {shown}", err="problem" in result
                    )
                if dry_run:
                    click.echo("nothing was stored: --dry-run", err=True)
            sys.exit(any("problem" in result for result in results))

        change.__doc__ = f"{about} Status 1 if one of them could not be."
        command: Any = group.command(name)
        argument = click.argument("ids", metavar="ID...", type=ID, nargs=-1, required=True)
        command(through_api(client="needed")(argument(_dry_run(json_option()(change)))))

    @group.command("deleted")
    @through_api(client="own")
    @OF_CLIENT
    @click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most records to list.")
    @json_option("Print JSON, all members included.")
    def deleted(tb: Touchbase, client_id: str | None, limit: int, as_json: bool) -> None:
        found = group_of(tb.team, record).iterate_deleted(client=client_id, limit=min(limit, PAGE), structure="FLAT")
        page, has_more = page_of(found, limit)
        names = ("client_id", "id", *(("email", "linkedin_url") if record == "contact" else ("domain", "name")), "deleted_at", "gone_at")
        columns: tuple[Column | str, ...] = (
            "client",
            "id",
            *(Column(name.removesuffix("_url"), SHORT) for name in names[2:4]),
            "deleted",
            "gone",
        )
        more = "there are more: raise --limit" if has_more else ""
        print_list(page, columns, lambda one: [one.get(name) for name in names], as_json=as_json, empty="the bin is empty", more=more)

    deleted.help = f"List the {group.name} in the bin, the last deleted first; without --client, of all clients."


def add_merge(group: click.Group, record: Record) -> None:
    """Add the command `merge` to a group."""

    @group.command("merge")
    @through_api(client="needed")
    @click.argument("survivor", type=ID)
    @click.argument("others", metavar="OTHER...", type=ID, nargs=-1, required=True)
    @click.option("--survivorship", type=click.Choice(SURVIVORSHIPS), default="if_empty", show_default=True, help="Whose values remain.")
    @_dry_run
    @json_option()
    def merge(tb: Touchbase, survivor: int, others: tuple[int, ...], survivorship: str, dry_run: bool, as_json: bool) -> None:
        """Merge records into the first one: custom fields, timelines and links move there. It can be undone over HTTP for 30 days."""
        if survivor in others or len({*others}) < len(others):
            raise click.UsageError("each record may be named once")
        body = {"with": [*others], "survivorship": survivorship}
        merged = {**group_of(tb, record).merge(survivor, body, dry_run=dry_run)}
        merged.pop("undo_until", None)
        if as_json:
            print_json(merged)
            return
        rows = [tuple(field[name] for name in ("field", "value", "from_id", "before")) for field in merged["fields"]]
        print_table((Column("field"), Column("value", SHORT), Column("from"), Column("before", SHORT)), rows)
        sources = " and ".join(map(str, merged["merged"]))
        word = "would be merged" if merged["merge_id"] is None else f"merged (merge {merged['merge_id']})"
        click.echo(f"{record} {sources} {word} into {survivor}", err=True)


def add_duplicates(group: click.Group, record: Record) -> None:
    """Add the command `duplicates` to a group."""

    @group.command("duplicates")
    @through_api(client="needed")
    @click.option("--min-score", type=click.FloatRange(0, 1), default=0.7, show_default=True, help="The least score of a pair.")
    @click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most pairs to list.")
    @json_option("Print JSON, the records included.")
    def duplicates(tb: Touchbase, min_score: float, limit: int, as_json: bool) -> None:
        """List pairs of records that may be one, with a score from 0 to 1 and its reasons."""
        pairs, has_more = page_of(group_of(tb, record).iterate_duplicates(min_score=min_score, limit=min(limit, PAGE)), limit)
        if as_json:
            print_json(pairs)
        else:
            many = "contacts" if record == "contact" else "companies"
            rows = [
                (pair["score"], first["id"], _name(first), second["id"], _name(second), ", ".join(pair["reasons"]))
                for pair in pairs
                for first, second in (pair[many],)
            ]
            columns = ("score", "id", Column("record", SHORT), "id", Column("record", SHORT), Column("reasons", NOTE))
            print_table(columns, rows, empty="no pair of records seems to be one")
        if has_more:
            click.echo(f"there may be more than {limit}: raise --limit, or --min-score", err=True)


def add_distinct(group: click.Group, record: Record) -> None:
    """Add the command `distinct` to a group."""

    @group.command("distinct")
    @through_api(client="needed")
    @click.argument("ids", type=ID, nargs=-1)
    @click.option("--undo", is_flag=True, help="The two may be the same after all.")
    @json_option()
    def distinct(tb: Touchbase, ids: tuple[int, ...], undo: bool, as_json: bool) -> None:
        """Say that two records are not the same, so that nobody sees them among the duplicates; without ids, list such pairs."""
        client: Any = click.get_current_context().meta[CLIENT_ID]
        pairs: Any = tb.team.distinct_contacts if record == "contact" else tb.team.distinct_companies
        if len(ids) not in (0, 2) or (undo and not ids):
            raise click.UsageError("give two ids, or none to list all pairs")
        if not ids:
            listed = [*pairs.iterate(client, limit=PAGE)]
            rows = [(*pair["ids"], pair["actor"]["name"] or pair["actor"]["id"], pair["at"]) for pair in listed]
            print_json(listed) if as_json else print_table(("id", "id", "by", "time"), rows, empty="nobody said so of any pair")
            return
        if undo:
            pairs.remove(client, *ids)
        else:
            pairs.add(client, {"ids": [*ids]})
        if as_json:
            print_json({"ids": [*ids], "distinct": not undo})
        else:
            click.echo(f"{ids[0]} and {ids[1]} {'may be the same' if undo else 'are not the same'}")


def _name(record: dict[str, Any]) -> str:
    words = [record.get(name) for name in ("first_name", "last_name", "name")]
    return " ".join([word for word in words if word]) or record.get("email") or record.get("domain") or "-"


def group_of(tb: Any, record: str) -> Any:
    """Return the operations of the API on this type of record."""
    return tb.contacts if record == "contact" else tb.companies


def _change(group: Any, record: Record, name: str, ids: tuple[int, ...], dry_run: bool) -> list[dict[str, Any]]:
    """Delete or restore the records, one request each; return each id with its record, its would-be change, or a problem."""
    from touchbase_client import Problem

    results: list[dict[str, Any]] = []
    method = getattr(group, name)
    for number in ids:
        try:
            results.append({"id": number, **({"changed": method.dry_run(number)["changed"]} if dry_run else {record: method(number)})})
        except Problem as problem:
            if problem.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise
            results.append({"id": number, "problem": {"code": problem.code, "detail": problem.detail}})
    return results


@contacts.command()
@through_api(client="needed")
@click.argument("contact_id", metavar="ID", type=ID)
@click.option("--company", is_flag=True, help="List the domain of the contact's company too.")
@click.option("--note", default="", help="Why; not a place for personal data.")
@click.option("--undo", is_flag=True, help="Take back a block of the last hour.")
@json_option()
def block(tb: Touchbase, contact_id: int, company: bool, note: str, undo: bool, as_json: bool) -> None:
    """Block a contact: put it on the do-not-contact list and set the status that says so, as one act."""
    result = tb.contacts.unblock(contact_id) if undo else tb.contacts.block(contact_id, {"company": company, "note": note})
    if as_json:
        print_json(result)
        return
    listed = ", ".join(f"{entry['kind']} (entry {entry['id']})" for entry in result["entries"]) or "nothing"
    click.echo(f"contact {contact_id}: status {escape_controls(result['contact_status'] or 'none')}, listed by the block: {listed}")


for _add in (add_bin, add_merge, add_duplicates, add_distinct, add_single):
    _add(contacts, "contact")
    _add(companies, "company")

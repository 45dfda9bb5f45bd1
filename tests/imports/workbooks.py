"""Workbooks for tests, written by hand: no library that writes XLSX is installed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from touchbase.imports.table import column_letters

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
STYLES = f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/></cellXfs></styleSheet>'
DATE, DATE_TIME = 1, 2
"""Styles of cells."""

Value = str | float | bool | tuple[float, int] | None
"""A tuple is a number with a style."""


def cell(place: str, value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
        case str():
            return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
        case (number, style):
            return f'<c r="{place}" s="{style}"><v>{number!r}</v></c>'
        case _:
            return f'<c r="{place}"><v>{value!r}</v></c>'


def sheet(rows: Sequence[Sequence[Value]]) -> str:
    """The XML of a sheet."""
    lines = [
        f'<row r="{number}">{"".join(cell(f"{column_letters(index)}{number}", value) for index, value in enumerate(row))}</row>'
        for number, row in enumerate(rows, 1)
    ]
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def workbook(sheets: Mapping[str, str], hidden: Sequence[str] = ()) -> io.BytesIO:
    """A workbook of these sheets."""
    names = list(sheets)
    numbers = range(1, len(names) + 1)
    created = io.BytesIO()
    with zipfile.ZipFile(created, "w", zipfile.ZIP_DEFLATED) as archive:
        overrides = "".join(
            f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{TYPE}.worksheet+xml"/>' for number in numbers
        )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            f'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{TYPE}.styles+xml"/>{overrides}</Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/>'
            "</Relationships>",
        )
        state = dict.fromkeys(hidden, ' state="hidden"')
        listed = "".join(
            f'<sheet name="{escape(name)}" sheetId="{number}" r:id="r{number}"{state.get(name, "")}/>'
            for number, name in enumerate(names, 1)
        )
        archive.writestr("xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{listed}</sheets></workbook>')
        linked = "".join(
            f'<Relationship Id="r{number}" Type="{LINKS}/worksheet" Target="worksheets/sheet{number}.xml"/>' for number in numbers
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{linked}<Relationship Id="s" Type="{LINKS}/styles" Target="styles.xml"/>'
            "</Relationships>",
        )
        archive.writestr("xl/styles.xml", STYLES)
        for number, name in enumerate(names, 1):
            archive.writestr(f"xl/worksheets/sheet{number}.xml", sheets[name])
    created.seek(0)
    return created

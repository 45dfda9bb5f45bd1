"""Small files that unfold to much, for tests."""

from __future__ import annotations

import io
import zipfile

import pyarrow as pa
from pyarrow import parquet
from tests.imports.workbooks import LINKS, MAIN, workbook

from touchbase.imports.table import column_letters


def one_text_in_each_row(rows: int, characters: int) -> bytes:
    """A Parquet file whose rows all name one long text."""
    file = io.BytesIO()
    parquet.write_table(pa.table({"email": ["jane@example.com"] * rows, "note": ["a" * characters] * rows}), file, compression="zstd")
    return file.getvalue()


def one_text_in_each_cell(cells: int, characters: int) -> bytes:
    """A workbook whose cells, 100 in a row, all name one shared text."""
    columns = [column_letters(number) for number in range(100)]
    heading = "".join(f'<c r="{column}1" t="inlineStr"><is><t>{column}</t></is></c>' for column in columns)
    cells_of = {row: "".join(f'<c r="{column}{row}" t="s"><v>0</v></c>' for column in columns) for row in range(2, 2 + cells // 100)}
    rows = "".join(f'<row r="{row}">{text}</row>' for row, text in cells_of.items())
    old = zipfile.ZipFile(workbook({"People": of_sheet(f'<row r="1">{heading}</row>{rows}')}))
    relations = "xl/_rels/workbook.xml.rels"
    shared = f'<Relationship Id="t" Type="{LINKS}/sharedStrings" Target="sharedStrings.xml"/></Relationships>'
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name).decode()
            new.writestr(name, text.replace("</Relationships>", shared) if name == relations else text)
        new.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}"><si><t>{"a" * characters}</t></si></sst>')
    return file.getvalue()


def of_sheet(text: str) -> str:
    """The XML of a sheet with this text in place of its rows."""
    return f'<worksheet xmlns="{MAIN}"><sheetData>{text}</sheetData></worksheet>'


def of_parts(number: int) -> bytes:
    """A ZIP file with many parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "")
        for part in range(number):
            archive.writestr(str(part), "")
    return file.getvalue()

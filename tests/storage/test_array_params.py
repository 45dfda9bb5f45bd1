"""Parameters for PostgreSQL: what a step's rows become, and that the server reads from it what was meant."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.sql.dialect import array
from touchbase.sql.statement import Execute, Statement
from touchbase.storage.postgres.connection import as_array, column_params

TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
AWKWARD = st.none() | st.text('"\\{},nrtbfu0123 \n\r\t\b\f\x01\x1f\x7fNULé\u2028\U0001f600')
NUMBERS = st.none() | st.integers(-(2**63), 2**63 - 1)


async def echoed(url: str, kind: str, values: list[object]) -> list[object]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(f"SELECT * FROM unnest({array(1, kind)})", as_array(values))
    finally:
        await connection.close()
    return [row[0] for row in rows]


@given(values=st.lists(TEXTS) | st.lists(AWKWARD))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(150), deadline=None)
def test_array_parameter__preserves_any_texts(postgres_url: str, values: list[object]) -> None:
    assert asyncio.run(echoed(postgres_url, "text", values)) == values


@given(values=st.lists(NUMBERS))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(30), deadline=None)
def test_array_parameter__preserves_any_integers(postgres_url: str, values: list[object]) -> None:
    assert asyncio.run(echoed(postgres_url, "bigint", values)) == values


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "{}"),
        ([None, "", "NULL"], '{null,"","NULL"}'),
        ([7, None, -1], "{7,null,-1}"),
        (['a "b"', "c\\d"], '{"a \\"b\\"","c\\\\d"}'),
        (["two\nlines", None, 'a "b"'], '{"two\nlines",NULL,"a \\"b\\""}'),
        (["\\n", "x"], '{"\\\\n","x"}'),
    ],
)
def test_as_array__writes_the_array_syntax_of_postgresql(values: list[object], text: str) -> None:
    assert as_array(values) == text


def test_column_params__turns_rows_into_columns_and_leaves_bytes_unchanged() -> None:
    op = Statement("op", (("id", "bigint"), ("key", "bytea")), more_columns=(("name", "text"),))

    assert column_params(Execute(op, [(1, b"a"), (2, b"b")], [("x",), (None,)])) == ["{1,2}", (b"a", b"b"), '{"x",null}']
    assert column_params(Execute(op, [], [("x",)])) == ["{}", (), '{"x"}']

"""Creating or merging, when the record changes between the two."""

from __future__ import annotations

from typing import Any

import pytest

from touchbase.errors import Conflict, NotFound, Overloaded
from touchbase.records.create import TRIES, create_or_merge
from touchbase.records.models import Contact
from touchbase.records.writes import Created

JANE = Contact(1, 7, 0, 0)


class Answering:
    """A store that gives these answers, one after the other."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.operations: list[object] = []

    async def write(self, command: Any) -> Any:
        self.operations.append(command)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def taken(by: int) -> Conflict:
    return Conflict("exists", data={"existing_id": by})


async def merged(store: Any) -> Any:
    return await create_or_merge(store, "create", lambda existing: f"merge {existing}")  # type: ignore[arg-type,return-value]


async def test_upsert__retries_when_the_duplicate_was_merged_away() -> None:
    store = Answering(taken(5), NotFound("gone"), taken(7), JANE)

    result = await merged(store)

    assert result == Created(JANE, is_new=False)
    assert store.operations == ["create", "merge 5", "create", "merge 7"]


async def test_upsert__creates_the_record_when_the_duplicate_was_removed() -> None:
    store = Answering(taken(5), NotFound("gone"), Created(JANE, is_new=True))

    assert (await merged(store)).is_new


async def test_upsert__gives_up_after_repeated_conflicts() -> None:
    store = Answering(*[taken(5), NotFound("gone")] * TRIES)

    with pytest.raises(Overloaded):
        await merged(store)


async def test_upsert__passes_on_a_conflict_without_an_existing_id() -> None:
    with pytest.raises(Conflict, match="try again"):
        await merged(Answering(Conflict("try again")))

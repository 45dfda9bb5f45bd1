"""Scan of a file for its preview: orders of dates, spellings of statuses, and opt-outs, which a person decides before the import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec

from touchbase.history.status_words import SERVICE_WORDS
from touchbase.imports.cells import NOTHING, opt_out_reason
from touchbase.imports.columns import CUSTOM, DATES, Mapping
from touchbase.imports.dates import DAY_FIRST, MONTH_FIRST, shown_order
from touchbase.imports.guessing import is_status_header
from touchbase.imports.preview import DatesOfColumn, FilePreview, OptOutsOfColumn, StatusColumn, StatusSpellings
from touchbase.imports.rows import fold_status, opt_out_columns
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE

_MOST = 1_000
"""Different values of a column that are counted."""
_CELL = 200
"""Characters of a cell that a preview shows."""
_EXAMPLES = 2
_VALUES = 5


@dataclass(slots=True)
class _Dates:
    """Dates of one column by the order that they show."""

    orders: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)


class Scan:
    """Counts of the rows so far."""

    def __init__(self, mapping: Mapping, header: Sequence[str], spellings: Sequence[str]) -> None:
        kind: Any = CONTACT_TYPE if mapping.record == "contact" else COMPANY_TYPE
        self._mapping, self._header, self._spellings = mapping, header, [*SERVICE_WORDS, *spellings]
        targets = [mapping.columns.get(name, "") for name in header]
        self._dates = {index: _Dates() for index, target in enumerate(targets) if target in DATES or target.startswith(CUSTOM)}
        self._of_history = {index for index, target in enumerate(targets) if target in DATES}
        self._status = targets.index(kind.status) if kind.status in targets else None
        self._statuses = {
            index: Counter[str]()
            for index, name in enumerate(header)
            if index == self._status or (name != kind.status and is_status_header(name, mapping.record))
        }
        self._flags = opt_out_columns(mapping, header) if mapping.record == "contact" else []
        self._opt_outs: dict[int, Counter[str]] = {index: Counter() for index, _ in self._flags}
        self._rows = 0

    def add(self, cells: Sequence[str]) -> None:
        """Count a row."""
        self._rows += 1
        for index, dates in self._dates.items():
            if index < len(cells) and (order := shown_order(cells[index])) is not None:
                dates.orders[order] += 1
                examples = dates.examples.setdefault(order, [])
                if len(examples) < _EXAMPLES and (text := _shown(cells[index])) not in examples:
                    examples.append(text)
        for index, counted in chain(self._statuses.items(), self._opt_outs.items()):
            if index < len(cells):
                self._count(counted, cells[index])

    def _count(self, counted: Counter[str], cell: str) -> None:
        text = _shown(cell)
        if text and text not in NOTHING and (text in counted or len(counted) < _MOST):
            counted[text] += 1

    def finish(self, preview: FilePreview) -> None:
        """Set the preview's questions, and the order of most dates unless the mapping states one."""
        orders = sum((self._dates[index].orders for index in self._of_history), Counter[str]())
        if not self._mapping.day_order and orders[DAY_FIRST] != orders[MONTH_FIRST]:
            order = DAY_FIRST if orders[DAY_FIRST] > orders[MONTH_FIRST] else MONTH_FIRST
            preview.mapping = msgspec.structs.replace(preview.mapping, day_order=order)
        preview.scanned = self._rows
        for index in sorted(self._of_history):
            dates = self._dates[index]
            if dates.orders[""] or (dates.orders[DAY_FIRST] and dates.orders[MONTH_FIRST]):
                examples = [text for order in ("", DAY_FIRST, MONTH_FIRST) for text in dates.examples.get(order, ())][:_EXAMPLES]
                counts = dates.orders[DAY_FIRST], dates.orders[MONTH_FIRST], dates.orders[""]
                preview.dates.append(DatesOfColumn(self._header[index], examples, *counts))
        preview.statuses = [] if self._status is None else self._joined(self._statuses[self._status])
        for index, counted in self._statuses.items():
            if counted and self._header[index] not in (CONTACT_TYPE.status, COMPANY_TYPE.status):
                preview.status_columns.append(StatusColumn(self._header[index], dict(counted.most_common(_VALUES))))
        for index, is_flag in self._flags:
            reasons = {
                text: reason for text in self._opt_outs[index] if (reason := opt_out_reason(text, self._header[index], is_flag=is_flag))
            }
            values = dict(list(reasons.items())[:_VALUES])
            preview.opt_outs.append(OptOutsOfColumn(self._header[index], sum(self._opt_outs[index][text] for text in reasons), values))

    def _joined(self, statuses: Counter[str]) -> list[StatusSpellings]:
        """Return the statuses of the file that have several spellings, or another one than the client."""
        used = {fold_status(status): status for status in reversed(self._spellings)}
        by_fold: dict[str, dict[str, int]] = {}
        for status, count in statuses.items():
            by_fold.setdefault(fold_status(status), {})[status] = count
        return [
            StatusSpellings(used.get(folded, next(iter(spellings))), spellings)
            for folded, spellings in by_fold.items()
            if len(spellings) > 1 or used.get(folded, "") not in ("", *spellings)
        ]


def _shown(cell: str) -> str:
    return cell[:_CELL].strip().replace("\0", "").encode("utf-8", "replace").decode()

"""A limit on log lines that say the same."""

from __future__ import annotations

from touchbase.common.seldom import MAX_LINES, REMINDER_SECONDS, Seldom


class Now:
    def __init__(self) -> None:
        self.seconds = 7.0

    def __call__(self) -> float:
        return self.seconds


def test_seldom__lets_each_line_through_once_a_minute() -> None:
    seldom = Seldom(now := Now())

    first = [seldom.is_due("a"), seldom.is_due("b"), seldom.is_due("a")]
    now.seconds += REMINDER_SECONDS - 1
    before = seldom.is_due("a")
    now.seconds += 1

    assert (first, before, seldom.is_due("a")) == ([True, True, False], False, True)


def test_seldom__keeps_few_lines() -> None:
    seldom = Seldom(Now())

    for number in range(3 * MAX_LINES):
        seldom.is_due(str(number))

    assert len(seldom._said) <= MAX_LINES

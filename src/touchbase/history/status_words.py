"""The names of statuses over time: a client's renames and merges, and rules that follow a word's meaning and not its spelling.

Events store the words that they said, for ever. A rename is an entry of every history at its own time: it gives the status of then its
new name, and later entries say the new name whatever word they have. So events may arrive before or after a rename, and a rename never
changes which entries took effect before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from touchbase.common.timestamps import Micros

CONTACTED = "contacted"
REPLIED = "replied"
BOUNCED = "bounced"
DO_NOT_CONTACT = "do_not_contact"
SERVICE_WORDS = (CONTACTED, REPLIED, BOUNCED, DO_NOT_CONTACT)
"""The words that a sent mail, a reply, a hard bounce, and an unsubscribe or a complaint set."""

NOT_CONTACTED_YET = frozenset(
    {"new", "not contacted", "not_contacted", "not contacted yet", "not_contacted_yet", "uncontacted", "to contact"}
)
"""Statuses (case ignored) that a first sent mail turns into "contacted", and a reply into "replied" where a CRM's event set them."""

FURTHER_ALONG = frozenset(
    {
        "interested", "not_interested", "not interested", "neutral", "maybe_later", "meeting_booked", "meeting booked",
        "meeting_completed", "no_show", "wrong_person", "closed", "do_not_contact", "customer", "client", "won", "closed won",
        "lost", "closed lost", "opportunity", "qualified",
    }
)  # fmt: skip
"""Statuses given at creation (case ignored) that a reply does not replace, because they are further along than "replied"."""
OPT_OUT_WORDS = frozenset(
    {
        "donotcontact", "dnc", "donotemail", "donotmail", "donotreach", "nocontact", "unsubscribed", "unsubscribe", "unsub", "optedout",
        "optout", "emailoptout", "emailoptedout", "optedoutofemail", "hasoptedoutofemail", "unsubscribedfromallemail", "blacklisted",
        "blacklist", "blocklisted", "blocklist", "suppressed", "spamcomplaint", "complained", "removeme",
    }
)  # fmt: skip
"""Statuses that opt out, in lower case and without separators (`is_opt_out_word`): of campaign tools, CRMs and people's lists."""
SEPARATORS = " _-./"
"""Signs that are left out of a status before it is compared with `OPT_OUT_WORDS`."""
_WITHOUT_SEPARATORS = str.maketrans("", "", SEPARATORS)
RENAMED = "status_renamed"
"""Event of a rename in a record's history, after `contact.` or `company.`; it is not stored."""


@lru_cache(maxsize=4096)
def is_opt_out_word(word: str | None) -> bool:
    """Return whether a word says by itself that the person opted out; `do_not_contact/sql/conditions.py` has the same in SQL."""
    return word is not None and word.isascii() and word.lower().translate(_WITHOUT_SEPARATORS) in OPT_OUT_WORDS


class HasWords(Protocol):
    """A record with status columns."""

    status: str | None
    previous_status: str | None


@dataclass(frozen=True, slots=True)
class StatusRename:
    """One rename: from its time on, `before` is called `after`. The target of a merge was another status before."""

    before: str
    after: str
    at_us: Micros
    merged: bool = False
    by: str | None = None
    """Id of the API key."""


@dataclass(frozen=True, slots=True)
class StatusWords:
    """The renames of one client's contacts or companies up to a time, and their consequences."""

    renames: tuple[StatusRename, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    """Word -> its present name, for words that have another one."""
    meanings: dict[str, str] = field(default_factory=dict)
    """Present name -> the word whose rules it follows, where that is not the name itself."""
    guarding: frozenset[str] = frozenset()
    """Present names that protect like "do_not_contact", because it was merged into them."""
    opt_outs: frozenset[str] = frozenset()
    """Present names that opt out: names that the client declared, and names of words that opt out (`OPT_OUT_WORDS` do without this)."""

    def opts_out(self, name: str | None) -> bool:
        """Return whether a status opts the person out."""
        return name in self.opt_outs or is_opt_out_word(name)

    def of(self, word: str | None) -> str | None:
        """Return the present name of a word."""
        return word if word is None else self.names.get(word, word)

    @property
    def last_us(self) -> Micros:
        """The time of the last rename."""
        return self.renames[-1].at_us if self.renames else 0

    def is_former(self, word: str | None) -> bool:
        """Return whether a word has another name now."""
        return word in self.names

    def is_outdated(self, record: HasWords) -> bool:
        """Return whether a record still has a former name."""
        return record.status in self.names or record.previous_status in self.names

    def is_untouched(self, name: str | None) -> bool:
        """Return whether a status only means that no one has worked on the person."""
        return self._meaning(name) in NOT_CONTACTED_YET

    def is_further_along(self, name: str | None) -> bool:
        """Return whether a status is further along than a reply."""
        return self._meaning(name) in FURTHER_ALONG or name in self.guarding

    def protects(self, name: str | None) -> bool:
        """Return whether a status says that the person must not be contacted."""
        return self._meaning(name) == DO_NOT_CONTACT or name in self.guarding

    def words_of(self, name: str) -> list[str]:
        """Return the words that have this present name, the name itself first."""
        return [name, *sorted(word for word, own_word in self.names.items() if own_word == name)]

    def matching(self, word: str, declared: Sequence[str]) -> str | None:
        """Return the spelling of a word that is, or was, in a client's declared set; None if it is not."""
        folded = word.casefold().replace("_", " ")
        match = next((own for own in declared if own.casefold().replace("_", " ") == folded), None)
        if match is not None or not self.names:
            return match
        former = (name for name in sorted(self.names) if self.names[name] in declared)
        return next((word for word in former if word.casefold().replace("_", " ") == folded), None)

    def _meaning(self, name: str | None) -> str:
        if name is None:
            return ""
        return self.meanings.get(name, name).casefold() if self.meanings else name.casefold()


PLAIN = StatusWords()
"""The words of a client that renamed none."""


def words_after(renames: Sequence[StatusRename], opt_outs: Sequence[str] = ()) -> StatusWords:
    """Return the status words after these renames, in their order, with the names that are declared to opt out."""
    return _words(tuple(renames), tuple(opt_outs)) if renames or opt_outs else PLAIN


@lru_cache(maxsize=1024)
def _words(renames: tuple[StatusRename, ...], declared: tuple[str, ...] = ()) -> StatusWords:
    names: dict[str, str] = {}
    meanings: dict[str, str] = {}
    guarding: set[str] = set()
    opting: set[str] = set()
    assert all(earlier.at_us < later.at_us for earlier, later in pairwise(renames))
    for rename in renames:
        meaning, guards = meanings.get(rename.before, rename.before), rename.before in guarding
        if rename.merged:
            guards = guards or meaning.casefold() == DO_NOT_CONTACT
        else:
            meanings[rename.after] = meaning
            guarding.discard(rename.after)
            opting.discard(rename.after)
        if guards:
            guarding.add(rename.after)
        if rename.before in opting or is_opt_out_word(meaning):
            opting.add(rename.after)
        guarding.discard(rename.before)
        opting.discard(rename.before)
        names = {word: rename.after if name == rename.before else name for word, name in names.items()}
        names[rename.before] = rename.after
        names.pop(rename.after, None)
    meanings = {name: word for name, word in meanings.items() if name != word}
    opting |= {*declared, *guarding}
    opting |= {word for word, name in names.items() if name in opting}  # a record has its former name until a job comes to it
    return StatusWords(renames, names, meanings, frozenset(guarding), frozenset(opting))


class WordsWalk:
    """The words at the time that a fold of a whole history has reached."""

    def __init__(self, words: StatusWords) -> None:
        self._all = words.renames
        self._applied = 0
        self.present = PLAIN if self._all else words

    def move(self, record: HasWords, until: Micros | None = None) -> None:
        """Apply the renames up to a time, or all, to a record that is being folded."""
        first = self._applied
        while self._applied < len(self._all) and (until is None or self._all[self._applied].at_us <= until):
            rename_status(record, self._all[self._applied])
            self._applied += 1
        if self._applied > first:
            self.present = words_after(self._all[: self._applied])


def rename_status(record: HasWords, rename: StatusRename) -> None:
    """Rename a record's status."""
    if record.status == rename.before:
        record.status = rename.after
    if record.previous_status == rename.before:
        record.previous_status = rename.after

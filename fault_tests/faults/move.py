"""Clients move between cells under load, and every part of a move is killed at every step: the move, the server, each PostgreSQL."""

from __future__ import annotations

import signal
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.server_process import CannotMeasure

from fault_tests.calls import ApiClient
from fault_tests.cells import NAMES, SERVER, Installation, Mover, Outage, installation
from fault_tests.check import Findings
from fault_tests.journal import p99_ms
from fault_tests.paced_load import PacedLoad, Span, TimedJournal
from fault_tests.plan import Plan
from fault_tests.process import longest
from fault_tests.verify import verify_twice

SERIES = 6
"""Moves of one client; the next ones are of another, as the load makes each larger."""
KILLS = 3
"""Most kills in one move."""
MOVER, STALLED = "mover", "stalled mover"
ON_SQLITE, ON_POSTGRESQL = (MOVER, SERVER, STALLED), (MOVER, "source", SERVER, "target", STALLED, "home")
UNDO_EVERY, ANY_MOMENT_EVERY = 3, 3
UNDO_STEPS = ("home TakeMove*1", "source take_as*1", "target take_as*1", "home NoteMove*1", "source unwatch*1", "source stay*1",
              "target remove*1", "target remove*2", "target forget*1", "home EndMove*1")  # fmt: skip
AGAIN_TRIES = 10
MOST_DELICATE = "home SwitchPlace*1"
"""The first step at which each part is killed."""
HELD_SECONDS, AWAY_SECONDS, BACK_SECONDS = (0.3, 0.6), (0.2, 0.8), 6.0
"""How long a step is held before the kill, a killed part is away, and calls may be refused after it is back."""
REFUSED_LIMIT = 3.0
"""Seconds for which calls may be refused in a move without a kill."""


class Stuck(Exception):
    """A move that is never done; nothing more can be tried."""


@dataclass(slots=True)
class Walk:
    """Goes through the steps of a move, for each of those that are killed in an order of its own."""

    plan: Plan
    victims: Sequence[str]
    timed: list[tuple[float, str]] = field(default_factory=list)
    """The steps of a whole move, with their seconds from its first step."""
    _left: dict[str, deque[str]] = field(default_factory=dict)
    _turn: int = 0

    def measured(self, steps: list[tuple[float, str]]) -> None:
        """Take over the steps of a whole move."""
        self.timed = [(at - steps[0][0], step) for at, step in steps]

    def points(self) -> list[str]:
        """The first, the second, the middle and the last of equal steps."""
        times = Counter(step.partition("*")[0] for _, step in self.timed)
        return [f"{name}*{number}" for name, most in times.items() for number in sorted({1, min(2, most), (most + 1) // 2, most})]

    def next(self, count: int) -> list[tuple[str, str]]:
        """Choose who is killed at which step, in the order of the steps."""
        chosen = []
        for _ in range(count):
            victim = self.victims[self._turn % len(self.victims)]
            self._turn += 1
            chosen.append((victim, self._next_step(victim)))
        order = {step: number for number, (_, step) in enumerate(self.timed)}
        # With these the move is done; they come last.
        return sorted(chosen, key=lambda each: (each[0] in (SERVER, STALLED), order.get(each[1], 0)))

    def _next_step(self, victim: str) -> str:
        if not self._left.get(victim):
            points = self.points()
            self.plan.rng.shuffle(points)
            points.sort(key=lambda step: step != MOST_DELICATE)
            self._left[victim] = deque(points)
        return self._left[victim].popleft()

    def missed(self, victim: str, step: str) -> None:
        """Try a step again later that a move did not come to."""
        self._left[victim].append(step)

    def spared(self, victim: str, step: str) -> None:
        """Try a step next that was not tried, as the move was done before."""
        self._left[victim].appendleft(step)

    def any_moment(self) -> float:
        """Seconds from the first step to a moment around a step."""
        return max(0.0, self.plan.rng.choice(self.timed)[0] + self.plan.rng.uniform(-0.02, 0.02))


@dataclass(slots=True)
class Client:
    """A client under load."""

    name: str
    cell: str
    number: int
    journal: TimedJournal
    load: PacedLoad


@dataclass(slots=True)
class Moves:
    """All moves of a run."""

    plan: Plan
    place: Installation
    walk: Walk
    found: Findings = field(default_factory=Findings)
    kills: Counter[str] = field(default_factory=Counter)
    struck: set[tuple[str, str]] = field(default_factory=set)
    """Who was killed at which step."""
    moved: int = 0
    undone: int = 0
    attempts: int = 0
    journals: list[TimedJournal] = field(default_factory=list)
    stayed: list[TimedJournal] = field(default_factory=list)
    moving: list[Span] = field(default_factory=list)
    untouched: list[Span] = field(default_factory=list)
    """The times of all moves, and of those without a kill."""
    froze_ms: list[float] = field(default_factory=list)

    def series(self, number: int, rounds: int) -> None:
        """Move one client from cell to cell while another one stays; then verify both."""
        moved, stays = self._client(f"moves-{number}", "home"), self._client(f"stays-{number}", NAMES[(number + 1) % len(NAMES)])
        self.journals += [moved.journal, stays.journal]
        self.stayed.append(stays.journal)
        try:
            for turn in range(rounds):
                others = [each for each in NAMES if each != moved.cell]
                self._round(moved, others[(number + turn // 2) % len(others)], is_whole=turn == 0)
        finally:
            for each in (moved, stays):
                each.load.end()
        for each in (moved, stays):
            verify_twice(self.plan, self.place.server, self.place.stores[each.cell], each.journal, self.found)
            self._check_keys(each)
        self._check_refusals(moved, stays)
        for other in NAMES:
            if other != stays.cell:
                for what in self.place.rows_left(other, stays.number):
                    self.found.fault(f"of {stays.name}, who never moved, {other} has {what}")

    def _client(self, name: str, cell: str) -> Client:
        api = ApiClient(self.place.server.address, name)
        api.expect_ok("POST", "/admin/v1/clients", {"client_id": name, "cell": cell})
        api.expect_ok("POST", "/admin/v1/keys", {"name": "of the test", "client_id": name, "scopes": ["records:read"]})
        api.close()
        journal = TimedJournal(name)
        return Client(name, cell, self.place.number_of(name, cell), journal, PacedLoad(self.place.server.address, journal))

    def _round(self, client: Client, target: str, *, is_whole: bool) -> None:
        """Move a client to a cell, with kills; sometimes let it stay after all."""
        began, source = time.perf_counter(), client.cell
        try:
            if is_whole:
                self._whole(client, target)
            else:
                self._with_kills(client, target)
        finally:
            self.moving.append(Span(began, time.perf_counter()))
        if is_whole:
            self.untouched.append(self.moving[-1])
        if client.cell == source:
            self.undone += 1
        else:
            self.moved += 1
        for cell in NAMES:
            for what in self.place.rows_left(cell, client.number, lives_there=cell == client.cell):
                self.found.fault(
                    f"after the move from {source} to {target} of {client.name}, who lives in {client.cell}, {cell} has {what}"
                )
        if state := self.place.move_state(client.number):
            self.found.fault(f"the move of {client.name} is done, and is {state}")

    def _whole(self, client: Client, target: str) -> None:
        mover = Mover(self.place, client.name, ("--to", target))
        if not mover.end():
            raise Stuck(f"a move without a kill failed: {mover.output()}")
        self.walk.measured(mover.steps())
        self.froze_ms.append(float(mover.result().get("refused_ms", 0)))
        client.cell = target

    def _with_kills(self, client: Client, target: str) -> None:
        ways = {"source": client.cell, "target": target, "home": "home", SERVER: SERVER}
        move = ("--to", target)
        chosen = deque(self.walk.next(self.plan.size_of(2, KILLS, KILLS)))
        while chosen:
            victim, step = chosen.popleft()
            self.attempts += 1
            if self._attempt(client, move, victim, step, ways):
                client.cell = target
                for left in chosen:
                    self.walk.spared(*left)
                return
            if self.attempts % UNDO_EVERY == 0 and self._undone(client, ways):
                return
        self._until_done(client, move)
        client.cell = target

    def _undone(self, client: Client, ways: dict[str, str]) -> bool:
        """Undo the move, with a kill; return False if it is too late for that, which the command must say."""
        state = self.place.move_state(client.number)
        if not state:
            return False
        if state != "copying":
            mover = Mover(self.place, client.name, ("--undo",))
            if mover.end() or "the new cell has all of the client" not in mover.output():
                self.found.fault(f"the undo of a move that is {state} was not refused: {mover.output()}")
            return False
        victim = self.plan.rng.choice(self.walk.victims)
        if not self._attempt(client, ("--undo",), victim, self.plan.rng.choice(UNDO_STEPS), ways):
            self._until_done(client, ("--undo",))
        return True

    def _attempt(self, client: Client, arguments: Sequence[str], victim: str, step: str, ways: dict[str, str]) -> bool:
        """Run the command and kill a part of it at a step; return whether it is done all the same."""
        is_any = self.attempts % ANY_MOMENT_EVERY == 0 and "--undo" not in arguments
        mover = Mover(self.place, client.name, arguments, "" if is_any else step)
        if is_any:
            moment = self.walk.any_moment()
            is_reached = mover.has_begun() and not mover.ended_within(moment)
        elif is_reached := mover.has_stopped():
            time.sleep(self.plan.rng.uniform(*HELD_SECONDS))
        if (is_any or not is_reached) and "--undo" not in arguments:
            self.walk.missed(victim, step)
        if not is_reached:
            return self._ended(mover)
        self.kills[victim] += 1
        if not is_any:
            self.struck.add((victim, step))
        return self._strike(client, arguments, mover, victim, ways)

    def _strike(self, client: Client, arguments: Sequence[str], mover: Mover, victim: str, ways: dict[str, str]) -> bool:
        if victim == MOVER:
            mover.send(signal.SIGKILL)
            return self._ended(mover)
        if victim == STALLED:
            mover.send(signal.SIGSTOP)
            second = Mover(self.place, client.name, arguments)
            is_done = self._ended(second)
            mover.send(signal.SIGCONT)
            self._ended(mover)
            return is_done
        self.place.kill(ways[victim])
        mover.send(signal.SIGCONT)
        time.sleep(self.plan.rng.uniform(*AWAY_SECONDS))
        self.place.start(ways[victim])
        return self._ended(mover)

    def _ended(self, mover: Mover) -> bool:
        is_done = mover.end()
        if not is_done and not mover.has_said_why():
            self.found.fault(f"a move ended with an error of its own: {mover.output()[-900:]}")
        return is_done

    def _until_done(self, client: Client, arguments: Sequence[str]) -> None:
        """Run the same command again until it is done."""
        for _ in range(AGAIN_TRIES):
            mover = Mover(self.place, client.name, arguments)
            if self._ended(mover):
                return
            time.sleep(0.5)
        raise Stuck(f"a move is never done: {mover.output()[-300:]}")

    def _check_keys(self, client: Client) -> None:
        (found,) = self.place.query(client.cell, f"SELECT count(*) FROM api_key WHERE client = {client.number}")
        self.found.exactly(found[0], f"the key of {client.name}")

    def _check_refusals(self, moved: Client, stays: Client) -> None:
        """Check that calls were refused only while a part of theirs was away or their client moved, and had answers if the server lived."""
        for client, moves in ((moved, self.moving), (stays, [])):
            of_any = self.place.away(*NAMES, back_seconds=BACK_SECONDS)
            own = of_any if client is moved else self.place.away(client.cell, back_seconds=BACK_SECONDS)
            for done, spans, more in (("refused", client.journal.refusals, moves), ("not answered", client.journal.silences, [])):
                for span in spans:
                    if not _meets(span, own) and not _meets(span, more):
                        others = sorted({each.what for each in of_any if _meets(span, [each])})
                        note = self.found.add_missed if done == "refused" else self.found.fault  # a busy machine makes a server refuse
                        note(f"a call ({span.what}) of {client.name} in {client.cell} was {done}; away were {others}")

    def report(self, engine: str, rounds: int) -> None:
        """Add the row to the report."""
        waits = [each for journal in self.journals if journal not in self.stayed for each in journal.waits]
        refused = longest([each.ended - each.began for each in waits if _meets(each, self.untouched)])
        if refused > REFUSED_LIMIT:
            self.found.add_missed(f"calls were refused for {refused:.1f} s in a move without a kill")
        points = len(self.walk.points()) * len(self.walk.victims)
        self.plan.report.add(
            "move", engine, rounds, sum(each.acknowledged for each in self.journals), self.found,
            p99_ms([each for journal in self.stayed for each in journal.seconds]), self.plan.broken,
            moves=self.moved, undone=self.undone, **{f"kills_of_{name.replace(' ', '_')}": self.kills[name] for name in self.walk.victims},
            killed_at=f"{len(self.struck)} of {points} steps", refused=sum(each.refused for each in self.journals),
            longest_refusal_without_kill_s=refused, frozen_ms=longest(self.froze_ms),
        )  # fmt: skip


def run(plan: Plan, engine: str) -> None:
    """Move clients from cell to cell with kills, so many moves of each."""
    rounds = plan.rounds_of(SERIES, 10 * SERIES)
    try:
        with installation(plan, engine) as place:
            moves = Moves(plan, place, Walk(plan, ON_POSTGRESQL if place.clusters else ON_SQLITE))
            try:
                for number in range(0, rounds, SERIES):
                    moves.series(number // SERIES, min(SERIES, rounds - number))
                verified = place.touchbase("verify")
                if verified.returncode:
                    moves.found.fault(f"touchbase verify: {verified.stdout[-300:]} {verified.stderr[-300:]}")
            except Stuck as error:
                moves.found.fault(str(error))
            moves.report(engine, rounds)
    except CannotMeasure as error:
        plan.report.note(f"moves on {engine} were not tested: {error}")


def _meets(span: Span, others: Sequence[Span | Outage]) -> bool:
    return any(span.began <= each.ended and each.began <= span.ended for each in others)

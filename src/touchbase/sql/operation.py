"""Operations: decorated plans. A call of one is a command, which a store writes, or a query, which it reads.

    @command(ids="job")
    def start_linking(ids: Ids, client: int, at: Micros) -> Plan[Job | TouchbaseError]: ...

    job = await store.write(start_linking(client.number, now))

A call runs nothing: it has its arguments as attributes. Calls of one operation are executed as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, Literal, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

import msgspec

from touchbase.common.cipher import Cipher
from touchbase.errors import TouchbaseError
from touchbase.sql.cell_answers import AnswerMerge, Division
from touchbase.sql.ids import Ids
from touchbase.sql.scope import NO_CLIENT, Scope, scope_for
from touchbase.sql.statement import RELEASE, ROLL_BACK, SAVE, Plan, Savepoint, SerializationConflict, follow_savepoints, has_written

if TYPE_CHECKING:
    from touchbase.common.cipher import Cipher

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Needs = Callable[[Any], Mapping[str, int]]
"""Returns the number of ids that calls may take, by the name of their block."""
Run = Callable[[Any, Ids, Any], Plan[list[Any]]]
"""Executes calls of one operation, given ids and the store's cipher; returns one result or error for each, in their order."""
CallPlan = Callable[[Any, Ids, Any], Plan[Any]]
Batch = Callable[..., Plan[list[Any]]]
"""Executes calls of one operation together; its parameters are the calls, the source of ids of commands, and the cipher if it needs it."""
Weight = tuple[int, int, int]
"""Bytes of bodies, commands, custom fields."""
LIGHT: Weight = (0, 1, 0)
CAPTURED = "captured"
"""The attribute of a call that has the values of its moment; see `FollowUp`."""


class _Call(msgspec.Struct):
    operation: ClassVar[Operation]

    def __repr__(self) -> str:
        shown = (name for name in self.__struct_fields__ if name != CAPTURED and name not in self.operation.hidden)
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


class Command(_Call, Generic[T_co]):
    """A call that writes to the store; `T_co` is the type of its result."""


class Query(_Call, Generic[T_co]):
    """A call that reads from the store; `T_co` is the type of its result."""


class CommandType(Protocol[P, T_co]):
    """An operation that writes: calling it gives a command. `plan` is the decorated function, for other plans."""

    plan: Callable[..., Plan[Any]]
    operation: Operation

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Command[T_co]:
        """Return a command with these arguments."""
        ...


class QueryType(Protocol[P, T_co]):
    """An operation that reads: calling it gives a query. `plan` is the decorated function, for other plans."""

    plan: Callable[..., Plan[Any]]
    operation: Operation

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Query[T_co]:
        """Return a query with these arguments."""
        ...


class FollowUp(Protocol):
    """Further statements in the transaction of each call that succeeds."""

    def capture(self) -> Any:
        """Return the values of a call's moment, such as its time, for its statements."""
        ...

    def plan(self, call: Any, result: Any, captured: Any) -> Plan[None]:
        """Execute the statements of a call; `captured` is from `capture`."""
        ...


class Options(TypedDict, total=False):
    """Whose rows an operation accesses, and who calls it.

    By default it accesses the rows of the client that a call names in `client`, and of no client without one.
    """

    client: str
    """The attribute of a call that has its client's number, if not `client`: `creation.record.client`."""

    scope: Scope
    """The scope of all its calls."""
    unnamed: Scope
    """The scope of calls whose client is None."""
    clients: Callable[[Any], Iterable[int | None]]
    """Returns the clients of a call that may have several."""
    merge: AnswerMerge
    """How the answers of all cells to a call that names no client become one."""
    divide: Division
    """How a call that names several clients is divided among their cells."""
    hidden: Container[str]
    """Parameters that a call's `repr` leaves out: secrets."""
    background: bool
    """Whether only the server itself calls it: webhooks are applied in small steps while others write, and this is no other."""
    solo: bool | Callable[[Any], bool]
    """Whether one statement of a command does the whole write and the others only read, so that it needs no transaction."""
    quick: bool | Callable[[Any], bool]
    """Whether a query takes a few microseconds, or a command changes a few rows: less than a thread switch."""
    page: bool
    """Whether a query reads one page of records: it is quick where an index has its filters."""
    long: bool
    """Whether a query may read everything that a client has, at once."""
    standby: bool
    """Whether a query is answered by the read database, if there is one."""
    large: bool
    """Whether a command changes many records: one of them is a whole batch."""
    weight: Callable[[Any], Weight]
    """Returns the weight of a command that has a body or custom fields, or consists of others."""
    bodies: Callable[[Any], Sequence[Any]]
    """Returns the webhooks in a query's result whose bodies may be in object storage, from where the store reads them (`load_bodies`)."""
    follow_up: FollowUp
    """Further writes of each call that succeeds. Plans that use the operation's `plan` do without them."""


def no_client(call: Any) -> None:
    """Return the client of a call that names none."""


@dataclass(frozen=True, slots=True)
class Operation:
    """How calls of one operation are executed, and whose rows they access (see `Options`).

    `batched`: calls of a batch take as many statements as one call.
    """

    run: Run
    """Executes calls of a batch."""
    plan_of: CallPlan
    """Executes one call."""
    needs: Needs
    client_of: Callable[[Any], int | None]
    clients: Callable[[Any], Iterable[int | None]]
    batched: bool = False
    solo: bool | Callable[[Any], bool] = False
    scope: Scope | None = None
    unnamed: Scope = NO_CLIENT
    merge: AnswerMerge | None = None
    divide: Division | None = None
    hidden: Container[str] = ()
    background: bool = False
    quick: bool | Callable[[Any], bool] = False
    page: bool = False
    long: bool = False
    standby: bool = False
    large: bool = False
    weight: Callable[[Any], Weight] | None = None
    bodies: Callable[[Any], Sequence[Any]] | None = None
    follow_up: FollowUp | None = None

    def is_solo(self, calls: Sequence[Any]) -> bool:
        """Return whether these calls need no transaction."""
        return self.solo is True or (self.solo is not False and all(map(self.solo, calls)))


def scope_of(calls: Sequence[Command[Any]] | Sequence[Query[Any]]) -> Scope:
    """Return the scope of calls of one operation."""
    operation = calls[0].operation
    if operation.scope is not None:
        return operation.scope
    numbers: set[int] = set()
    for call in calls:
        for client in operation.clients(call):
            if client is not None:
                numbers.add(client)
            elif operation.unnamed != NO_CLIENT:
                return operation.unnamed
    return scope_for(*numbers) if numbers else NO_CLIENT


def is_of_all_clients(call: Command[Any] | Query[Any]) -> bool:
    """Return whether a call names no client."""
    return all(client is None for client in call.operation.clients(call))


def no_ids(calls: Any) -> Mapping[str, int]:
    """Return the needs of calls that take no ids."""
    return {}


def single_id(name: str) -> Needs:
    """Return the needs of calls that take up to one id each."""
    return lambda calls: {name: len(calls)}


def _field(parameter: Parameter) -> tuple[str, Any] | tuple[str, Any, Any]:
    hint = parameter.annotation
    return (parameter.name, hint) if parameter.default is Parameter.empty else (parameter.name, hint, parameter.default)


def _in_turn(plan_of: CallPlan, client_of: Callable[[Any], int | None]) -> Run:
    def run(calls: Sequence[Any], ids: Ids, cipher: Any) -> Plan[list[Any]]:
        # In the order of clients, which most plans lock: two batches that share clients wait instead of deadlocking.
        order = sorted(range(len(calls)), key=lambda index: client_of(calls[index]) or 0)
        results: list[Any] = [None] * len(calls)
        for index in order:
            results[index] = yield from outcome_of(plan_of(calls[index], ids, cipher))
        return results

    return run


def outcome_of(plan: Plan[T]) -> Plan[T | TouchbaseError]:
    """Execute a plan; return its result, or the error that it returns or raises, which has changed nothing.

    An error after a write is raised here: the transaction is rolled back, and the other commands of its batch run again without this one.
    """
    written: list[None] = []
    marks: list[int] = []
    result: T | TouchbaseError
    try:
        step = next(plan)
        while True:
            if isinstance(step, Savepoint):
                follow_savepoints(step, written, marks)
            rows = yield step
            if has_written(step, rows):
                written.append(None)
            step = plan.send(rows)
    except StopIteration as stop:
        result = stop.value
    except TouchbaseError as error:
        result = error
    if written and isinstance(result, TouchbaseError):
        raise result
    return result


def or_nothing(plan: Plan[T | TouchbaseError]) -> Plan[T | TouchbaseError]:
    """Execute a plan; one that returns or raises an error is rolled back, but not the transaction's earlier writes."""
    yield SAVE
    result: T | TouchbaseError
    try:
        result = yield from plan
    except TouchbaseError as error:
        result = error
    if isinstance(result, TouchbaseError):
        yield ROLL_BACK
    yield RELEASE
    return result


def _first(plan: Plan[list[Any]]) -> Plan[Any]:
    return (yield from plan)[0]


def _operation(
    base: type, plan: Callable[..., Plan[Any]], ids: str | Needs | None, cipher: bool, batch: Batch | None, options: dict[str, Any]
) -> Any:
    """Return the class of an operation's calls: the plan's parameters are its attributes, except the parameters that the store injects."""
    takes_ids = ids is not None if batch is None else base is Command
    injected = _INJECTED[takes_ids, cipher]
    parameters = [*signature(plan).parameters.values()][0 if batch is not None else takes_ids + cipher :]
    follow_up: FollowUp | None = options.get("follow_up")
    fields = sorted(map(_field, parameters), key=len)  # those without a default first
    if follow_up is not None:
        fields.append((CAPTURED, Any, msgspec.field(default_factory=follow_up.capture)))
    call_type: Any = msgspec.defstruct(plan.__name__, fields, bases=(base,))
    call_type.__module__, call_type.__doc__, call_type.plan = plan.__module__, plan.__doc__, staticmethod(plan)
    names = "".join(f"call.{parameter.name}, " for parameter in parameters)
    arguments: Callable[[Any], tuple[Any, ...]] = eval(f"lambda call: ({names})")  # noqa: S307 - twice as fast as getattr

    def plan_of(call: Any, source: Ids, key: Any) -> Plan[Any]:
        planned = plan(*injected(source, key), *arguments(call)) if batch is None else _first(batch([call], *injected(source, key)))
        return planned if follow_up is None else _followed(planned, call, follow_up)

    def run(calls: Sequence[Any], source: Ids, key: Any) -> Plan[list[Any]]:
        assert batch is not None
        assert follow_up is None
        return batch(calls, *injected(source, key))

    path = options.pop("client", "client")
    is_named = path != "client" or any(parameter.name == "client" for parameter in parameters)
    client_of: Callable[[Any], int | None] = attrgetter(path) if is_named else no_client
    options.setdefault("clients", lambda call: (client_of(call),))
    needs = no_ids if ids is None else single_id(ids) if isinstance(ids, str) else ids
    execute = run if batch else _in_turn(plan_of, client_of)
    call_type.operation = Operation(execute, plan_of, needs, client_of, batched=batch is not None, **options)
    return call_type


def _followed(plan: Plan[T], call: Any, follow_up: FollowUp) -> Plan[T]:
    result = yield from plan
    if not isinstance(result, TouchbaseError):
        yield from follow_up.plan(call, result, call.captured)
    return result


_INJECTED: dict[tuple[bool, bool], Callable[[Ids, Any], tuple[Any, ...]]] = {
    (False, False): lambda ids, cipher: (),
    (True, False): lambda ids, cipher: (ids,),
    (False, True): lambda ids, cipher: (cipher,),
    (True, True): lambda ids, cipher: (ids, cipher),
}
"""Arguments of a plan before the arguments of a call: by whether it takes ids, and the cipher."""


@overload
def query(plan: Callable[P, Plan[T]]) -> QueryType[P, T]: ...
@overload
def query(
    *, cipher: Literal[True], **options: Unpack[Options]
) -> Callable[[Callable[Concatenate[Cipher, P], Plan[T]]], QueryType[P, T]]: ...
@overload
def query(*, batch: Batch | None = None, **options: Unpack[Options]) -> Callable[[Callable[P, Plan[T]]], QueryType[P, T]]: ...
def query(plan: Any = None, *, cipher: bool = False, batch: Batch | None = None, **options: Unpack[Options]) -> Any:
    """Turn a plan into an operation that reads. With `cipher` the plan's first parameter is the store's cipher.

    With a `batch` that plan executes all calls of a batch; see `command`.
    """
    if plan is None:
        return lambda plan: _operation(Query, plan, None, cipher, batch, {**options})
    return _operation(Query, plan, None, cipher, batch, {**options})


@overload
def command(plan: Callable[P, Plan[T | TouchbaseError]]) -> CommandType[P, T]: ...
@overload
def command(
    *, cipher: Literal[True], **options: Unpack[Options]
) -> Callable[[Callable[Concatenate[Cipher, P], Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
@overload
def command(
    *, ids: str | Needs, **options: Unpack[Options]
) -> Callable[[Callable[Concatenate[Ids, P], Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
@overload
def command(
    *, ids: str | Needs, cipher: Literal[True], **options: Unpack[Options]
) -> Callable[[Callable[Concatenate[Ids, Cipher, P], Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
@overload
def command(
    *, batch: Batch, ids: str | Needs | None = None, cipher: bool = False, **options: Unpack[Options]
) -> Callable[[Callable[P, Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
@overload
def command(**options: Unpack[Options]) -> Callable[[Callable[P, Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
def command(
    plan: Any = None,
    *,
    ids: str | Needs | None = None,
    cipher: bool = False,
    batch: Batch | None = None,
    **options: Unpack[Options],
) -> Any:
    """Turn a plan into an operation that writes. It returns its result, or returns or raises a `TouchbaseError`: then it is rolled back.

    `ids`: the block of which a call takes up to one id, or a function that counts the ids of calls; the plan's first parameter is then
    the source of ids. With `cipher` the next one is the store's cipher.

    With a `batch` that plan executes all calls of a batch, which takes as many statements as one call; the decorated function has the
    parameters of a call and is not executed.
    """
    if plan is None:
        return lambda plan: _operation(Command, plan, ids, cipher, batch, {**options})
    return _operation(Command, plan, ids, cipher, batch, {**options})


NO_IDS = Ids()


def plan_of_query(query: Query[T], cipher: Cipher) -> Plan[T]:
    """Return the plan of a query."""
    plan: Plan[T] = query.operation.plan_of(query, NO_IDS, cipher)
    return plan


@dataclass(slots=True)
class CommandPreview:
    """Result of a command in a dry run: the record before it, None for a new one, and its result or error."""

    before: Any
    outcome: object
    deletes: bool = False
    """Whether the record would be gone; `outcome` has it as it was."""


Commands = Sequence[Command[Any]]

MAX_COMMANDS = 256
"""Commands in one batch: more would delay each response and save nothing."""
NEEDS_TRANSACTION = object()
"""Result of a `solo` command that has changed nothing and is not `solo` any more: run it again, in a transaction."""


def plan_of(commands: Commands, ids: Ids, cipher: Cipher, *, alone: bool = False) -> Plan[list[object]]:
    """Execute all commands; return one result or `TouchbaseError` for each, in their order.

    A result can be `NEEDS_TRANSACTION` only if the plan runs `alone`, outside of a transaction.
    """
    results: list[object] = [None] * len(commands)
    for kind, indexes in _by_kind(commands).items():
        outcomes = yield from kind.operation.run([commands[index] for index in indexes], ids, cipher)
        for index, outcome in zip(indexes, outcomes, strict=True):
            results[index] = outcome
    if not alone and any(result is NEEDS_TRANSACTION for result in results):
        raise SerializationConflict("another transaction came between the request and this one")
    return results


def needs_of(commands: Commands) -> dict[str, int]:
    """Return the number of ids that a batch may need, by the name of their block."""
    total: dict[str, int] = {}
    for kind, indexes in _by_kind(commands).items():
        for name, count in kind.operation.needs([commands[index] for index in indexes]).items():
            total[name] = total.get(name, 0) + count
    return total


def _by_kind(commands: Commands) -> dict[type[Command[Any]], list[int]]:
    kinds: dict[type[Command[Any]], list[int]] = {}
    for index, command in enumerate(commands):
        kinds.setdefault(type(command), []).append(index)
    return kinds


def weight_of(command: Command[Any]) -> Weight:
    """Return a command's bytes of bodies, commands and custom fields; a large command weighs as much as a batch."""
    operation = command.operation
    if operation.weight is not None:
        return operation.weight(command)
    return (0, MAX_COMMANDS, 0) if operation.large else LIGHT


def weight_of_all(commands: Iterable[Command[Any]]) -> Weight:
    """Return the weight of a command that consists of these."""
    size = count = fields = 0
    for command in commands:
        bytes_added, count_added, fields_added = weight_of(command)
        size, count, fields = size + bytes_added, count + count_added, fields + fields_added
    return size, count, fields

"""Operations: decorated plans. A call of one is a command, which a store writes, or a query, which it reads.

    @command(ids="job")
    def start_linking(ids: Ids, client: int, at: Micros) -> Plan[Job | TouchbaseError]: ...

    job = await store.write(start_linking(client.number, now))

A call runs nothing: it has its arguments as attributes. Calls of one operation are executed as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from touchbase.errors import TouchbaseError
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan

if TYPE_CHECKING:
    from touchbase.encryption.cipher import Cipher

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
PlanT = TypeVar("PlanT", bound=Callable[..., Any])
Needs = Callable[[Any], Mapping[str, int]]
"""Returns the number of ids that calls may take, by the name of their block."""
Run = Callable[[Any, Ids, Any], Plan[list[Any]]]
"""Executes calls of one operation, given ids and the store's cipher; returns one result or error for each, in their order."""


class Command(Generic[T_co]):
    """A call that writes to the store; `T_co` is the type of its result."""

    __slots__ = ()
    operation: ClassVar[Operation]


class Query(Generic[T_co]):
    """A call that reads from the store; `T_co` is the type of its result."""

    __slots__ = ()
    operation: ClassVar[Operation]


class CommandType(Protocol[P, T_co]):
    """An operation that writes: calling it gives a command. `plan` is the decorated function, for other plans."""

    plan: Callable[..., Plan[Any]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Command[T_co]:
        """Return a command with these arguments."""
        ...


class QueryType(Protocol[P, T_co]):
    """An operation that reads: calling it gives a query. `plan` is the decorated function, for other plans."""

    plan: Callable[..., Plan[Any]]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Query[T_co]:
        """Return a query with these arguments."""
        ...


@dataclass(frozen=True, slots=True)
class Operation:
    """How calls of one operation are executed.

    `solo`: one statement does the whole write and the others only read, so that an engine may skip the transaction, unless a call is
    `guarded`: then erasures are read before the write, and lifted after it.
    """

    run: Run
    needs: Needs
    solo: bool = False


def no_ids(calls: Any) -> Mapping[str, int]:
    """Return the needs of calls that take no ids."""
    return {}


def one_id(name: str) -> Needs:
    """Return the needs of calls that take up to one id each."""
    return lambda calls: {name: len(calls)}


def _needs(ids: str | Needs | None) -> Needs:
    return no_ids if ids is None else one_id(ids) if isinstance(ids, str) else ids


def _call_type(base: type, plan: Callable[..., Plan[Any]], injected: int) -> Any:
    """Return the class of an operation's calls: the plan's parameters are its attributes, but for those that the store injects."""
    parameters = [*signature(plan).parameters.values()][injected:]
    fields = [(each.name, Any, _default(each)) for each in parameters]
    call_type: Any = make_dataclass(plan.__name__, fields, bases=(base,), slots=True)
    call_type.__module__, call_type.__doc__, call_type.plan = plan.__module__, plan.__doc__, staticmethod(plan)
    names = "".join(f"call.{each.name}, " for each in parameters)
    arguments: Callable[[Any], tuple[Any, ...]] = eval(f"lambda call: ({names})")  # noqa: S307 - twice as fast as getattr
    return call_type, arguments


def _default(parameter: Parameter) -> Any:
    default = {} if parameter.default is Parameter.empty else {"default": parameter.default}
    return field(**default, kw_only=parameter.kind is Parameter.KEYWORD_ONLY)


def _one_by_one(plan: Callable[..., Plan[Any]], *, takes_ids: bool, takes_cipher: bool) -> Run:
    def run(calls: Sequence[Any], ids: Ids, cipher: Any) -> Plan[list[Any]]:
        injected = (*((ids,) if takes_ids else ()), *((cipher,) if takes_cipher else ()))
        results = []
        for call in calls:
            results.append((yield from plan(*injected, call)))
        return results

    return run


def _operation(base: type, plan: Callable[..., Any], ids: str | Needs | None, cipher: bool) -> Any:
    call_type, arguments = _call_type(base, plan, (ids is not None) + cipher)

    def execute(*given: Any) -> Plan[Any]:
        steps: Plan[Any] = plan(*given[:-1], *arguments(given[-1]))
        return steps

    call_type.operation = Operation(_one_by_one(execute, takes_ids=ids is not None, takes_cipher=cipher), _needs(ids))
    return call_type


@overload
def query(plan: Callable[P, Plan[T]]) -> QueryType[P, T]: ...
@overload
def query(*, cipher: Literal[True]) -> Callable[[Callable[Concatenate[Cipher, P], Plan[T]]], QueryType[P, T]]: ...
def query(plan: Any = None, *, cipher: bool = False) -> Any:
    """Make an operation that reads of a plan. With `cipher` the plan's first parameter is the store's cipher."""
    if plan is None:
        return lambda plan: _operation(Query, plan, None, cipher)
    return _operation(Query, plan, None, cipher)


@overload
def command(plan: Callable[P, Plan[T | TouchbaseError]]) -> CommandType[P, T]: ...
@overload
def command(*, cipher: Literal[True]) -> Callable[[Callable[Concatenate[Cipher, P], Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
@overload
def command(
    *, ids: str | Needs, cipher: Literal[False] = False
) -> Callable[[Callable[Concatenate[Ids, P], Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
@overload
def command(
    *, ids: str | Needs, cipher: Literal[True]
) -> Callable[[Callable[Concatenate[Ids, Cipher, P], Plan[T | TouchbaseError]]], CommandType[P, T]]: ...
def command(plan: Any = None, *, ids: str | Needs | None = None, cipher: bool = False) -> Any:
    """Make an operation that writes of a plan, which returns its result or a `TouchbaseError`.

    `ids`: the block of which a call takes up to one id, or a function that counts the ids of calls; the plan's first parameter is then
    the source of ids. With `cipher` the next one is the store's cipher.
    """
    if plan is None:
        return lambda plan: _operation(Command, plan, ids, cipher)
    return _operation(Command, plan, None, False)


def executes(
    call_type: type, *, ids: str | Needs | None = None, cipher: bool = False, batch: bool = False, solo: bool = False
) -> Callable[[PlanT], PlanT]:
    """Execute the calls of a class with this plan, whose first parameter is the call, or with `batch` all calls of a batch.

    Ids and cipher are its next parameters.
    """

    def register(plan: PlanT) -> PlanT:
        def run(calls: Sequence[Any], source: Ids, key: Any) -> Plan[list[Any]]:
            injected = (*((source,) if ids is not None or batch else ()), *((key,) if cipher else ()))
            if batch:
                results: list[Any] = yield from plan(calls, *injected)
                return results
            outcomes = []
            for call in calls:
                outcomes.append((yield from plan(call, *injected)))
            return outcomes

        call_type.operation = Operation(run, _needs(ids), solo)  # type: ignore[attr-defined]
        return plan

    return register

"""Methods of the synchronous client from functions: a function makes a request, and the method sends it.

`list = Call(list_contacts)` in a class of the synchronous client makes `contacts.list(...)` a method with the parameters of
`list_contacts`, whose result is the answer. `async_calls` does the same for the asynchronous client, with the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from touchbase.client.request import Paged, Request, Response, Write
from touchbase.client.retries import Retries

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")
I = TypeVar("I")  # noqa: E741 - the item of a page


class Sender(Protocol):
    """A synchronous client."""

    def send(self, request: Request[T], /) -> Response[T]:
        """Send a request and return its answer."""

    def stream(self, request: Request[bytes], /) -> Generator[bytes, None, None]:
        """Send a request and return its answer in pieces."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""

    @property
    def retries(self) -> Retries:
        """How patiently requests are repeated."""


class Group:
    """A group of operations of a synchronous client."""

    def __init__(self, sender: Sender) -> None:
        self.sender = sender


class BoundMethod(Generic[P]):
    """A function of requests, as a method of a group; `help` shows its parameters."""

    def __init__(self, make: Callable[P, Any]) -> None:
        self.__name__, self.__doc__, self.__wrapped__ = make.__name__, make.__doc__, make

    def __repr__(self) -> str:
        return f"<operation {self.__name__}>"


class Method(Generic[P]):
    """A descriptor that remembers the function."""

    def __init__(self, make: Callable[P, Any]) -> None:
        self.make = make
        self.__doc__ = make.__doc__


class BoundCall(BoundMethod[P], Generic[P, T]):
    """A method that sends a request."""

    def __init__(self, make: Callable[P, Request[T]], sender: Sender) -> None:
        super().__init__(make)
        self._request = make
        self._sender = sender

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Send the request and return the data of the answer."""
        return (self._sender.send(self._request(*args, **kwargs))).data

    def response(self, *args: P.args, **kwargs: P.kwargs) -> Response[T]:
        """Send the request and return the answer with its status and headers."""
        return self._sender.send(self._request(*args, **kwargs))


class BoundWrite(BoundCall[P, T], Generic[P, T, D]):
    """A method that writes, and can be tried out."""

    def __init__(self, make: Callable[P, Write[T, D]], sender: Sender) -> None:
        super().__init__(make, sender)
        self._write = make

    def dry_run(self, *args: P.args, **kwargs: P.kwargs) -> D:
        """Return what the call would write; nothing is written."""
        return (self._sender.send(self._write(*args, **kwargs).as_dry_run())).data


class BoundFile(BoundCall[P, bytes]):
    """A method that returns a file."""

    def stream(self, *args: P.args, **kwargs: P.kwargs) -> Generator[bytes, None, None]:
        """Send the request and return the file in pieces; `IncompleteDownload` if the connection breaks before its end."""
        return self._sender.stream(self._request(*args, **kwargs))


class BoundItems(BoundMethod[P], Generic[P, I]):
    """A method that reads all pages."""

    def __init__(self, make: Callable[P, Paged[Any, I]], sender: Sender) -> None:
        super().__init__(make)
        self._request = make
        self._sender = sender

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[I]:
        """Return the items of this page and of all later ones, each page read when its first item is needed."""
        return self._items(self._request(*args, **kwargs))

    def _items(self, first: Paged[Any, I]) -> Iterator[I]:
        request: Paged[Any, I] | None = first
        while request is not None:
            page = (self._sender.send(request)).data
            yield from request.items(page)
            request = request.after(page)


class Call(Method[P], Generic[P, T]):
    """Makes a function of requests a method that sends a request."""

    def __init__(self, make: Callable[P, Request[T]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: Group, owner: object = None) -> BoundCall[P, T]: ...

    def __get__(self, group: Group | None, owner: object = None) -> Self | BoundCall[P, T]:
        """Return the method of a group."""
        return self if group is None else BoundCall(self._typed, group.sender)


class WriteCall(Method[P], Generic[P, T, D]):
    """Makes a function of requests a method that writes, with `dry_run`."""

    def __init__(self, make: Callable[P, Write[T, D]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: Group, owner: object = None) -> BoundWrite[P, T, D]: ...

    def __get__(self, group: Group | None, owner: object = None) -> Self | BoundWrite[P, T, D]:
        """Return the method of a group."""
        return self if group is None else BoundWrite(self._typed, group.sender)


class FileCall(Method[P]):
    """Makes a function of requests a method that returns a file, with `stream`."""

    def __init__(self, make: Callable[P, Request[bytes]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: Group, owner: object = None) -> BoundFile[P]: ...

    def __get__(self, group: Group | None, owner: object = None) -> Self | BoundFile[P]:
        """Return the method of a group."""
        return self if group is None else BoundFile(self._typed, group.sender)


class Iterate(Method[P], Generic[P, I]):
    """Makes a function of requests a method that reads all pages."""

    def __init__(self, make: Callable[P, Paged[Any, I]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: Group, owner: object = None) -> BoundItems[P, I]: ...

    def __get__(self, group: Group | None, owner: object = None) -> Self | BoundItems[P, I]:
        """Return the method of a group."""
        return self if group is None else BoundItems(self._typed, group.sender)

"""Methods of the asynchronous client from functions of requests, as `calls` makes those of the synchronous one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from touchbase.client.calls import BoundMethod, Method
from touchbase.client.request import Paged, Request, Response, Write
from touchbase.client.retries import Retries

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")
I = TypeVar("I")  # noqa: E741 - the item of a page


class AsyncSender(Protocol):
    """An asynchronous client."""

    async def send(self, request: Request[T], /) -> Response[T]:
        """Send a request and return its answer."""

    def stream(self, request: Request[bytes], /) -> AsyncGenerator[bytes, None]:
        """Send a request and return its answer in pieces."""

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""

    @property
    def retries(self) -> Retries:
        """How patiently requests are repeated."""


class AsyncGroup:
    """A group of operations of an asynchronous client."""

    def __init__(self, sender: AsyncSender) -> None:
        self.sender = sender


class AsyncBoundCall(BoundMethod[P], Generic[P, T]):
    """A method that sends a request."""

    def __init__(self, make: Callable[P, Request[T]], sender: AsyncSender) -> None:
        super().__init__(make)
        self._request = make
        self._sender = sender

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Send the request and return the data of the answer."""
        return (await self._sender.send(self._request(*args, **kwargs))).data

    async def response(self, *args: P.args, **kwargs: P.kwargs) -> Response[T]:
        """Send the request and return the answer with its status and headers."""
        return await self._sender.send(self._request(*args, **kwargs))


class AsyncBoundWrite(AsyncBoundCall[P, T], Generic[P, T, D]):
    """A method that writes, and can be tried out."""

    def __init__(self, make: Callable[P, Write[T, D]], sender: AsyncSender) -> None:
        super().__init__(make, sender)
        self._write = make

    async def dry_run(self, *args: P.args, **kwargs: P.kwargs) -> D:
        """Return what the call would write; nothing is written."""
        return (await self._sender.send(self._write(*args, **kwargs).as_dry_run())).data


class AsyncBoundFile(AsyncBoundCall[P, bytes]):
    """A method that returns a file."""

    def stream(self, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[bytes, None]:
        """Send the request and return the file in pieces; `IncompleteDownload` if the connection breaks before its end."""
        return self._sender.stream(self._request(*args, **kwargs))


class AsyncBoundItems(BoundMethod[P], Generic[P, I]):
    """A method that reads all pages."""

    def __init__(self, make: Callable[P, Paged[Any, I]], sender: AsyncSender) -> None:
        super().__init__(make)
        self._request = make
        self._sender = sender

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[I]:
        """Return the items of this page and of all later ones, each page read when its first item is needed."""
        return self._items(self._request(*args, **kwargs))

    async def _items(self, first: Paged[Any, I]) -> AsyncIterator[I]:
        request: Paged[Any, I] | None = first
        while request is not None:
            page = (await self._sender.send(request)).data
            for item in request.items(page):
                yield item
            request = request.after(page)


class AsyncCall(Method[P], Generic[P, T]):
    """Makes a function of requests a method that sends a request."""

    def __init__(self, make: Callable[P, Request[T]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: AsyncGroup, owner: object = None) -> AsyncBoundCall[P, T]: ...

    def __get__(self, group: AsyncGroup | None, owner: object = None) -> Self | AsyncBoundCall[P, T]:
        """Return the method of a group."""
        return self if group is None else AsyncBoundCall(self._typed, group.sender)


class AsyncWriteCall(Method[P], Generic[P, T, D]):
    """Makes a function of requests a method that writes, with `dry_run`."""

    def __init__(self, make: Callable[P, Write[T, D]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: AsyncGroup, owner: object = None) -> AsyncBoundWrite[P, T, D]: ...

    def __get__(self, group: AsyncGroup | None, owner: object = None) -> Self | AsyncBoundWrite[P, T, D]:
        """Return the method of a group."""
        return self if group is None else AsyncBoundWrite(self._typed, group.sender)


class AsyncFileCall(Method[P]):
    """Makes a function of requests a method that returns a file, with `stream`."""

    def __init__(self, make: Callable[P, Request[bytes]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: AsyncGroup, owner: object = None) -> AsyncBoundFile[P]: ...

    def __get__(self, group: AsyncGroup | None, owner: object = None) -> Self | AsyncBoundFile[P]:
        """Return the method of a group."""
        return self if group is None else AsyncBoundFile(self._typed, group.sender)


class AsyncIterate(Method[P], Generic[P, I]):
    """Makes a function of requests a method that reads all pages."""

    def __init__(self, make: Callable[P, Paged[Any, I]]) -> None:
        super().__init__(make)
        self._typed = make

    @overload
    def __get__(self, group: None, owner: object = None) -> Self: ...

    @overload
    def __get__(self, group: AsyncGroup, owner: object = None) -> AsyncBoundItems[P, I]: ...

    def __get__(self, group: AsyncGroup | None, owner: object = None) -> Self | AsyncBoundItems[P, I]:
        """Return the method of a group."""
        return self if group is None else AsyncBoundItems(self._typed, group.sender)

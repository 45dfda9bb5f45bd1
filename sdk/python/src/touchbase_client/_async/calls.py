"""Methods of a client from functions: a function makes a request, and the method sends it.

`list = AsyncCall(list_contacts)` in a class of a group makes `contacts.list(...)` a method with the parameters of `list_contacts`,
whose result is the answer.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar

from touchbase_client.request import Paged, Request, Response, Write

if TYPE_CHECKING:
    from touchbase_client._async.client import AsyncTouchbase

P = ParamSpec("P")
T = TypeVar("T")
D = TypeVar("D")
I = TypeVar("I")  # noqa: E741 - the item of a page


class AsyncGroup:
    """A group of operations of a client."""

    def __init__(self, client: AsyncTouchbase) -> None:
        self._client = client


class AsyncMethod(Generic[P]):
    """A function of requests as a method of a group; `help` shows its parameters."""

    _client: AsyncTouchbase

    def __init__(self, make: Callable[P, Any]) -> None:
        self.__name__, self.__doc__, self.__wrapped__ = make.__name__, make.__doc__, make

    def __get__(self, group: AsyncGroup | None, owner: object = None) -> Self:
        """Return the method of a group."""
        if group is None:
            return self
        method = object.__new__(type(self))
        method.__dict__.update(self.__dict__, _client=group._client)
        return method

    def __repr__(self) -> str:
        return f"<operation {self.__name__}>"


class AsyncCall(AsyncMethod[P], Generic[P, T]):
    """A method that sends a request."""

    def __init__(self, make: Callable[P, Request[T]]) -> None:
        super().__init__(make)
        self._request = make

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Send the request and return the data of the answer."""
        return (await self._client.send(self._request(*args, **kwargs))).data

    async def response(self, *args: P.args, **kwargs: P.kwargs) -> Response[T]:
        """Send the request and return the answer with its status and headers."""
        return await self._client.send(self._request(*args, **kwargs))


class AsyncWriteCall(AsyncCall[P, T], Generic[P, T, D]):
    """A method that writes, and can be tried out."""

    def __init__(self, make: Callable[P, Write[T, D]]) -> None:
        super().__init__(make)
        self._write = make

    async def dry_run(self, *args: P.args, **kwargs: P.kwargs) -> D:
        """Return what the call would write; nothing is written."""
        return (await self._client.send(self._write(*args, **kwargs).as_dry_run())).data


class AsyncFileCall(AsyncCall[P, bytes]):
    """A method that returns a file."""

    def stream(self, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[bytes, None]:
        """Send the request and return the file in pieces; `IncompleteDownload` if the connection breaks before its end."""
        return self._client.stream(self._request(*args, **kwargs))


class AsyncIterate(AsyncMethod[P], Generic[P, I]):
    """A method that reads all pages."""

    def __init__(self, make: Callable[P, Paged[Any, I]]) -> None:
        super().__init__(make)
        self._request = make

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[I]:
        """Return the items of this page and of all later ones, each page read when its first item is needed."""
        return self._items(self._request(*args, **kwargs))

    async def _items(self, first: Paged[Any, I]) -> AsyncIterator[I]:
        request: Paged[Any, I] | None = first
        while request is not None:
            page = (await self._client.send(request)).data
            for item in request.items(page):
                yield item
            request = request.after(page)

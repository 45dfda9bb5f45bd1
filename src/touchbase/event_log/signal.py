"""Signal within a process: a transaction of this process has stored events. Readers in other processes look at the counters."""

from __future__ import annotations

from collections.abc import Callable


class LogSignal:
    """Calls listeners after commits; `notify` may be called on any thread, and so may the listeners."""

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[], None], ...] = ()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call this listener from now on; it must be quick and must not raise."""
        self._listeners = (*self._listeners, listener)

    def forget(self, listener: Callable[[], None]) -> None:
        """Do not call this listener any more."""
        self._listeners = tuple(listening for listening in self._listeners if listening is not listener)

    def notify(self) -> None:
        """Call the listeners."""
        for listener in self._listeners:
            listener()


LOGGED = LogSignal()
"""The signal of all stores of this process: a listener looks at its own store, so one signal too many costs a look."""

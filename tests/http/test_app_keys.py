"""Parts of single rooms: each key that a handler may ask for has its value in the assembly."""

from __future__ import annotations

import sys

from tests.asgi_client import Clock

from touchbase.http.dependencies import AppKey
from touchbase.sql.store import Store
from touchbase.web import Dependencies


def test_services__have_every_declared_key(store: Store, clock: Clock) -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("touchbase.")]
    declared = {value for module in modules for value in vars(module).values() if isinstance(value, AppKey)}

    assert Dependencies(store, clock).services().keys() == declared  # type: ignore[arg-type]

"""pyarrow, which the extra `touchbase[parquet]` installs; it takes 50 MB of memory, so only a Parquet file loads it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any

NOT_INSTALLED = "Parquet files need pyarrow, which is not installed where Touchbase runs: pip install touchbase[parquet]"


def check_installed(missing: Callable[[str], Exception]) -> None:
    """Raise the error that `missing` makes of a text if pyarrow is not installed; load nothing."""
    if find_spec("pyarrow") is None:
        raise missing(NOT_INSTALLED)


def load_arrow(missing: Callable[[str], Exception]) -> tuple[ModuleType, Any]:
    """Return the modules `pyarrow` and `pyarrow.parquet`; raise as `check_installed`. The first time takes a third of a second."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise missing(NOT_INSTALLED) from None
    return pyarrow, parquet

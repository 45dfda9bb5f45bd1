"""The sandbox of imported files that all tests of a run share: to start a process takes longer than most of them."""

from __future__ import annotations

from touchbase.imports.preview import new_file_sandbox

FILES = new_file_sandbox()

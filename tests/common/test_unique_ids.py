"""Worker processes are made by copying one: what must be unique is so in each copy."""

from __future__ import annotations

import subprocess
import sys

# As `touchbase serve --workers 2` does it: everything is imported before the processes are made. In a process of its own,
# for this one has threads.
CODE = """
import os
from touchbase import app
from touchbase.http.responses import request_id_of
from touchbase.records.writes import new_write_key

def tell():
    for _ in range(3):
        os.write(1, f"{request_id_of({}).decode()}\\n{new_write_key()}\\n".encode())

tell()
for _ in range(2):
    if os.fork() == 0:
        tell()
        os._exit(0)
    os.wait()
tell()
"""


def test_unique_ids__differ_between_forked_processes() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)

    stdout = done.stdout.split()

    assert len(stdout) == 4 * 3 * 2
    assert len(set(stdout)) == len(stdout)

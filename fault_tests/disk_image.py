"""A file system in an image file; the image holds what a disk would hold after a power cut."""

from __future__ import annotations

import filecmp
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.server_process import CannotMeasure

MEGABYTES = 96
COPIES = 20


def new_image(path: Path) -> Path:
    """Create an image with an empty ext4."""
    with path.open("wb") as file:
        file.truncate(MEGABYTES * 1024 * 1024)
    _done(["mkfs.ext4", "-q", "-F", str(path)])
    return path


@contextmanager
def mounted(image: Path, place: Path) -> Iterator[Path]:
    """Mount the image; the kernel replays the journal as after a power cut."""
    place.mkdir(exist_ok=True)
    _done(["mount", "-o", "loop", str(image), str(place)])
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def copied(image: Path, copy: Path) -> Path:
    """Copy the image until it did not change during the copy; its writers must be frozen."""
    for _ in range(COPIES):
        subprocess.run(["cp", image, copy], check=True)
        filecmp.clear_cache()
        if filecmp.cmp(image, copy, shallow=False):
            return copy
    raise CannotMeasure("the image does not stand still")


def _done(command: list[str]) -> None:
    try:
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotMeasure(f"there is no {command[0]} here") from error
    if ended.returncode:
        raise CannotMeasure(f"no image can be mounted here ({ended.stderr.strip()}); run it as root")

"""`python -m touchbase`, and the `touchbase` command."""

from __future__ import annotations

from touchbase.cli import main

if __name__ == "__main__":
    main()

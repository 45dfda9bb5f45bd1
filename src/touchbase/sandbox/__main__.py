"""Program of a sandbox process."""

from touchbase.sandbox.process import main

main()

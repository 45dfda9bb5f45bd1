"""Sandbox: work on bytes that came from outside, in processes with limits of memory and time (decision 28).

`task.py` names a function that runs there, `pool.py` is the server's side, `process.py` the program of a process.
"""

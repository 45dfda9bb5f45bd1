"""Closed-loop load by `wrk`: as many requests as 64 connections can carry, each sent when the one before is answered."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench.bodies import KINDS, NAMED, PEOPLE, Shape, first_second, new_run
from bench.load import Address, Burst

SCRIPT = """
local run, start, n, second, text = %(run)s, %(start)d, 0, -1, ""
local kinds = {%(kinds)s}
local head = %(head)s

request = function()
  n = n + 1
  if math.floor(n / 1000) ~= second then
    second = math.floor(n / 1000)
    text = os.date("!%%Y-%%m-%%dT%%H:%%M:%%S.", start + second)
  end
  local who = math.floor(n / %(block)d) * %(people)d + n %% %(people)d
  local kind = kinds[math.floor(n / %(people)d) %% #kinds + 1]
  local when = text .. string.format("%%03dZ", n %% 1000)
  local body = %(body)s
  return head .. #body .. "\\r\\n\\r\\n" .. body
end

done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('\\n{"requests":%%d,"us":%%d,"errors":%%d,"p50":%%d,"p99":%%d,"p999":%%d,"max":%%d}\\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
"""


def found() -> str | None:
    """The version of `wrk` on this machine."""
    path = shutil.which("wrk")
    if path is None:
        return None
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return " ".join(said[:2])


def closed(address: Address, shape: Shape, connections: int, seconds: float) -> Burst:
    """One burst of load."""
    with tempfile.TemporaryDirectory(prefix="touchbase-bench-") as folder:
        script = Path(folder) / "load.lua"
        script.write_text(_script(address, shape))
        # wrk counts in whole seconds.
        whole = max(1, round(seconds))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{whole}s", "--timeout", "10s", "-s", str(script), address.url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    told = json.loads(said.strip().splitlines()[-1])
    return Burst(
        requests=told["requests"],
        seconds=told["us"] / 1e6,
        errors=told["errors"],
        p50_ms=told["p50"] / 1000,
        p99_ms=told["p99"] / 1000,
        p999_ms=told["p999"] / 1000,
        max_ms=told["max"] / 1000,
    )


def _script(address: Address, shape: Shape) -> str:
    head = f"POST {shape.path} HTTP/1.1\r\nHost: {address.host}\r\nContent-Type: application/json\r\nContent-Length: "
    pieces = NAMED.split(shape.body)
    body = " .. ".join(each if odd % 2 else _quoted(each) for odd, each in enumerate(pieces) if each)
    return SCRIPT % {
        "run": _quoted(new_run()),
        "start": first_second(),
        "kinds": ", ".join(_quoted(kind) for kind in KINDS),
        "head": _quoted(head),
        "block": PEOPLE * len(KINDS),
        "people": PEOPLE,
        "body": body,
    }


def _quoted(text: str) -> str:
    # What JSON escapes in these texts, Lua reads the same way.
    return json.dumps(text)

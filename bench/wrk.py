"""Load by `wrk`: as many requests as 64 connections can carry, or at about a given rate.

In the closed loop each request is sent when the one before on its connection is answered. At a rate, each connection
waits for a random time between (exponential, so that they arrive like strangers do), in whole milliseconds as `wrk` counts
them. Unlike our own open loop it does not count the time of requests that should have been sent meanwhile; but written in
C, it leaves the second core to the server.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from bench.bodies import KINDS, NAMED, PEOPLE, STRIDE, Shape, first_known, first_second, new_run
from bench.load import Address, Burst

SCRIPT = """
local run, start, n, second, text = %(run)s, %(start)d, 0, -1, ""
local kinds = {%(kinds)s}
local rest = %(rest)s

local gap = %(gap)f

if gap > 0 then
  math.randomseed(%(start)d)
  delay = function() return math.floor(-gap * math.log(1 - math.random()) + math.random()) end
end

request = function()
  n = n + 1
  if math.floor(n / 1000) ~= second then
    second = math.floor(n / 1000)
    text = os.date("!%%Y-%%m-%%dT%%H:%%M:%%S.", start + second)
  end
  local who = math.floor(n / %(block)d) * %(people)d + n %% %(people)d
  local kind = kinds[math.floor(n / %(people)d) %% #kinds + 1]
  local when = text .. string.format("%%03dZ", n %% 1000)
  local known = %(older)d + (%(first)d + n * %(stride)d) %% %(known)d + 1
  local path = %(path)s
  local body = %(body)s
  return path .. rest .. #body .. "\\r\\n\\r\\n" .. body
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
    return _burst(address, shape, connections, seconds, None)


def at_rate(address: Address, shape: Shape, connections: int, seconds: float, rate: float) -> Burst:
    """One burst of about `rate` requests a second."""
    return _burst(address, shape, connections, seconds, rate)


def _burst(address: Address, shape: Shape, connections: int, seconds: float, rate: float | None) -> Burst:
    with tempfile.TemporaryDirectory(prefix="touchbase-bench-") as folder:
        script = Path(folder) / "load.lua"
        script.write_text(_script(address, shape, connections / rate * 1000 if rate else 0))
        # wrk counts in whole seconds.
        full = max(1, round(seconds))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{full}s", "--timeout", "10s", "-s", str(script), address.url]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    document = json.loads(said.strip().splitlines()[-1])
    return Burst(
        requests=document["requests"],
        seconds=document["us"] / 1e6,
        errors=document["errors"],
        p50_ms=document["p50"] / 1000,
        p99_ms=document["p99"] / 1000,
        p999_ms=document["p999"] / 1000,
        max_ms=document["max"] / 1000,
        wanted_rate=rate,
    )


def _script(address: Address, shape: Shape, gap_ms: float) -> str:
    remaining = f" HTTP/1.1\r\nHost: {address.host}\r\nContent-Type: application/json\r\nContent-Length: "
    run = new_run()
    return SCRIPT % {
        "run": _quoted(run),
        "start": first_second(),
        "gap": gap_ms,
        "kinds": ", ".join(_quoted(kind) for kind in KINDS),
        "rest": _quoted(remaining),
        "block": PEOPLE * len(KINDS),
        "people": PEOPLE,
        "first": first_known(run, shape.known),
        "stride": STRIDE,
        "known": shape.known,
        "older": shape.older,
        "path": _filled(f"{shape.method} {shape.path}"),
        "body": _filled(shape.body),
    }


def _filled(text: str) -> str:
    """A text with names in it as Lua puts it together."""
    pieces = NAMED.split(text)
    return " .. ".join(piece if odd % 2 else _quoted(piece) for odd, piece in enumerate(pieces) if piece or not text)


def _quoted(text: str) -> str:
    # What JSON escapes in these texts, Lua reads the same way.
    return json.dumps(text)

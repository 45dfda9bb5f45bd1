"""A small object storage with S3's interface, whose objects tests read and break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256

from touchbase.config import ObjectSettings

STATUS = {"PUT": 200, "GET": 200, "DELETE": 204}


@dataclass
class BucketServer:
    """Objects by path; `refuses` are methods that get a 503, `loses` methods whose connection is closed after the request was done."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    refuses: set[str] = field(default_factory=set)
    loses: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)
    code: str = "SlowDown"

    def settings(self, *, min_bytes: int = 1, after_days: int = 0) -> ObjectSettings:
        """Settings with which every body is moved."""
        return ObjectSettings(url=self.url, access_key="AK", secret_key="SK", min_bytes=min_bytes, after_days=after_days)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self._exchange(reader, writer):
                pass
        writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        content = await reader.readexactly(int(headers.get("content-length", 0)))
        assert headers["x-amz-content-sha256"] == sha256(content).hexdigest()
        assert headers["authorization"].startswith("aws4-hmac-sha256 credential=ak/")
        self.requests.append(method)
        if method in self.refuses:
            status, answer = 503, f"<Error><Code>{self.code}</Code></Error>".encode()
        else:
            status, answer = STATUS[method], b""
            if method == "PUT":
                self.objects[path] = content
            elif method == "DELETE":
                self.objects.pop(path, None)
            elif path in self.objects:
                answer = self.objects[path]
            else:
                status, answer = 404, b"<Error><Code>NoSuchKey</Code></Error>"
            if method in self.loses:
                return False
        length = f"content-length: {len(answer)}\r\n" if status != 204 else ""
        writer.write(f"HTTP/1.1 {status} X\r\n{length}\r\n".encode() + answer)
        await writer.drain()
        return True


@asynccontextmanager
async def bucket_server() -> AsyncIterator[BucketServer]:
    """Serve an empty bucket."""
    bucket = BucketServer()
    server = await asyncio.start_server(bucket.serve, "127.0.0.1", 0)
    bucket.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/bodies/of"
    yield bucket
    server.close()

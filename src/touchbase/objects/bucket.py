"""A bucket of an object storage with S3's interface: put, get and delete, signed with AWS Signature Version 4.

Addresses are path-style (`https://host/bucket/key`), which every such storage understands. A response 2xx to a PUT means that the storage
got these bytes: their SHA-256 is signed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote, urlsplit

import touchbase
from touchbase.common.timestamps import SECOND, Micros
from touchbase.config import ObjectSettings
from touchbase.connections.tools import FetchFailed
from touchbase.enrichment.http_connection import ConnectionLost, ReceivedResponse
from touchbase.enrichment.http_pool import HttpPool
from touchbase.errors import Overloaded

SECONDS = 30.0
"""Time limit of one request."""
COMMON_BYTES = 5 * 1024 * 1024
"""Bytes up to which objects are read beside each other: a webhook has 4 MiB unless the setting says more. A longer one is read alone."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of one object, more than any webhook has."""
_MOST_OF_ERROR = 64 * 1024


class ObjectStorageAway(Overloaded):
    """The object storage does not answer, or refuses: the request may be repeated later."""

    def __init__(self, why: str) -> None:
        super().__init__(f"object storage, which this needs, cannot be used now: {why}", retry_after=10)
        self.why = why


class _TooLong(ObjectStorageAway):
    """The answer has more bytes than asked for."""


def bucket_of(settings: ObjectSettings | None, clock: Callable[[], Micros]) -> Bucket | None:
    """Return the bucket of these settings, if there is one."""
    return None if settings is None else Bucket(settings, f"touchbase/{touchbase.__version__}", clock)


class Bucket:
    """Puts, gets and deletes objects."""

    def __init__(self, settings: ObjectSettings, agent: str, clock: Callable[[], Micros]) -> None:
        self.settings = settings
        self._clock = clock
        parts = urlsplit(settings.url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._folder = parts.path.rstrip("/")
        self._pool = HttpPool(agent, [self._origin], "correct TOUCHBASE_OBJECTS_URL", "TOUCHBASE_OBJECTS_URL")
        self._large = asyncio.Lock()
        self.close = self._pool.close

    async def put(self, place: str, content: bytes) -> None:
        """Store an object. Raises `ObjectStorageAway`."""
        await self._send("PUT", place, content, _MOST_OF_ERROR, (200, 201, 204))

    async def get(self, place: str) -> bytes | None:
        """Return an object, None if the storage has none, nothing of one that is too long. Raises `ObjectStorageAway`."""
        try:
            return await self._get(place, COMMON_BYTES)
        except _TooLong:
            async with self._large:
                with contextlib.suppress(_TooLong):
                    return await self._get(place, MOST_BYTES)
                return b""

    async def _get(self, place: str, most: int) -> bytes | None:
        response = await self._send("GET", place, b"", most, (200, 404))
        return response.body if response.status == 200 else None

    async def delete(self, place: str) -> None:
        """Delete an object, if there is one. Raises `ObjectStorageAway`."""
        await self._send("DELETE", place, b"", _MOST_OF_ERROR, (200, 202, 204, 404))

    async def _send(self, method: str, place: str, content: bytes, most: int, expected: tuple[int, ...]) -> ReceivedResponse:
        path = quote(f"{self._folder}/{place}")
        at = datetime.fromtimestamp(self._clock() / SECOND, UTC)
        headers = signed_headers(method, path, urlsplit(self._origin).netloc, {}, content, self.settings, at)
        try:
            async with asyncio.timeout(SECONDS):
                response = await self._pool.send(method, self._origin + path, headers, content, most)
        except (ConnectionLost, FetchFailed, OSError, ValueError) as error:  # a `TimeoutError` is an `OSError`
            raise ObjectStorageAway(f"{type(error).__name__} {error}".strip()[:200]) from None
        if response.status in expected and not response.is_cut and not (response.status == 404 and b"NoSuchBucket" in response.body):
            return response
        status, code, is_cut = response.status, _code(response.body), response.is_cut and response.status in expected
        del response  # an error's traceback holds this frame, and with it up to 64 MiB until the garbage collector runs
        raise _TooLong(f"it answered with more than {most:,} bytes") if is_cut else ObjectStorageAway(f"it answered {status}: {code}")


def _code(body: bytes) -> str:
    """Return the code of an error in XML, such as `SignatureDoesNotMatch`."""
    code = re.search(rb"<Code>([A-Za-z0-9.]{1,80})</Code>", body[:_MOST_OF_ERROR])
    return code[1].decode() if code else "without a code"


def signed_headers(
    method: str, path: str, host: str, headers: Mapping[str, str], content: bytes, settings: ObjectSettings, at: datetime
) -> dict[str, str]:
    """Return headers with the signature of a request without a query (AWS Signature Version 4)."""
    digest, stamp, day = sha256(content).hexdigest(), f"{at:%Y%m%dT%H%M%SZ}", f"{at:%Y%m%d}"
    sent = {**headers, "x-amz-content-sha256": digest, "x-amz-date": stamp}
    signed = sorted({**sent, "host": host}.items())
    names = ";".join(name for name, _ in signed)
    canonical = "\n".join((method, path, "", *(f"{name}:{value.strip()}" for name, value in signed), "", names, digest))
    scope = f"{day}/{settings.region}/s3/aws4_request"
    key = f"AWS4{settings.secret_key}".encode()
    for part in (day, settings.region, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    return {
        **sent,
        "authorization": f"AWS4-HMAC-SHA256 Credential={settings.access_key}/{scope},SignedHeaders={names},Signature={signature}",
    }

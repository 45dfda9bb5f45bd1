"""Bodies as objects: each is encrypted with a key of its own, made of the client's key and a salt that only its delivery has.

Rotating the encryption key encrypts the keys of clients again, and no object. A copy of an object that the storage keeps after the removal
(versions, backups of the bucket) cannot be decrypted any more, because the salt is gone.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from secrets import token_hex
from typing import Any

import msgspec

from touchbase.deliveries.sql.objects import AwayBody, find_object_key, place_of
from touchbase.deliveries.sql.rows import headers_of
from touchbase.encryption.cipher import decrypt_bytes, encrypt_bytes
from touchbase.objects.bucket import Bucket, ObjectStorageAway
from touchbase.sql.store import Store, no_object_storage

_SALT_BYTES = 32
AT_ONCE = 16
"""Objects that one request reads at once."""


def new_object(folder: object) -> str:
    """Return an `object`: a new place in this folder of the bucket (a delivery's: the client), a blank, and a salt."""
    return f"{folder}/{token_hex(16)} {urlsafe_b64encode(os.urandom(_SALT_BYTES)).decode()}"


def encrypted(body: AwayBody, key: bytes, text: str) -> bytes:
    """Return the content of the object."""
    return encrypt_bytes(_own_key(key, text), msgspec.msgpack.encode((body.query, body.headers, body.body)), place_of(text))


def decrypted(content: bytes, key: bytes, text: str) -> tuple[str, bytes, bytes] | None:
    """Return query, headers and body; None for other bytes, or with another key."""
    plain = decrypt_bytes(_own_key(key, text), content, place_of(text))
    return None if plain is None else msgspec.msgpack.decode(plain, type=tuple[str, bytes, bytes])


async def upload(bucket: Bucket, body: AwayBody, key: bytes, text: str) -> None:
    """Upload a body, and read it again: the database gives up its own only for one that was read. Raises `ObjectStorageAway`."""
    content = encrypted(body, key, text)
    await bucket.put(place_of(text), content)
    stored = await bucket.get(place_of(text))
    if stored is None or decrypted(stored, key, text) != (body.query, body.headers, body.body):
        raise ObjectStorageAway("it does not return what was stored")


def _own_key(key: bytes, text: str) -> bytes:
    place, _, salt = text.partition(" ")
    return hmac.digest(key, urlsafe_b64decode(salt) + place.encode(), "sha256")


class BodyLoader:
    """Reads bodies from object storage into the webhooks of a query's result: every reader of bodies gets them through it."""

    def __init__(self, bucket: Bucket | None) -> None:
        self._bucket = bucket
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def __call__(self, store: Store, webhooks: Sequence[Any]) -> None:
        """Set query, headers and body of each webhook that has an `object`; else `lost`, if the storage does not have it any more.

        Raises `Overloaded` if the storage does not answer, or the key cannot be decrypted now.
        """
        away = [webhook for webhook in webhooks if webhook.object is not None]
        if not away:
            return
        if self._bucket is None:
            await no_object_storage(store, away)
            return
        keys = {client: await store.read(find_object_key(client)) for client in sorted({webhook.client for webhook in away})}
        loading = (self._load(self._bucket, webhook, keys[webhook.client]) for webhook in away)
        for error in await asyncio.gather(*loading, return_exceptions=True):
            if error is not None:
                raise error

    async def _load(self, bucket: Bucket, webhook: Any, key: bytes | None) -> None:
        async with self._turns:
            content = await bucket.get(place_of(webhook.object))
        if content is None:
            webhook.lost = "its body is not in object storage any more; restore the object from a copy of the bucket"
        elif key is None:
            webhook.lost = "the key of its body in object storage is missing"
        elif (received := decrypted(content, key, webhook.object)) is None:
            webhook.lost = "its body in object storage was changed, or is encrypted with another key"
        else:
            webhook.query, headers, webhook.body = received
            webhook.headers = headers if isinstance(webhook, AwayBody) else headers_of(headers)

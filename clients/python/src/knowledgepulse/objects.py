"""Uploads to S3 or GCS that an erasure finds."""

from __future__ import annotations

import asyncio
import re
import uuid
from typing import Any, Protocol

from .recorder import ErasedThread, Recorder, Value, current_thread

__all__ = ["Bucket", "ErasedThread", "GcsBucket", "RecordedUploads", "Recorder", "S3Bucket"]

_EXTENSION = re.compile(r"\.\w{1,10}$", re.ASCII)
_UPLOADED_NAME = re.compile(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:\.\w{1,10})?", re.ASCII)
_TEXT_TYPES = re.compile(r"(?:text/|application/(?:json|xml|x-ndjson|yaml))")
# Characters of a text that are compared with the messages.
_MOST_COMPARED = 1_000_000


class Bucket(Protocol):
    """Puts and deletes objects of one bucket."""

    def put(self, key: str, body: bytes, content_type: str | None) -> None: ...

    def remove(self, key: str) -> None:
        """Deletes all versions of the object."""


class S3Bucket:
    """A bucket of S3, R2 or MinIO, with versions or without. `client` is `boto3.client("s3")`."""

    def __init__(self, client: Any, name: str) -> None:
        self._client = client
        self._name = name

    def put(self, key: str, body: bytes, content_type: str | None) -> None:
        more = {} if content_type is None else {"ContentType": content_type}
        self._client.put_object(Bucket=self._name, Key=key, Body=body, **more)

    def remove(self, key: str) -> None:
        # The key is random, so all of its versions are on the first page.
        found = self._client.list_object_versions(Bucket=self._name, Prefix=key)
        for version in [*found.get("Versions", []), *found.get("DeleteMarkers", [])]:
            if version["Key"] == key:
                self._client.delete_object(Bucket=self._name, Key=key, VersionId=version["VersionId"])


class GcsBucket:
    """A bucket of Google Cloud Storage, with versions or without. `bucket` is `storage.Client().bucket(name)`."""

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket

    def put(self, key: str, body: bytes, content_type: str | None) -> None:
        self._bucket.blob(key).upload_from_string(body, content_type=content_type or "application/octet-stream")

    def remove(self, key: str) -> None:
        # As a word in lower case, because not every server reads Python's.
        for blob in list(self._bucket.list_blobs(prefix=key, versions="true")):
            if blob.name == key:
                self._bucket.blob(key, generation=blob.generation).delete()


class RecordedUploads:
    """Each object is reported with the message of the user with which it was uploaded, and with those that it quotes.

    Objects belong to the thread of the present LangGraph run, or to `thread`.
    """

    def __init__(self, bucket: Bucket, recorder: Recorder) -> None:
        self._bucket = bucket
        self._recorder = recorder

    def upload(
        self, name: str, body: bytes | str, content_type: str | None = None, *, thread: str | None = None
    ) -> str:
        """Uploads an object and returns its key.

        The key contains the id of the project, so that it provably belongs to it, and of the name only the extension: a name may quote a
        person, and the registry keeps the keys that were reported.

        :raises ErasedThread: if the thread may not be written; the object is deleted
        """
        extension = _EXTENSION.search(name)
        key = f"{self._recorder.project}/{uuid.uuid4()}{extension.group().lower() if extension else ''}"
        data = body.encode() if isinstance(body, str) else body
        written_for = thread or current_thread()
        forget = {key: lambda: self._bucket.remove(key)}
        if written_for is not None:
            self._recorder.admit(written_for, forget)
        self._bucket.put(key, data, content_type)
        if written_for is None:
            return key
        is_text = isinstance(body, str) or (content_type is not None and _TEXT_TYPES.match(content_type) is not None)
        text = data[: 4 * _MOST_COMPARED].decode(errors="replace")[:_MOST_COMPARED] if is_text else ""
        try:
            self._recorder.point(written_for, Value("objects", key, text, of_turn=True), forget)
        except ErasedThread:
            self._bucket.remove(key)
            raise
        return key

    async def aupload(
        self, name: str, body: bytes | str, content_type: str | None = None, *, thread: str | None = None
    ) -> str:
        """As `upload`, for applications with asyncio."""
        return await asyncio.to_thread(self.upload, name, body, content_type, thread=thread)

    def delete(self, key: str) -> None:
        """Deletes all versions of an object that `upload` returned the key of, in any process of the application.

        :raises ValueError: for any other key: the bucket may also contain files of others
        """
        project, _, name = key.partition("/")
        if project != self._recorder.project or _UPLOADED_NAME.fullmatch(name) is None:
            raise ValueError("This key is not of an upload of the project. Nothing was deleted.")
        self._bucket.remove(key)

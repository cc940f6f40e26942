"""A cache in Redis that an erasure can empty: every value has a time to live, and an index by person and conversation."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import Any

from .recorder import ErasedThread, Recorder, Value, current_config, current_thread, on_this_loop

__all__ = ["AsyncRecordedCache", "ErasedThread", "RecordedCache", "Recorder"]

LONGEST = 24 * 60 * 60
"""Seconds. A value lives at most this long."""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class _Keys:
    def __init__(self, redis: Any, recorder: Recorder, ttl: int = LONGEST) -> None:
        self._redis = redis
        self._recorder = recorder
        self._ttl = ttl

    def key(self, name: str) -> str:
        """The key in Redis.

        It contains the id of the project, so that it provably belongs to it, and no words: a name may quote a person, and the registry keeps
        the keys that were reported.
        """
        return f"{self._recorder.project}:{_hash(name)}"

    def _lifetime(self, ttl: int | None) -> int:
        seconds = self._ttl if ttl is None else ttl
        if seconds < 1:
            raise ValueError("ttl must be at least 1 second")
        return min(seconds, LONGEST)

    def _indexes(self, thread: str | None, subject: str | None) -> list[str]:
        if subject is None:
            author = self._recorder.author_of(current_config())
            subject = None if author is None else author["external_id"]
        found = [] if thread is None else [self._index("conversation", thread)]
        return found if subject is None else [*found, self._index("subject", subject)]

    def _index(self, kind: str, id: str) -> str:
        """No name of a value leads to the key of an index."""
        return f"{self._recorder.project}:index:{_hash(f'{kind}:{id}')}"


def _value(key: str, value: str | bytes) -> Value:
    return Value("cache", key, value if isinstance(value, str) else value.decode(errors="replace"))


class RecordedCache(_Keys):
    """Values belong to the thread of the present LangGraph run, or to `thread`, and to its author, or to `subject`."""

    def get(self, name: str) -> Any:
        return self._redis.get(self.key(name))

    def set(
        self,
        name: str,
        value: str | bytes,
        ttl: int | None = None,
        *,
        thread: str | None = None,
        subject: str | None = None,
    ) -> None:
        key, written_for = self.key(name), thread or current_thread()
        if written_for is not None:
            self._recorder.admit(written_for, self._forgets(written_for))
        with self._redis.pipeline(transaction=True) as pipe:
            pipe.set(key, value, ex=self._lifetime(ttl))
            for index in self._indexes(written_for, subject):
                pipe.sadd(index, key)
                pipe.expire(index, LONGEST)
            pipe.execute()
        if written_for is not None:
            try:
                self._recorder.point(written_for, _value(key, value), self._forgets(written_for))
            except ErasedThread:
                self.delete_conversation(written_for)
                raise

    def delete(self, name: str) -> None:
        self._redis.delete(self.key(name))

    def delete_conversation(self, thread: str) -> int:
        """Deletes the values of a thread. Returns how many."""
        return self._delete(self._index("conversation", thread))

    def delete_subject(self, subject: str) -> int:
        """Deletes the values of a person. Returns how many."""
        return self._delete(self._index("subject", subject))

    def _forgets(self, thread: str) -> dict[str, Callable[[], None]]:
        def forget() -> None:
            self.delete_conversation(thread)

        return {"cache": forget}

    def _delete(self, index: str) -> int:
        keys = list(self._redis.smembers(index))
        count: int = self._redis.delete(*keys) if keys else 0
        self._redis.delete(index)
        return count


class AsyncRecordedCache(_Keys):
    """The same cache with `redis.asyncio`."""

    async def get(self, name: str) -> Any:
        return await self._redis.get(self.key(name))

    async def set(
        self,
        name: str,
        value: str | bytes,
        ttl: int | None = None,
        *,
        thread: str | None = None,
        subject: str | None = None,
    ) -> None:
        key, written_for = self.key(name), thread or current_thread()
        if written_for is not None:
            await asyncio.to_thread(self._recorder.admit, written_for, self._forgets(written_for))
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.set(key, value, ex=self._lifetime(ttl))
            for index in self._indexes(written_for, subject):
                pipe.sadd(index, key)
                pipe.expire(index, LONGEST)
            await pipe.execute()
        if written_for is not None:
            try:
                value_of = _value(key, value)
                await asyncio.to_thread(self._recorder.point, written_for, value_of, self._forgets(written_for))
            except ErasedThread:
                await self.delete_conversation(written_for)
                raise

    async def delete(self, name: str) -> None:
        await self._redis.delete(self.key(name))

    async def delete_conversation(self, thread: str) -> int:
        """Deletes the values of a thread. Returns how many."""
        return await self._delete(self._index("conversation", thread))

    async def delete_subject(self, subject: str) -> int:
        """Deletes the values of a person. Returns how many."""
        return await self._delete(self._index("subject", subject))

    def _forgets(self, thread: str) -> dict[str, Callable[[], None]]:
        return {"cache": on_this_loop(lambda: self.delete_conversation(thread))}

    async def _delete(self, index: str) -> int:
        keys = list(await self._redis.smembers(index))
        count: int = await self._redis.delete(*keys) if keys else 0
        await self._redis.delete(index)
        return count

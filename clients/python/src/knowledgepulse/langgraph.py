"""Savers and stores of LangGraph that report what passes through them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.store.base import BaseStore, GetOp, Item, MatchCondition, Op, PutOp, Result, SearchOp

from .recorder import (
    ErasedAuthor,
    ErasedThread,
    Message,
    Recorder,
    ThreadAuthor,
    current_thread,
    messages_of,
    on_this_loop,
    thread_of,
)

__all__ = ["ErasedAuthor", "ErasedThread", "Recorder", "ThreadAuthor", "current_thread", "recorded_saver", "recorded_store"]

_OPTIONAL = ("delete_for_runs", "copy_thread", "prune", "adelete_for_runs", "acopy_thread", "aprune")
_CONTEXTS = ("__enter__", "__exit__", "__aenter__", "__aexit__")


class _RecordedSaver(BaseCheckpointSaver[Any]):
    """Passes everything on to the inner saver. What the inner saver does not define is not defined here either."""

    def __init__(self, inner: BaseCheckpointSaver[Any], recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        self._takes_path = "task_path" in signature(inner.put_writes).parameters

    def __getattr__(self, name: str) -> Any:
        if name in ("_inner", "_recorder"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def serde(self) -> Any:
        return self._inner.serde

    @serde.setter
    def serde(self, serde: Any) -> None:
        self._inner.serde = serde

    @property
    def config_specs(self) -> list[Any]:
        return self._inner.config_specs

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        inner = self._inner.with_allowlist(extra_allowlist)
        return self if inner is self._inner else recorded_saver(inner, self._recorder)

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._inner.get_next_version(current, channel)

    def get(self, config: RunnableConfig) -> Checkpoint | None:
        return self._inner.get(config)

    async def aget(self, config: RunnableConfig) -> Checkpoint | None:
        return await self._inner.aget(config)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = self._inner.get_tuple(config)
        self._loaded(config, found)
        return found

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        found = await self._inner.aget_tuple(config)
        self._loaded(config, found)
        return found

    def _loaded(self, config: RunnableConfig, found: CheckpointTuple | None) -> None:
        thread = thread_of(config)
        if thread is not None and found is not None:
            self._recorder.loaded(thread, self._state_of(config, found.checkpoint), found.checkpoint.get("ts"))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        return self._inner.list(config, filter=filter, before=before, limit=limit)

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        return self._inner.alist(config, filter=filter, before=before, limit=limit)

    def delete_thread(self, thread_id: str) -> None:
        self._inner.delete_thread(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._inner.adelete_thread(thread_id)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return self._inner.get_delta_channel_history(config=config, channels=channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        return await self._inner.aget_delta_channel_history(config=config, channels=channels)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        def write() -> RunnableConfig:
            return self._inner.put(config, checkpoint, metadata, new_versions)

        written: RunnableConfig = self._guarded(
            config, self._state_of(config, checkpoint), write, checkpoint.get("ts")
        )
        return written

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        def write() -> None:
            if self._takes_path:
                self._inner.put_writes(config, writes, task_id, task_path=task_path)
            else:
                self._inner.put_writes(config, writes, task_id)

        self._guarded(config, self._written(config, writes), write)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        def write() -> Awaitable[RunnableConfig]:
            return self._inner.aput(config, checkpoint, metadata, new_versions)

        written: RunnableConfig = await self._aguarded(
            config, self._state_of(config, checkpoint), write, checkpoint.get("ts")
        )
        return written

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        def write() -> Awaitable[None]:
            if self._takes_path:
                return self._inner.aput_writes(config, writes, task_id, task_path=task_path)
            return self._inner.aput_writes(config, writes, task_id)

        await self._aguarded(config, self._written(config, writes), write)

    def _state_of(self, config: RunnableConfig, checkpoint: Checkpoint) -> Iterator[Message]:
        values = checkpoint.get("channel_values") or {}
        return messages_of(thread_of(config) or "", values.items(), self._recorder.inputs, is_state=True)

    def _written(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]]) -> Iterator[Message]:
        return messages_of(thread_of(config) or "", writes, self._recorder.inputs, is_state=False)

    def _guarded(
        self,
        config: RunnableConfig,
        messages: Iterator[Message],
        write: Callable[[], Any],
        written_at: str | None = None,
    ) -> Any:
        thread = thread_of(config)
        if thread is None:
            return write()
        self._recorder.refuse_erased_author(thread, config)
        self._recorder.admit(thread, self._forgets(thread))
        author = self._recorder.author_of(config)
        try:
            written = write()
        except BaseException:
            self._recorder.note_failed(thread, messages, author, self._forgets(thread))
            raise
        # An erasure may have begun and ended during the write.
        self._recorder.note(thread, messages, config, self._forgets(thread), written_at)
        return written

    async def _aguarded(
        self,
        config: RunnableConfig,
        messages: Iterator[Message],
        write: Callable[[], Awaitable[Any]],
        written_at: str | None = None,
    ) -> Any:
        thread = thread_of(config)
        if thread is None:
            return await write()
        self._recorder.refuse_erased_author(thread, config)
        await asyncio.to_thread(self._recorder.admit, thread, self._aforgets(thread))
        author = self._recorder.author_of(config)
        try:
            written = await write()
        except BaseException:
            self._recorder.note_failed(thread, messages, author, self._aforgets(thread))
            raise
        # An erasure may have begun and ended during the write.
        await asyncio.to_thread(self._recorder.note, thread, messages, config, self._aforgets(thread), written_at)
        return written

    def _forgets(self, thread: str) -> dict[str, Callable[[], None]]:
        return {"checkpoints": lambda: self._inner.delete_thread(thread)}

    def _aforgets(self, thread: str) -> dict[str, Callable[[], None]]:
        return {"checkpoints": on_this_loop(lambda: self._inner.adelete_thread(thread))}


def _copies(self: _RecordedSaver, source_thread_id: str, target_thread_id: str) -> None:
    self._recorder.admit(source_thread_id)
    self._recorder.admit(target_thread_id, self._forgets(target_thread_id))
    self._inner.copy_thread(source_thread_id, target_thread_id)
    config: RunnableConfig = {"configurable": {"thread_id": target_thread_id}}
    copied = self._inner.get_tuple(config)
    messages: Iterable[Message] = self._state_of(config, copied.checkpoint) if copied else ()
    self._recorder.note(target_thread_id, messages, config, self._forgets(target_thread_id))


async def _acopies(self: _RecordedSaver, source_thread_id: str, target_thread_id: str) -> None:
    await asyncio.to_thread(self._recorder.admit, source_thread_id)
    await asyncio.to_thread(self._recorder.admit, target_thread_id, self._aforgets(target_thread_id))
    await self._inner.acopy_thread(source_thread_id, target_thread_id)
    config: RunnableConfig = {"configurable": {"thread_id": target_thread_id}}
    copied = await self._inner.aget_tuple(config)
    messages: Iterable[Message] = self._state_of(config, copied.checkpoint) if copied else ()
    await asyncio.to_thread(self._recorder.note, target_thread_id, messages, config, self._aforgets(target_thread_id))


def _forwarded(name: str) -> Callable[..., Any]:
    def forward(self: _RecordedSaver, *args: Any, **more: Any) -> Any:
        return getattr(self._inner, name)(*args, **more)

    forward.__name__ = name
    return forward


def recorded_saver(saver: BaseCheckpointSaver[Any], recorder: Recorder) -> BaseCheckpointSaver[Any]:
    """The same saver, which records what passes through it. Late writes of erased threads raise `ErasedThread`.

    It has exactly the optional methods of the saver.
    """
    kind = type(saver)
    members: dict[str, Any] = {}
    for name in _OPTIONAL:
        if getattr(kind, name, None) is not getattr(BaseCheckpointSaver, name, None):
            members[name] = {"copy_thread": _copies, "acopy_thread": _acopies}.get(name) or _forwarded(name)
    members.update({name: _forwarded(name) for name in _CONTEXTS if hasattr(kind, name)})
    for enter in ("__enter__", "__aenter__"):
        if enter in members:
            members[enter] = _entering(enter)
    made: type[_RecordedSaver] = type(f"Recorded{kind.__name__}", (_RecordedSaver,), members)
    return made(saver, recorder)


def _entering(name: str) -> Callable[[_RecordedSaver], Any]:
    if name == "__enter__":

        def enter(self: _RecordedSaver) -> Any:
            self._inner.__enter__()  # type: ignore[attr-defined]
            return self

        return enter

    async def aenter(self: _RecordedSaver) -> Any:
        await self._inner.__aenter__()  # type: ignore[attr-defined]
        return self

    return aenter


class _RecordedStore(BaseStore):
    """Puts the id of the project before each namespace, so that its erasure finds every item, and takes it off again.

    What a thread wrote while the registry was down is not deleted later: another thread may have written the same item since.
    """

    __slots__ = ("_inner", "_recorder", "supports_ttl", "ttl_config")

    def __init__(self, inner: BaseStore, recorder: Recorder) -> None:
        self._inner = inner
        self._recorder = recorder
        self.supports_ttl = inner.supports_ttl
        self.ttl_config = inner.ttl_config

    def __getattr__(self, name: str) -> Any:
        if name in ("_inner", "_recorder"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        given = list(ops)
        thread = self._writing(given)
        if thread is not None:
            self._recorder.admit(thread)
        results = self._inner.batch([self._inside(op) for op in given])
        if thread is not None:
            try:
                self._recorder.admit(thread)
            except ErasedThread:
                self._inner.batch(self._removals(given))
                raise
        return [self._outside(result) for result in results]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        given = list(ops)
        thread = self._writing(given)
        if thread is not None:
            await asyncio.to_thread(self._recorder.admit, thread)
        results = await self._inner.abatch([self._inside(op) for op in given])
        if thread is not None:
            try:
                await asyncio.to_thread(self._recorder.admit, thread)
            except ErasedThread:
                await self._inner.abatch(self._removals(given))
                raise
        return [self._outside(result) for result in results]

    def _removals(self, given: Sequence[Op]) -> list[Op]:
        return [self._inside(op._replace(value=None)) for op in given if isinstance(op, PutOp)]

    @staticmethod
    def _writing(ops: Sequence[Op]) -> str | None:
        """The thread of the run that writes. Without a run, no thread is known."""
        return current_thread() if any(isinstance(op, PutOp) and op.value is not None for op in ops) else None

    def _inside(self, op: Op) -> Op:
        project = self._recorder.project
        if isinstance(op, (GetOp, PutOp)):
            return op._replace(namespace=(project, *op.namespace))
        if isinstance(op, SearchOp):
            return op._replace(namespace_prefix=(project, *op.namespace_prefix))
        conditions = list(op.match_conditions or ())
        prefixes = [
            MatchCondition("prefix", (project, *one.path)) if one.match_type == "prefix" else one for one in conditions
        ]
        if not any(one.match_type == "prefix" for one in conditions):
            prefixes.append(MatchCondition("prefix", (project,)))
        depth = None if op.max_depth is None else op.max_depth + 1
        return op._replace(match_conditions=tuple(prefixes), max_depth=depth)

    def _outside(self, result: Result) -> Result:
        if isinstance(result, Item):
            result.namespace = result.namespace[1:]
        elif isinstance(result, list):
            return [one[1:] if isinstance(one, tuple) else self._outside(one) for one in result]  # type: ignore[return-value]
        return result


def recorded_store(store: BaseStore, recorder: Recorder) -> BaseStore:
    """The same store, with the items of this project only. Late writes in a run of an erased thread raise `ErasedThread`."""
    return _RecordedStore(store, recorder)

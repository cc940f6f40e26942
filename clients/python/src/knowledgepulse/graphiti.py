"""A Graphiti that writes into the groups of a project, reports its episodes and refuses late writes."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from inspect import BoundArguments, signature
from typing import Any, cast

from graphiti_core import Graphiti
from graphiti_core.driver.driver import GraphDriver
from graphiti_core.edges import EntityEdge
from graphiti_core.errors import NodeNotFoundError
from graphiti_core.nodes import EntityNode, EpisodicNode
from typing_extensions import Self

from .recorder import ErasedThread, Recorder, Value, current_thread, on_this_loop

__all__ = ["ErasedThread", "RecordedGraphiti", "Recorder"]

# The thread that the present call writes for.
_writing: ContextVar[tuple[Recorder, str] | None] = ContextVar("knowledgepulse_writing", default=None)
_WRITE = re.compile(r"\b(?:CREATE|MERGE|SET)\b")
_SCHEMA = re.compile(r"\b(?:INDEX|CONSTRAINT)\b")


async def _admit() -> None:
    """:raises ErasedThread: if the thread of the present call was erased"""
    writing = _writing.get()
    if writing is not None:
        recorder, thread = writing
        await asyncio.to_thread(recorder.admit, thread)


async def _admit_query(query: str) -> None:
    if _WRITE.search(query) and not _SCHEMA.search(query):
        await _admit()


class _FencedSession:
    """A session of a driver. Asks before each write, because an erasure may begin while the model still answers."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._session.__aexit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def run(self, query: str, *args: Any, **more: Any) -> Any:
        await _admit_query(query)
        return await self._session.run(query, *args, **more)

    async def execute_write(self, work: Any, *args: Any, **more: Any) -> Any:
        await _admit()
        return await self._session.execute_write(work, *args, **more)


class _FencedTransaction:
    def __init__(self, transaction: Any) -> None:
        self._transaction = transaction

    async def run(self, query: str, **more: Any) -> Any:
        await _admit_query(query)
        return await self._transaction.run(query, **more)


def fenced_driver(driver: GraphDriver) -> GraphDriver:
    """The same driver on the same connection. Writes for an erased thread raise `ErasedThread`."""
    kind: Any = type(driver)

    class Fenced(kind):  # type: ignore[misc]
        def session(self, database: str | None = None) -> Any:
            return _FencedSession(super().session(database))

        async def execute_query(self, cypher_query_: Any, **more: Any) -> Any:
            await _admit_query(str(cypher_query_))
            return await super().execute_query(cypher_query_, **more)

        @asynccontextmanager
        async def transaction(self) -> AsyncIterator[Any]:
            async with super().transaction() as transaction:
                yield _FencedTransaction(transaction)

    Fenced.__name__ = f"Fenced{kind.__name__}"
    clone = copy.copy(driver)
    clone.__class__ = Fenced
    return clone


@contextmanager
def _writing_for(recorder: Recorder, thread: str | None) -> Any:
    token = _writing.set(None if thread is None else (recorder, thread))
    try:
        yield
    finally:
        _writing.reset(token)


class RecordedGraphiti:
    """Has the methods of Graphiti. Without `group_id`, everything is in the group of the project, and searches see only that.

    Episodes belong to the thread of the present LangGraph run, or to `thread`. An episode is reported with the messages of the thread whose
    text it contains.
    """

    def __init__(self, graphiti: Graphiti, recorder: Recorder) -> None:
        self.recorder = recorder
        self._plain = graphiti
        self._inner = copy.copy(graphiti)
        driver = fenced_driver(graphiti.driver)
        self._inner.driver = driver
        self._inner.clients = graphiti.clients.model_copy(update={"driver": driver})
        for name in ("nodes", "edges"):
            namespace = getattr(graphiti, name)
            setattr(self._inner, name, type(namespace)(driver, graphiti.embedder))

    def __getattr__(self, name: str) -> Any:
        if name in ("_inner", "_plain", "recorder"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    async def group(self, group_id: str | None = None) -> str:
        """The name of a group in the graph: the group of the project, or a group within it."""
        own = await asyncio.to_thread(lambda: self.recorder.group)
        return own if not group_id or group_id == own or group_id.startswith(f"{own}-") else f"{own}-{group_id}"

    async def groups(self, group_ids: Sequence[str] | None) -> list[str]:
        return [await self.group(one) for one in group_ids or [""]]

    async def add_episode(self, *args: Any, thread: str | None = None, **more: Any) -> Any:
        written_for = thread or current_thread()
        call = await self._bound("add_episode", args, more)
        with _writing_for(self.recorder, written_for):
            await _admit()
            result = await self._inner.add_episode(*call.args, **call.kwargs)
        if written_for is not None:
            episode = (result.episode.uuid, call.arguments["episode_body"])
            await self._report(written_for, call.arguments["group_id"], [episode])
        return result

    async def add_episode_bulk(self, *args: Any, thread: str | None = None, **more: Any) -> Any:
        written_for = thread or current_thread()
        call = await self._bound("add_episode_bulk", args, more)
        with _writing_for(self.recorder, written_for):
            await _admit()
            result = await self._inner.add_episode_bulk(*call.args, **call.kwargs)
        if written_for is not None:
            # The raw episodes have the texts also if Graphiti does not store them.
            bodies = {raw.name: raw.content for raw in call.arguments["bulk_episodes"]}
            episodes = [(one.uuid, bodies.get(one.name, one.content)) for one in result.episodes]
            await self._report(written_for, call.arguments["group_id"], episodes)
        return result

    async def add_triplet(
        self,
        source_node: EntityNode,
        edge: EntityEdge,
        target_node: EntityNode,
        episode: EpisodicNode | None = None,
        *,
        thread: str | None = None,
    ) -> Any:
        written_for = thread or current_thread()
        for one in (source_node, edge, target_node, episode):
            if one is not None:
                one.group_id = await self.group(one.group_id)
        with _writing_for(self.recorder, written_for):
            await _admit()
            result = await self._inner.add_triplet(source_node, edge, target_node, episode)
        if written_for is not None:
            try:
                await asyncio.to_thread(self.recorder.admit, written_for)
            except ErasedThread:
                # Only what this call made: the nodes may have been there before.
                for made in result.edges[:1]:
                    await made.delete(self._plain.driver)
                raise
        return result

    async def build_communities(self, group_ids: list[str] | None = None, driver: GraphDriver | None = None) -> Any:
        groups = await self.groups(group_ids)
        with _writing_for(self.recorder, current_thread()):
            return await self._inner.build_communities(groups, driver)

    async def search(self, *args: Any, **more: Any) -> Any:
        call = await self._bound("search", args, more)
        return await self._inner.search(*call.args, **call.kwargs)

    async def search_(self, *args: Any, **more: Any) -> Any:
        call = await self._bound("search_", args, more)
        return await self._inner.search_(*call.args, **call.kwargs)

    async def retrieve_episodes(self, *args: Any, **more: Any) -> Any:
        call = await self._bound("retrieve_episodes", args, more)
        return await self._inner.retrieve_episodes(*call.args, **call.kwargs)

    async def _bound(self, name: str, args: Sequence[Any], more: dict[str, Any]) -> BoundArguments:
        """The arguments of a call, with the groups of the project."""
        call = signature(getattr(self._inner, name)).bind(*args, **more)
        call.apply_defaults()
        if "group_id" in call.arguments:
            call.arguments["group_id"] = await self.group(call.arguments["group_id"])
        else:
            call.arguments["group_ids"] = await self.groups(call.arguments["group_ids"])
        return call

    async def _forget(self, episode: str) -> None:
        # An erasure may have deleted it.
        with suppress(NodeNotFoundError):
            await cast(Any, self._plain).remove_episode(episode)

    async def _report(self, thread: str, group: str, episodes: Sequence[tuple[str, str]]) -> None:
        own = await asyncio.to_thread(lambda: self.recorder.group)
        place = None if group == own else group
        for at, (uuid, body) in enumerate(episodes):
            value = Value("graph", uuid, body, place)
            forget = on_this_loop(partial(self._forget, uuid))
            try:
                await asyncio.to_thread(self.recorder.point, thread, value, {f"episode {uuid}": forget})
            except ErasedThread:
                # An erasure began and ended while the model answered.
                for rest, _ in episodes[at:]:
                    await self._forget(rest)
                raise

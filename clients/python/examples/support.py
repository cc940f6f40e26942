"""A support agent: LangGraph keeps the conversation, Graphiti the facts, Redis the answers, a store the memories.

The five lines marked `connect` are all that it needs, so that an erasure finds what it stored about a person.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timezone
from typing import Any

from graphiti_core import Graphiti
from graphiti_core.nodes import EpisodeType
from knowledgepulse import KnowledgePulse
from knowledgepulse.graphiti import RecordedGraphiti
from knowledgepulse.langgraph import Recorder, recorded_saver, recorded_store
from knowledgepulse.redis import AsyncRecordedCache
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from redis.asyncio import Redis


def application(
    kp: KnowledgePulse,
    project: str,
    saver: BaseCheckpointSaver,
    store: BaseStore,
    graphiti: Graphiti,
    redis: Redis,
    model: Callable[[str], Awaitable[str]],
) -> tuple[Any, Recorder]:
    recorder = Recorder(kp, project, author=lambda config: config["configurable"]["person"])  # connect
    saver = recorded_saver(saver, recorder)  # connect
    store = recorded_store(store, recorder)  # connect
    graph = RecordedGraphiti(graphiti, recorder)  # connect
    cache = AsyncRecordedCache(redis, recorder)  # connect

    async def answer(state: MessagesState) -> dict:
        question = state["messages"][-1].text
        found = await cache.get(question)
        text = found.decode() if found else await model(question)
        await cache.set(question, text, ttl=3600)
        return {"messages": [AIMessage(text)]}

    async def remember(state: MessagesState, *, store: BaseStore) -> dict:
        question, said = state["messages"][-2:]
        await store.aput(("memories",), str(question.id), {"said": question.text})
        await graph.add_episode(
            name="turn",
            episode_body=f"user: {question.text}\nassistant: {said.text}",
            source=EpisodeType.message,
            source_description="support chat",
            reference_time=datetime.now(timezone.utc),
        )
        return {}

    nodes = StateGraph(MessagesState).add_node("answer", answer).add_node("remember", remember)
    return nodes.add_edge(START, "answer").add_edge("answer", "remember").compile(saver, store=store), recorder

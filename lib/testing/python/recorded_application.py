"""The example application of the Python client, with a model whose answers depend on nothing but the question."""

import asyncio
import contextlib
import io
import logging
import os
import sys
from typing import Any

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"
sys.path.insert(0, os.environ["EXAMPLES"])

import boto3
import httpx
from botocore.config import Config
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from graphiti_core import Graphiti
from graphiti_core.edges import EntityEdge
from graphiti_core.nodes import EntityNode
from graphiti_core.utils.bulk_utils import RawEpisode
from graphiti_core.utils.datetime_utils import utc_now
from graphiti_models import Embedder, Model, Ranker, known
from knowledgepulse import KnowledgePulse
from knowledgepulse.graphiti import ErasedThread, RecordedGraphiti
from knowledgepulse.langgraph import Recorder, recorded_saver, recorded_store
from knowledgepulse.objects import GcsBucket, RecordedUploads, S3Bucket
from knowledgepulse.redis import AsyncRecordedCache, RecordedCache
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from redis import Redis
from redis.asyncio import Redis as AsyncRedis
from serving import serve
from support import application

logging.disable(logging.WARNING)
running: dict[str, Any] = {}
problems: list[str] = []


class Interrupted(Model):
    """A model during whose answer something else can happen."""

    meanwhile: Any = None

    async def generate_response(self, *args: Any, **more: Any) -> Any:
        if self.meanwhile is not None:
            act, self.meanwhile = self.meanwhile, None
            await act()
        return await super().generate_response(*args, **more)


async def chat(question: str) -> str:
    return f"Noted for you: {question}"


async def start(
    url: str, token: str, project: str, checkpoints: str, redis: str, graph: dict[str, str], names: dict[str, int]
) -> None:
    known.update(names)
    # One connection for each: both use pipelines, at the same time.
    options: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    saver = AsyncPostgresSaver(await AsyncConnection.connect(checkpoints, **options))
    store = AsyncPostgresStore(await AsyncConnection.connect(checkpoints, **options))
    await saver.setup()
    await store.setup()
    model = Interrupted()
    graphiti = Graphiti(**graph, llm_client=model, embedder=Embedder(), cross_encoder=Ranker())
    await graphiti.build_indices_and_constraints()
    kp = KnowledgePulse(url, token)
    cache = AsyncRedis.from_url(redis)
    agent, recorder = application(kp, project, saver, store, graphiti, cache, chat)
    recorder._on_problem = lambda error, _: problems.append(f"{type(error).__name__}: {error}")
    running.update(agent=agent, recorder=recorder, graphiti=graphiti, model=model, cache=cache, redis=redis)


async def say(thread: str, person: dict[str, str], text: str) -> str:
    config = {"configurable": {"thread_id": thread, "person": person}}
    state = await running["agent"].ainvoke({"messages": [HumanMessage(text)]}, config)
    return state["messages"][-1].text


async def settle() -> list[str]:
    await running["recorder"].asettle()
    return problems


def graph() -> RecordedGraphiti:
    return RecordedGraphiti(running["graphiti"], running["recorder"])


def turn(text: str) -> dict[str, Any]:
    return {"name": text[:20], "episode_body": text, "source_description": "chat", "reference_time": utc_now()}


async def refused(thread: str, text: str) -> list[str]:
    """The late writes of an erased thread that were refused."""
    first, other = EntityNode(name="Late One", group_id=""), EntityNode(name="Late Two", group_id="")
    edge = EntityEdge(
        group_id="",
        source_node_uuid=first.uuid,
        target_node_uuid=other.uuid,
        created_at=utc_now(),
        name="SAID",
        fact=text,
    )
    raw = RawEpisode(name="late", content=text, source_description="chat", source="message", reference_time=utc_now())
    cache = AsyncRecordedCache(running["cache"], running["recorder"])
    calls = {
        "add_episode": lambda: graph().add_episode(**turn(text), thread=thread),
        "add_episode_bulk": lambda: graph().add_episode_bulk([raw], thread=thread),
        "add_triplet": lambda: graph().add_triplet(first, edge, other, thread=thread),
        "set": lambda: cache.set("late", text, thread=thread),
    }
    found = []
    for name, call in calls.items():
        try:
            await call()
        except ErasedThread:
            found.append(name)
    return found


async def interrupted(thread: str, text: str, url: str, cookie: str) -> bool:
    """Whether an episode is refused whose thread is erased while the model answers."""

    async def erase() -> None:
        async with httpx.AsyncClient(timeout=120) as http:
            headers = {"Cookie": cookie, "Origin": "http://localhost:3000"}
            response = await http.request("DELETE", url, headers=headers, json={})
            assert response.status_code == 200, response.text

    running["model"].meanwhile = erase
    try:
        await graph().add_episode(**turn(text), thread=thread)
    except ErasedThread:
        return True
    return False


async def groups(text: str) -> dict[str, Any]:
    """Where episodes are written, and what a search sees."""
    own = await graph().add_episode(**turn(text))
    inner = await graph().add_episode(**turn(text), group_id="team")
    bulk = await graph().add_episode_bulk(
        [RawEpisode(name="bulk", content=text, source_description="chat", source="message", reference_time=utc_now())]
    )
    await running["graphiti"].add_episode(**turn(text), group_id="foreign")
    found = await graph().search(text, num_results=50)
    seen = await graph().retrieve_episodes(utc_now(), last_n=100)
    return {
        "own": own.episode.group_id,
        "inner": inner.episode.group_id,
        "bulk": [one.group_id for one in bulk.episodes],
        "found": sorted({one.group_id for one in found}),
        "seen": sorted({one.group_id for one in seen}),
    }


def lifetimes() -> dict[str, Any]:
    """Values and indexes of the cache, with their time to live."""
    redis = Redis.from_url(running["redis"], decode_responses=True)
    cache = RecordedCache(redis, running["recorder"])
    cache.set("long", "a", ttl=10**9, subject="customer-9")
    cache.set("short", "b", ttl=5, subject="customer-9")
    try:
        cache.set("none", "c", ttl=0)
        refused = False
    except ValueError:
        refused = True
    long, short = redis.ttl(cache.key("long")), redis.ttl(cache.key("short"))
    return {
        "long": 86_000 < long <= 86_400,
        "short": 0 < short <= 5,
        "without": [key for key in redis.scan_iter() if redis.ttl(key) < 0 or redis.ttl(key) > 86_400],
        "refused": refused,
        "read": cache.get("short"),
        "deleted": cache.delete_subject("customer-9"),
        "after": cache.get("long"),
    }


async def uploaded(thread: str, text: str, s3: dict[str, str], bucket: str) -> list[str] | str:
    """The keys of two files of a thread, or the error that refused them."""
    client = boto3.client("s3", region_name="us-east-1", config=Config(s3={"addressing_style": "path"}), **s3)
    uploads = RecordedUploads(S3Bucket(client, bucket), running["recorder"])
    try:
        return [
            await uploads.aupload("Note of Emil.TXT", text, thread=thread),
            await uploads.aupload("photo", bytes(range(64)), "image/png", thread=thread),
        ]
    except ErasedThread as error:
        return type(error).__name__


async def downtime(thread: str, text: str, s3: dict[str, str], bucket: str) -> list[str] | str | None:
    """Writes for an erased thread while the registry is down, which then answers again. Returns the keys of the files."""
    recorder = running["recorder"]
    client, recorder.client = recorder.client, KnowledgePulse("http://127.0.0.1:9", "none", retries=0)
    try:
        await AsyncRecordedCache(running["cache"], recorder).set("down", text, thread=thread)
        RecordedCache(Redis.from_url(running["redis"]), recorder).set("also down", text, thread=thread)
        await graph().add_episode(**turn(text), thread=thread)
        keys = await uploaded(thread, text, s3, bucket)
    finally:
        recorder.client = client
    await recorder.asettle()
    return keys


def versions(endpoint: str, name: str) -> list[int]:
    """The versions of an object in Google Cloud Storage before and after it is deleted."""
    options = ClientOptions(api_endpoint=endpoint)
    client = storage.Client(project="local", credentials=AnonymousCredentials(), client_options=options)
    bucket = client.bucket(name)
    uploads = RecordedUploads(GcsBucket(bucket), running["recorder"])
    key = uploads.upload("a.txt", "first", "text/plain")
    bucket.blob(key).upload_from_string("second")
    for other in (f"other/{key.partition('/')[2]}", f"{key}/more", f"{key.partition('/')[0]}/report.txt", ""):
        try:
            uploads.delete(other)
        except ValueError:
            continue
        raise AssertionError(other)
    before = len(list(bucket.list_blobs(versions="true")))
    uploads.delete(key)
    return [before, len(list(bucket.list_blobs(versions="true")))]


async def readme(blocks: list[str], env: dict[str, str], bucket: str, thread: str, text: str) -> dict[str, Any]:
    """Runs the snippets of the README one after the other, with stores of the application, and an application with what they make."""
    os.environ.update(env)
    boto3.client("s3").create_bucket(Bucket=bucket)
    redis = Redis.from_url(running["redis"], decode_responses=True)
    names: dict[str, Any] = {"saver": InMemorySaver(), "store": InMemoryStore(), "graphiti": running["graphiti"], "redis": redis}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for block in blocks:
            exec(compile(block, "README.md", "exec"), names)

    def remember(state: MessagesState, *, store: BaseStore) -> dict:
        question = state["messages"][-1].text
        names["cache"].set("question", question)
        names["uploads"].upload("question.txt", question)
        store.put(("memories",), "question", {"said": question})
        return {"messages": [AIMessage("Noted.")]}

    graph = StateGraph(MessagesState).add_node("remember", remember).add_edge(START, "remember")
    agent = graph.compile(names["checkpointer"], store=names["store"])
    config = {"configurable": {"thread_id": thread, "user_id": bucket}}
    await asyncio.to_thread(agent.invoke, {"messages": [HumanMessage(text)]}, config)
    await names["graphiti"].add_episode(**turn(text), thread=thread)
    await names["recorder"].aclose()
    episodes = await names["graphiti"].retrieve_episodes(utc_now(), last_n=1000)
    return {
        "printed": said.getvalue().splitlines()[-1],
        "found": len([one for one in episodes if one.content == text]),
        "cached": names["cache"].get("question"),
        "memories": [one.value["said"] for one in names["store"].search(("memories",))],
    }


async def guide(code: str, env: dict[str, str], thread: str, text: str) -> str:
    """Runs the five lines of the guide with asynchronous stores."""
    given: dict[str, Any] = {"saver": InMemorySaver(), "store": InMemoryStore(), "redis": running["cache"]}
    names = {**globals(), **given, "graphiti": running["graphiti"], "url": env["KP_URL"], "token": env["KP_TOKEN"]}
    exec(compile(code, "for-agent-developers.md", "exec"), names)

    async def remember(state: MessagesState, *, store: BaseStore) -> dict:
        await names["cache"].set(thread, state["messages"][-1].text)
        await store.aput(("memories",), "question", {"said": state["messages"][-1].text})
        return {}

    graph = StateGraph(MessagesState).add_node("remember", remember).add_edge(START, "remember")
    config = {"configurable": {"thread_id": thread, "user_id": thread}}
    await graph.compile(names["saver"], store=names["store"]).ainvoke({"messages": [HumanMessage(text)]}, config)
    await names["recorder"].aclose()
    found = await names["cache"].get(thread)
    return found.decode() if isinstance(found, bytes) else found


async def stop() -> None:
    await running["recorder"].aclose()
    await running["graphiti"].close()
    await asyncio.sleep(0)


serve({one.__name__: one for one in (start, say, settle, refused, interrupted, groups, lifetimes, uploaded, downtime, versions, readme, guide, stop)})

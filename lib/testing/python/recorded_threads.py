"""An application on LangGraph whose saver and store report to a registry. Every answer repeats what was said."""

import asyncio
import logging
import threading
from typing import Any

import httpx
from knowledgepulse import KnowledgePulse, RegistryUnreachable
from knowledgepulse.langgraph import ErasedThread, Recorder, recorded_saver, recorded_store
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from psycopg import AsyncConnection, Connection
from psycopg.rows import dict_row
from serving import serve

logging.disable(logging.WARNING)
given: dict[str, str] = {}
problems: list[str] = []
is_down = False


answers = threading.Event()
answers.set()
calls: list[str] = []


class Wire(httpx.HTTPTransport):
    """The network, which a test can interrupt and halt."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        calls.append(request.url.path)
        answers.wait()
        if is_down:
            raise httpx.ConnectError("the network is down", request=request)
        return super().handle_request(request)


def connect(url: str, token: str, project: str, checkpoints: str) -> None:
    given.update(url=url, token=token, project=project, checkpoints=checkpoints)
    with PostgresSaver.from_conn_string(checkpoints) as saver:
        saver.setup()


def new_recorder(**options: Any) -> Recorder:
    client = KnowledgePulse(given["url"], given["token"], http=httpx.Client(transport=Wire()))
    return Recorder(
        client,
        given["project"],
        author=lambda _: {"external_id": "customer-1", "name": "Ida Beispiel"},
        on_problem=lambda error, _: problems.append(type(error).__name__),
        **{"retry_every": 0.5, "patience": 60, **options},
    )


recorder: Recorder | None = None


def the_recorder() -> Recorder:
    global recorder
    recorder = recorder or new_recorder()
    return recorder


def remember(state: MessagesState, *, store: BaseStore) -> dict:
    said = state["messages"][-1]
    store.put(("memories",), str(said.id), {"said": said.content})
    return {"messages": [AIMessage(f"You said: {said.content}", id=f"answer-to-{said.id}")]}


async def aremember(state: MessagesState, *, store: BaseStore) -> dict:
    said = state["messages"][-1]
    await store.aput(("memories",), str(said.id), {"said": said.content})
    return {"messages": [AIMessage(f"You said: {said.content}", id=f"answer-to-{said.id}")]}


memories = InMemoryStore()


def config_of(thread: str) -> dict:
    return {"configurable": {"thread_id": thread}}


open_connections: dict[str, Any] = {}


def connection() -> Connection:
    """One connection for the life of the process, as applications have."""
    if "sync" not in open_connections:
        open_connections["sync"] = Connection.connect(
            given["checkpoints"], autocommit=True, prepare_threshold=0, row_factory=dict_row
        )
    return open_connections["sync"]


async def aconnection() -> AsyncConnection:
    if "async" not in open_connections:
        open_connections["async"] = await AsyncConnection.connect(
            given["checkpoints"], autocommit=True, prepare_threshold=0, row_factory=dict_row
        )
    return open_connections["async"]


def say(thread: str, text: str, recorded: bool = True, fresh: bool = False) -> list[list[str]]:
    mine = new_recorder() if fresh else the_recorder()
    database = connection()
    saver: BaseCheckpointSaver = PostgresSaver(database)
    saver = recorded_saver(saver, mine) if recorded else saver
    graph = StateGraph(MessagesState).add_node("remember", remember).add_edge(START, "remember")
    application = graph.compile(saver, store=recorded_store(memories, mine))
    state = application.invoke({"messages": [HumanMessage(text)]}, config_of(thread))
    return [[one.id, one.type, one.text] for one in state["messages"]]


async def asay(thread: str, text: str, recorded: bool = True, fresh: bool = False) -> list[list[str]]:
    mine = new_recorder() if fresh else the_recorder()
    database = await aconnection()
    saver: BaseCheckpointSaver = AsyncPostgresSaver(database)
    saver = recorded_saver(saver, mine) if recorded else saver
    graph = StateGraph(MessagesState).add_node("remember", aremember).add_edge(START, "remember")
    application = graph.compile(saver, store=recorded_store(memories, mine))
    state = await application.ainvoke({"messages": [HumanMessage(text)]}, config_of(thread))
    return [[one.id, one.type, one.text] for one in state["messages"]]


def tuple_of(thread: str) -> Any:
    database = connection()
    return PostgresSaver(database).get_tuple(config_of(thread))


kept: dict[str, Any] = {}


def keep(thread: str) -> None:
    """Keeps the latest checkpoint, as a process does that works on it while it is erased."""
    kept[thread] = tuple_of(thread)


def late(thread: str, times: int) -> int:
    refused = 0
    database = connection()
    saver = recorded_saver(PostgresSaver(database), the_recorder())
    for n in range(times):
        config, checkpoint = kept[thread].config, kept[thread].checkpoint
        try:
            if n % 2 == 0:
                at = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
                saver.put(at, checkpoint, {"source": "loop", "step": n}, checkpoint["channel_versions"])
            else:
                saver.put_writes(config, [("messages", "late")], "task", task_path="path")
        except ErasedThread:
            refused += 1
    return refused


async def alate(thread: str, times: int) -> int:
    refused = 0
    database = await aconnection()
    saver = recorded_saver(AsyncPostgresSaver(database), the_recorder())
    for n in range(times):
        config, checkpoint = kept[thread].config, kept[thread].checkpoint
        try:
            if n % 2 == 0:
                at = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
                await saver.aput(at, checkpoint, {"source": "loop", "step": n}, checkpoint["channel_versions"])
            else:
                await saver.aput_writes(config, [("messages", "late")], "task", task_path="path")
        except ErasedThread:
            refused += 1
    return refused


def rows(thread: str) -> int:
    database = connection()
    count = 0
    for table in ("checkpoints", "checkpoint_writes", "checkpoint_blobs"):
        found = database.execute(f"SELECT count(*) AS n FROM {table} WHERE thread_id = %s", (thread,)).fetchone()
        count += found["n"] if found else 0
    return count


async def arows(thread: str) -> int:
    """As `rows`, while the loop of the application runs."""
    await asyncio.sleep(0.05)
    return rows(thread)


def switch(down: bool) -> None:
    global is_down
    is_down = down


async def hang(threads: list[str], text: str) -> int:
    """Runs threads while the registry accepts calls but does not answer, and reports them when it does. Returns its calls until then."""
    mine = new_recorder(patience=0.05, retry_every=0.001)
    synchronous, asynchronous = recorded_saver(InMemorySaver(), mine), recorded_saver(InMemorySaver(), mine)
    graph = StateGraph(MessagesState).add_node("remember", remember).add_edge(START, "remember")
    agraph = StateGraph(MessagesState).add_node("remember", aremember).add_edge(START, "remember")
    store = recorded_store(InMemoryStore(), mine)
    answers.clear()
    calls.clear()
    try:
        for at, thread in enumerate(threads):
            said = {"messages": [HumanMessage(f"{text} {thread}")]}
            if at % 2 == 0:
                graph.compile(synchronous, store=store).invoke(said, config_of(thread))
            else:
                await agraph.compile(asynchronous, store=store).ainvoke(said, config_of(thread))
        made = len(calls)
    finally:
        answers.set()
    await mine.aclose()
    return made


async def settle() -> str | None:
    """The name of the problem, if something could not be reported."""
    try:
        await the_recorder().asettle()
    except RegistryUnreachable as error:
        return type(error).__name__
    return None


def found_problems() -> list[str]:
    found = list(problems)
    problems.clear()
    return found


class Old(BaseCheckpointSaver):
    """A saver from before optional methods and `task_path`."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = InMemorySaver()

    def get_tuple(self, config):
        return self.inner.get_tuple(config)

    def put_writes(self, config, writes, task_id):
        self.inner.put_writes(config, writes, task_id)


OPTIONAL = ("delete_for_runs", "copy_thread", "prune", "adelete_for_runs", "acopy_thread", "aprune")


def shape() -> dict[str, Any]:
    """What a recorded saver has in common with its inner saver."""
    inner = InMemorySaver()
    wrapped = recorded_saver(inner, the_recorder())
    old = recorded_saver(Old(), the_recorder())
    at = {"configurable": {"thread_id": "old", "checkpoint_ns": "", "checkpoint_id": "1"}}
    old.put_writes(at, [], "task", "path")
    limited = recorded_saver(InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None)), the_recorder())
    strict = limited.with_allowlist([("builtins", "set")])

    def optional(saver: BaseCheckpointSaver) -> list[str]:
        return [one for one in OPTIONAL if getattr(type(saver), one) is not getattr(BaseCheckpointSaver, one)]

    return {
        "saver": isinstance(wrapped, BaseCheckpointSaver),
        "serde": wrapped.serde is inner.serde,
        "specs": wrapped.config_specs == inner.config_specs,
        "version": wrapped.get_next_version(None, None).split(".")[0],
        "optional": optional(wrapped) == optional(inner),
        "none": optional(old),
        "allowlist": type(strict).__name__ == type(limited).__name__ and strict.serde is not limited.serde,
        "attribute": wrapped.storage is inner.storage,
    }


async def conformance(recorded: bool, postgres: bool) -> dict[str, list]:
    """Results of the official suite: for each capability, how many tests passed and which failed."""

    @checkpointer_test(name="saver")
    async def saver():
        if postgres:
            database = await aconnection()
            made: BaseCheckpointSaver = AsyncPostgresSaver(database)
            yield recorded_saver(made, the_recorder()) if recorded else made
        else:
            made = InMemorySaver()
            yield recorded_saver(made, the_recorder()) if recorded else made

    report = await validate(saver)
    return {
        name: [result.tests_passed, sorted(one.split(":")[0] for one in result.failures or [])]
        for name, result in report.results.items()
    }


def stored_memories() -> list[list[str]]:
    return [list(item.namespace) for item in memories.search((), limit=100)]


def own_memories() -> dict[str, Any]:
    """What the application sees of its store."""
    store = recorded_store(memories, the_recorder())
    found = store.search(("memories",), limit=100)
    return {
        "namespaces": sorted({".".join(one.namespace) for one in found}),
        "listed": [list(one) for one in store.list_namespaces(prefix=("memories",), max_depth=1)],
        "all": [list(one) for one in store.list_namespaces()],
        "get": store.get(("memories",), found[0].key).value == found[0].value,
        "missing": store.get(("memories",), "none"),
    }


serve(
    {
        one.__name__: one
        for one in (
            connect,
            say,
            asay,
            keep,
            late,
            alate,
            rows,
            arows,
            switch,
            hang,
            settle,
            found_problems,
            shape,
            conformance,
            stored_memories,
            own_memories,
        )
    }
)

"""An application on LangGraph whose registry refuses reports. Each recorder is one process of the application."""

import asyncio
import logging
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from knowledgepulse import KnowledgePulse
from knowledgepulse.langgraph import Recorder, recorded_saver
from knowledgepulse.recorder import Value
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, Connection
from psycopg.rows import dict_row
from serving import serve

logging.disable(logging.WARNING)
given: dict[str, str] = {}
problems: list[str] = []
recorders: dict[str, Recorder] = {}
savers: dict[str, BaseCheckpointSaver] = {}


def start(**settings: str) -> None:
    given.update(settings)
    if "checkpoints" not in given:
        savers.update(memory=InMemorySaver())
        return
    connection = Connection.connect(given["checkpoints"], autocommit=True, prepare_threshold=0, row_factory=dict_row)
    stored = PostgresSaver(connection)
    stored.setup()
    savers.update(memory=InMemorySaver(), postgres=stored)


def recorder_of(process: str) -> Recorder:
    if process not in recorders:
        recorders[process] = Recorder(
            KnowledgePulse(given["url"], given["token"]),
            given["project"],
            author=lambda config: config["configurable"].get("person"),
            on_problem=lambda error, _: problems.append(type(error).__name__),
            retry_every=0.05,
            patience=0.05 if process == "hurried" else 60,
        )
    return recorders[process]


def answer(state: MessagesState) -> dict:
    return {"messages": [AIMessage("Thank you.")]}


def say(process: str, saver: str, thread: str, person: dict, text: str, id: str | None = None) -> str:
    """The name of the error, if the run fails."""
    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
    application = graph.compile(recorded_saver(savers[saver], recorder_of(process)))
    config: Any = {"configurable": {"thread_id": thread, "person": person}}
    try:
        application.invoke({"messages": [HumanMessage(text, id=id)]}, config)
    except Exception as error:  # noqa: BLE001 - the test compares its name
        return type(error).__name__
    return ""


class HeldSaver(PostgresSaver):
    """Its checkpoints are stored when the file `held` has gone; then the connection breaks, if it `fails`."""

    held = ""
    fails = False

    def put(self, *args: Any) -> Any:
        while os.path.exists(self.held):
            time.sleep(0.01)
        result = super().put(*args)
        if self.fails:
            raise ConnectionError
        return result


class HeldAsyncSaver(AsyncPostgresSaver):
    held = ""
    fails = False

    async def aput(self, *args: Any) -> Any:
        while os.path.exists(self.held):
            await asyncio.sleep(0.01)
        result = await super().aput(*args)
        if self.fails:
            raise ConnectionError
        return result


def written_late(thread: str, person: dict, text: str) -> tuple[Any, list[Any], list[Any]]:
    message = HumanMessage(text, id=f"{thread}-late")
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"messages": [message]}}
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "person": person}}
    versions: Any = {"messages": checkpoint["id"]}
    put = [config, {**checkpoint, "channel_versions": versions}, {"source": "input", "step": -1, "parents": {}}, versions]
    pending: Any = {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}
    return message, put, [pending, [("messages", [message])], "task"]


def overlap(process: str, thread: str, person: dict, text: str, held: str, fails: bool) -> list[str]:
    """Two writes contain the text. The first is admitted before the second, and stored when the file `held` has gone."""
    connection = Connection.connect(given["checkpoints"], autocommit=True, prepare_threshold=0, row_factory=dict_row)
    inner = HeldSaver(connection)
    inner.held, inner.fails = held, fails
    _, put, writes = written_late(thread, person, text)
    first = recorded_saver(inner, recorder_of(process))
    second = recorded_saver(savers["postgres"], recorder_of(process))
    with ThreadPoolExecutor(1) as pool:
        one = pool.submit(first.put, *put)
        while thread not in recorder_of(process)._threads:
            time.sleep(0.01)
        errors = []
        for write in (lambda: second.put_writes(*writes), one.result):
            try:
                write()
                errors.append("")
            except Exception as error:  # noqa: BLE001 - the test compares its name
                errors.append(type(error).__name__)
    connection.close()
    return errors


async def overlap_async(process: str, thread: str, person: dict, text: str, held: str, fails: bool) -> list[str]:
    connection = await AsyncConnection.connect(
        given["checkpoints"], autocommit=True, prepare_threshold=0, row_factory=dict_row
    )
    inner = HeldAsyncSaver(connection)
    inner.held, inner.fails = held, fails
    _, put, writes = written_late(thread, person, text)
    recorded = recorded_saver(inner, recorder_of(process))
    one = asyncio.ensure_future(recorded.aput(*put))
    while thread not in recorder_of(process)._threads:
        await asyncio.sleep(0.01)
    results = await asyncio.gather(recorded.aput_writes(*writes), one, return_exceptions=True)
    await recorder_of(process).asettle()
    await connection.close()
    return [type(one).__name__ if isinstance(one, BaseException) else "" for one in results]


def put(process: str, thread: str, text: str, ts: str) -> None:
    checkpoint = {**empty_checkpoint(), "ts": ts, "channel_values": {"messages": [HumanMessage(text, id="late")]}}
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    recorded_saver(savers["memory"], recorder_of(process)).put(config, checkpoint, {}, {})


def put_all(
    process: str,
    threads: dict[str, list[dict]],
    person: dict | None = None,
    ts: str | None = None,
    loads: bool = False,
) -> None:
    """Writes a checkpoint of each thread at the same time."""
    saver = recorded_saver(savers["memory"], recorder_of(process))

    def write(thread: str) -> None:
        messages = [HumanMessage(one["text"], id=one.get("id")) for one in threads[thread]]
        checkpoint: Any = {**empty_checkpoint(), "channel_values": {"messages": messages}}
        if ts is not None:
            checkpoint["ts"] = ts
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "person": person}}
        if loads:
            saver.get_tuple(config)
        versions: Any = {"messages": checkpoint["id"]}
        saver.put(config, {**checkpoint, "channel_versions": versions}, {}, versions)

    with ThreadPoolExecutor(len(threads)) as pool:
        list(pool.map(write, threads))


def point(process: str, thread: str, text: str) -> None:
    recorder_of(process).point(thread, Value("cache", thread, text))


def limits() -> list[int]:
    client = KnowledgePulse(given["url"], given["token"])
    found = []
    for path, params in [("/api/projects/{projectId}", {"projectId": given["project"]}), ("/health", {})]:
        client.get(path, params=params)
        window = client.rate_window("read")
        found.append(window.limit if window else 0)
    return found


def settle(process: str, timeout: float | None = None) -> str:
    try:
        recorder_of(process).settle(timeout)
    except Exception as error:  # noqa: BLE001 - the test compares its name
        return type(error).__name__
    return ""


def found_problems() -> list[str]:
    found = list(problems)
    problems.clear()
    return found


def close() -> None:
    for one in recorders.values():
        one.close()


serve(
    {
        "start": start,
        "say": say,
        "overlap": overlap,
        "overlap_async": overlap_async,
        "put": put,
        "put_all": put_all,
        "point": point,
        "limits": limits,
        "settle": settle,
        "found_problems": found_problems,
        "close": close,
    }
)

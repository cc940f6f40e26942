"""An application on LangGraph whose registry refuses reports. Each recorder is one process of the application."""

import logging
from typing import Any

from knowledgepulse import KnowledgePulse
from knowledgepulse.langgraph import Recorder, recorded_saver
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from psycopg import Connection
from psycopg.rows import dict_row
from serving import serve

logging.disable(logging.WARNING)
given: dict[str, str] = {}
problems: list[str] = []
recorders: dict[str, Recorder] = {}
savers: dict[str, BaseCheckpointSaver] = {}


def start(**settings: str) -> None:
    given.update(settings)
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
            patience=60,
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


def put(process: str, thread: str, text: str, ts: str) -> None:
    checkpoint = {**empty_checkpoint(), "ts": ts, "channel_values": {"messages": [HumanMessage(text, id="late")]}}
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    recorded_saver(savers["memory"], recorder_of(process)).put(config, checkpoint, {}, {})


def settle(process: str) -> str:
    try:
        recorder_of(process).settle()
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


serve({"start": start, "say": say, "put": put, "settle": settle, "found_problems": found_problems, "close": close})

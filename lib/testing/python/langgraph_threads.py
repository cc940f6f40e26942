"""An application on LangGraph with its default serializer, for tests of checkpoints: no model, every answer is made of what was said.

It calls a tool with the user's words, sends the call to a node (Send), runs a subgraph with a state of its own, keeps what it made of the
words in channels of every kind that the serializer has an extension for, and asks a person before it answers (interrupt).
"""

import json
import operator
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict
from uuid import UUID

import numpy
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from langgraph.store.postgres import PostgresStore
from langgraph.types import Command, Interrupt, Send, interrupt
from pydantic import BaseModel
from pydantic.v1 import BaseModel as OldModel
from serving import serve


class Note(BaseModel):
    about: str
    rank: int = 1


class OldNote(OldModel):
    about: str


@dataclass
class Case:
    opened: str
    words: list[str]


class Pair(NamedTuple):
    left: str
    right: int


class Tone(Enum):
    calm = "calm"


class State(MessagesState):
    summary: str
    last: Any
    memo: dict
    kinds: dict
    texts: Any
    numbers: Any
    tags: Annotated[list[str], operator.add]


def text_of(message: Any) -> str:
    return str(message.content) if message is not None else ""


def last_human(messages: list) -> Any:
    """As applications often do: it fails where there is no human message."""
    return [message for message in messages if message.type == "human"][-1]


def agent(state: State) -> dict:
    said = last_human(state["messages"])
    question = text_of(said)
    call = {"id": f"tool-of-{said.id}", "name": "look_up", "args": {"question": question}}
    return {
        "messages": [AIMessage("", id=f"call-for-{said.id}", tool_calls=[call])],
        "last": said,
        "memo": {"quote": f"They said: {question} Noted.", "at": datetime(2026, 1, 2, tzinfo=timezone.utc)},
        "kinds": {
            "note": Note(about=question),
            "old": OldNote(about=question),
            "case": Case(opened="today", words=[question, "kept"]),
            "pair": Pair(question, 7),
            "set": {"kept", question},
            "deque": deque([question, "kept"]),
            "nested": [Note(about="kept", rank=3), {"deep": Case(opened=question, words=["kept"])}],
            ("tuple", 1): question,
            5: 1.5,
            "bytes": f"seen {question}".encode(),
            "big": 2**60,
            "negative": -(2**40),
            "decimal": Decimal("1.10"),
            "uuid": UUID(int=7),
            "path": Path("/tmp/kept"),
            "tone": Tone.calm,
        },
        "texts": numpy.array([question, "kept"]),
        "numbers": numpy.arange(6, dtype=numpy.float32).reshape(2, 3),
        "tags": ["asked"],
    }


def route(state: State) -> list:
    # A message that is said again replaces the answer to it, wherever that is in the list.
    call = [one for one in state["messages"] if one.type == "ai" and one.tool_calls][-1].tool_calls[-1]
    return [Send("tools", {"call": call, "said": call["args"]["question"]}), Send("audit", {"kept": "yes"})]


def tools(given: dict) -> dict:
    call = given["call"]
    return {"messages": [ToolMessage(f"Found: {given['said']}", id=f"result-{call['id']}", tool_call_id=call["id"])]}


def audit(given: dict) -> dict:
    return {"tags": [f"audit {given['kept']}"]}


def reflect(state: State) -> dict:
    said = last_human(state["messages"])
    return {
        "messages": [AIMessage("It was reflected upon.", id=f"thought-about-{said.id}")],
        "summary": f"Reflection on: {text_of(said)}",
    }


def minutes(state: State) -> dict:
    """Runs beside the node that asks: until the answer comes, what it returns is a pending write."""
    return {"tags": [f"minutes of {text_of(last_human(state['messages']))}"]}


def answer(state: State) -> dict:
    said = last_human(state["messages"])
    approved = interrupt({"ask": "May I answer?", "about": text_of(said)})
    return {
        "messages": [AIMessage(f"Done ({approved}).", id=f"answer-{len(state['messages'])}")],
        "summary": f"They said: {' / '.join(text_of(one) for one in state['messages'])}",
    }


def build(saver: PostgresSaver) -> Any:
    inner = StateGraph(State)
    inner.add_node("reflect", reflect)
    inner.add_edge(START, "reflect")
    graph = StateGraph(State)
    graph.add_node("agent", agent)
    graph.add_node("tools", tools)
    graph.add_node("audit", audit)
    graph.add_node("inner", inner.compile(checkpointer=True))
    graph.add_node("answer", answer)
    graph.add_node("minutes", minutes)
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", route, ["tools", "audit"])
    graph.add_edge("tools", "inner")
    graph.add_edge("inner", "answer")
    graph.add_edge("inner", "minutes")
    return graph.compile(checkpointer=saver)


class DeltaState(TypedDict):
    """Checkpoints hold a snapshot of every third change; the rest is replayed from the writes."""

    messages: Annotated[list, DeltaChannel(_messages_delta_reducer, snapshot_frequency=3)]


def build_delta(saver: PostgresSaver) -> Any:
    def echo(state: DeltaState) -> dict:
        said = last_human(state["messages"])
        return {"messages": [AIMessage(f"You said: {text_of(said)}", id=f"echo-of-{said.id}")]}

    return StateGraph(DeltaState).add_node("echo", echo).add_edge(START, "echo").compile(checkpointer=saver)


class Cipher:
    """Not safe, but as opaque as a real one."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "test", bytes(byte ^ 0xA5 for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return self.encrypt(ciphertext)[1]


open_savers: dict[str, tuple[Any, Any]] = {}


def app(url: str) -> Any:
    if url not in open_savers:
        manager = PostgresSaver.from_conn_string(url)
        saver = manager.__enter__()
        open_savers[url] = (manager, build(saver))
    return open_savers[url][1]


def setup(url: str) -> None:
    app(url).checkpointer.setup()


def on(thread: str, checkpoint: str | None = None) -> dict:
    return {"configurable": {"thread_id": thread, **({"checkpoint_id": checkpoint} if checkpoint else {})}}


def say(url: str, thread: str, id: str, text: str) -> None:
    app(url).invoke({"messages": [HumanMessage(text, id=id)]}, on(thread))


def resume(url: str, thread: str) -> list[str]:
    app(url).invoke(Command(resume="yes"), on(thread))
    return [message.id for message in app(url).get_state(on(thread)).values["messages"]]


def say_delta(url: str, thread: str, id: str, text: str) -> None:
    build_delta(app(url).checkpointer).invoke({"messages": [HumanMessage(text, id=id)]}, on(thread))


def history_delta(url: str, thread: str) -> list[dict]:
    states = build_delta(app(url).checkpointer).get_state_history(on(thread))
    return [
        {"messages": [[one.type, one.id or "", text_of(one)] for one in state.values.get("messages", [])]}
        for state in states
    ]


def say_encrypted(url: str, thread: str, id: str, text: str) -> None:
    with PostgresSaver.from_conn_string(url) as saver:
        saver.serde = EncryptedSerializer(Cipher())
        build(saver).invoke({"messages": [HumanMessage(text, id=id)]}, on(thread))


def fork(url: str, thread: str, text: str) -> None:
    """Writes another state beside the oldest one that has messages, and runs on from there."""
    oldest = [state for state in app(url).get_state_history(on(thread)) if state.values.get("messages")][-1]
    config = app(url).update_state(oldest.config, {"tags": [text]}, as_node="__start__")
    app(url).invoke(None, config)


def history(url: str, thread: str) -> list[dict]:
    """Every state, newest first, read whole: with its pending tasks and the states of subgraphs."""
    states = []
    for state in app(url).get_state_history(on(thread)):
        states.append(
            {
                "next": list(state.next),
                "messages": [[one.type, one.id or "", text_of(one)] for one in state.values.get("messages", [])],
                "kinds": sorted(f"{key}:{type(value).__name__}" for key, value in state.values.get("kinds", {}).items()),
                "interrupts": [repr(one.value) for task in state.tasks for one in task.interrupts],
                "text": repr(state.values) + repr(state.tasks),
            }
        )
    return states


def packed(kind: str) -> str:
    """A value as the serializer writes it, in hexadecimal; `kind` is Python."""
    type_, data = JsonPlusSerializer().dumps_typed(eval(kind))
    assert type_ == "msgpack", type_
    return data.hex()


def unpacked(data: str) -> str:
    return repr(JsonPlusSerializer().loads_typed(("msgpack", bytes.fromhex(data))))


def places_of(name: str, other: str) -> dict[str, Any]:
    """Values of a state with a name of a person, beside words of others, of every kind that the serializer has an extension for."""
    both = f"{other}. {name} called."
    return {
        "string": both,
        "key": {name: other, "of": other},
        "two keys": {name: other, name.upper(): f"also {other}", "[erased]": f"and {other}"},
        "key of a tuple": {(name, 1): other},
        "list": [other, name, both],
        "tuple": (other, name, both),
        "set": {other, name},
        "frozenset": frozenset([other, name]),
        "deque": deque([other, name]),
        "model": Note(about=both),
        "old model": OldNote(about=both),
        "case": Case(opened=name, words=[both]),
        "pair": Pair(both, 7),
        "bytes": both.encode(),
        "array": numpy.array([both, other]),
        "path": {"at": Path(f"/home/{name}/notes"), "of": other},
        "json": json.dumps({name: other, "of": both}),
        "json in unicode": json.dumps({name: other, "of": both}, ensure_ascii=False),
        "repr": repr({name: other, "of": both}),
        "fields": {"first": name.split(" ")[0], "last": name.split(" ")[-1], "of": other},
        "message": AIMessage(both, name=name.replace(" ", "_"), additional_kwargs={name: other}),
        "call": AIMessage("", tool_calls=[{"id": "1", "name": "find", "args": {name: other, "who": name}}]),
        "send": Send("find", {"who": name, "of": other, name: other}),
    }


def write_named(url: str, cases: list[list[str]]) -> None:
    with PostgresSaver.from_conn_string(url) as saver:
        for case in cases:
            put_named(saver, *case)


def put_named(saver: PostgresSaver, thread: str, place: str, name: str, other: str) -> None:
    """Writes a checkpoint with a name in one place, as the runtime of LangGraph does."""
    value = places_of(name, other).get(place)
    values = {"said": other} if value is None else {"said": thread, "place": value}
    if place == "channel":
        values = {"said": thread, name: other}
    checkpoint = {**empty_checkpoint(), "channel_values": values, "channel_versions": {one: "1" for one in values}}
    space = f"researcher:{name}" if place == "namespace" else ""
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": space}}
    metadata: dict[str, Any] = {"source": "loop", "step": 1, "parents": {}}
    if place == "metadata":
        metadata["who"] = f"{other} {name}"
    if place == "key of metadata":
        metadata[name] = other
    stored = saver.put(config, checkpoint, metadata, checkpoint["channel_versions"])
    if place == "write":
        saver.put_writes(stored, [("notes", f"{other} {name}")], "task")
    elif place == "key of a write":
        saver.put_writes(stored, [("notes", {name: other})], "task")
    elif place == "channel of a write":
        saver.put_writes(stored, [(name, other)], "task")
    elif place == "path of a task":
        saver.put_writes(stored, [("notes", other)], "task", f"~__pregel_pull, {name}")
    elif place == "id of a task":
        saver.put_writes(stored, [("notes", other)], f"task of {name}")
    elif place == "error":
        saver.put_writes(stored, [("__error__", ValueError(f"{other} {name}"))], "task")
    elif place == "interrupt":
        saver.put_writes(stored, [("__interrupt__", [Interrupt(value={"ask": f"{other} {name}", name: other})])], "task")


def remember(url: str, items: list[list]) -> None:
    with PostgresStore.from_conn_string(url) as store:
        store.setup()
        for namespace, key, value in items:
            store.put(tuple(namespace), key, value)


def remembered(url: str, namespace: list[str]) -> list[str]:
    with PostgresStore.from_conn_string(url) as store:
        return sorted(item.key for item in store.search(tuple(namespace)))


def recall(url: str, namespace: list[str], key: str) -> dict | None:
    with PostgresStore.from_conn_string(url) as store:
        item = store.get(tuple(namespace), key)
        return item.value if item else None


serve(
    {
        "setup": setup,
        "say": say,
        "say_delta": say_delta,
        "history_delta": history_delta,
        "say_encrypted": say_encrypted,
        "resume": resume,
        "fork": fork,
        "history": history,
        "write_named": write_named,
        "packed": packed,
        "unpacked": unpacked,
        "remember": remember,
        "remembered": remembered,
        "recall": recall,
    }
)

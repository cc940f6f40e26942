"""Runs applications on LangGraph in which a person says something in many shapes. They report nothing by themselves."""

import asyncio
import base64
import json
import logging
import operator
import urllib.parse
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from knowledgepulse import KnowledgePulse
from knowledgepulse.langgraph import Recorder, recorded_saver, recorded_store
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.postgres import PostgresStore
from langgraph.types import Command, Send, interrupt
from psycopg import AsyncConnection, Connection
from psycopg.rows import dict_row
from serving import serve

logging.disable(logging.WARNING)
options: Any = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
name = "Marta Kowalczyk"


def run(url: str, token: str, project: str, checkpoints: str, colors: list[str]) -> dict[str, Any]:
    saver_connection, store_connection = (
        Connection.connect(checkpoints, **options),
        Connection.connect(checkpoints, **options),
    )
    plain_saver, plain_store = PostgresSaver(saver_connection), PostgresStore(store_connection)
    plain_saver.setup()
    plain_store.setup()
    problems: list[str] = []
    recorder = Recorder(
        KnowledgePulse(url, token),
        project,
        author=lambda config: config["configurable"]["person"],
        on_problem=lambda error, _: problems.append(repr(error)),
    )
    saver, memories = recorded_saver(plain_saver, recorder), recorded_store(plain_store, recorder)
    person = {"external_id": "marta", "name": name, "email": "marta.k@example.org"}
    other = {"external_id": "otto", "name": "Otto Brandt"}
    sentences: dict[str, str] = {}

    def at(shape: str, who: dict = person) -> Any:
        return {"configurable": {"thread_id": f"{project}-{shape}", "person": who}}

    def graph(state: Any, *nodes: Callable, **compiled: Any) -> Any:
        made = StateGraph(state)
        before: Any = START
        for one in nodes:
            made = made.add_node(one.__name__, one).add_edge(before, one.__name__)
            before = one.__name__
        return made.compile(saver, store=memories, **compiled)

    def answer(state: Any) -> dict:
        return {"messages": [AIMessage(f"Noted for {name}: {state['messages'][-1].text}")]}

    chat = graph(MessagesState, answer)

    class Listed(TypedDict):
        messages: Annotated[list, operator.add]

    class Question(TypedDict):
        question: str
        answer: Any

    def ask(state: Any) -> dict:
        return {"answer": interrupt({"ask": f"What happened, {name}?"})}

    def say(shape: str, content: Any) -> None:
        chat.invoke({"messages": [HumanMessage(content)]}, at(shape))

    def html(shape: str, text: str) -> None:
        say(shape, f"<p>I am <b>Marta</b> <i>Kowalczyk</i></p><p>{text.replace(' the ', ' <br>the&nbsp;')}</p>")

    def escapes(shape: str, text: str) -> None:
        say(shape, json.dumps(json.dumps({"von": name, "text": f'Größe: {text}\n"quoted"'})))

    def possessive(shape: str, text: str) -> None:
        def quote(_: Any) -> dict:
            return {
                "messages": [AIMessage(f"{name}'s letter, Kowalczyk's words, Marta Kowalczyks Brief: {text.upper()}")]
            }

        graph(MessagesState, quote).invoke({"messages": [HumanMessage(f"{name}'s aunt says {text}")]}, at(shape))

    def subgraph(shape: str, text: str) -> None:
        inner = (
            StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(checkpointer=True)
        )
        made = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner").compile(saver)
        made.invoke({"messages": [HumanMessage(text)]}, at(shape))

    def resumed_text(shape: str, text: str) -> None:
        made = graph(Question, ask)
        made.invoke({"question": "What happened?"}, at(shape))
        made.invoke(Command(resume=text), at(shape))

    def resumed_form(shape: str, text: str) -> None:
        made = graph(Question, ask)
        made.invoke({"question": "What happened?"}, at(shape))
        made.invoke(Command(resume={"type": "edit", "args": {"reason": text}}), at(shape))

    def resumed_message(shape: str, text: str) -> None:
        def hear(_: Any) -> dict:
            return {"messages": [HumanMessage(interrupt("What?"))]}

        made = graph(MessagesState, hear, answer)
        made.invoke({"messages": [HumanMessage("Hello there.")]}, at(shape))
        made.invoke(Command(resume=text), at(shape))

    def names_in_store(shape: str, text: str) -> None:
        def remember(_: Any, *, store: BaseStore) -> dict:
            store.put(("users", name), f"profile of {name}", {"says": text, "who": name})
            store.put(("users", "marta.k at example.org".replace(".", "_")), "address", {"to": "marta.k@example.org"})
            return {}

        graph(MessagesState, remember).invoke({"messages": [HumanMessage(text)]}, at(shape))

    def encoded_in_store(shape: str, text: str) -> None:
        def remember(_: Any, *, store: BaseStore) -> dict:
            encoded = {
                "html": text.replace(" ", "<br>"),
                "url": urllib.parse.quote(text),
                "json": json.dumps(json.dumps(text)),
            }
            store.put(("notes",), "one", {**encoded, "base64": base64.b64encode(text.encode()).decode()})
            return {}

        graph(MessagesState, remember).invoke({"messages": [HumanMessage(text)]}, at(shape))

    def streamed(shape: str, text: str) -> None:
        for _ in chat.stream({"messages": [("user", text)]}, at(shape), stream_mode=["updates", "messages"]):
            pass

    def tokens(shape: str, text: str) -> None:
        class Tokens(MessagesState):
            tokens: list

        def split(_: Any) -> dict:
            return {"tokens": [f"{word} " for word in text.split()]}

        graph(Tokens, split).invoke({"messages": [HumanMessage(text)]}, at(shape))

    def tools(shape: str, text: str) -> None:
        def call(_: Any) -> dict:
            return {
                "messages": [
                    AIMessage("", tool_calls=[{"name": "search", "args": {"q": text, "who": name}, "id": "c1"}])
                ]
            }

        def result(_: Any) -> dict:
            return {"messages": [ToolMessage(json.dumps({"hit": f"{name}: {text}"}), tool_call_id="c1")]}

        graph(MessagesState, call, result).invoke({"messages": [HumanMessage(text)]}, at(shape))

    def without_ids(shape: str, text: str) -> None:
        graph(Listed, answer).invoke({"messages": [HumanMessage(text)]}, at(shape))

    def dictionaries(shape: str, text: str) -> None:
        def reply(_: Any) -> dict:
            return {"messages": [{"role": "assistant", "content": f"ok {text}"}]}

        graph(Listed, reply).invoke({"messages": [{"role": "user", "content": text}]}, at(shape))

    def question(shape: str, text: str) -> None:
        def reply(state: Any) -> dict:
            return {"answer": f"{name}: {state['question']}"}

        graph(Question, reply).invoke({"question": text}, at(shape))

    def functional(shape: str, text: str) -> None:
        @task
        def repeat(said: str) -> str:
            return f"{name} {said}"

        @entrypoint(checkpointer=saver)
        def flow(said: str) -> str:
            return repeat(said).result()

        flow.invoke(text, at(shape))

    def functional_messages(shape: str, text: str) -> None:
        @entrypoint(checkpointer=saver)
        def flow(said: Any, *, previous: Any = None) -> Any:
            return entrypoint.final(value="ok", save=[*(previous or []), said])

        flow.invoke(HumanMessage(text), at(shape))
        flow.invoke(HumanMessage("And then?"), at(shape))

    def sent(shape: str, text: str) -> None:
        def work(state: Any) -> dict:
            return {"messages": [AIMessage(state["x"])]}

        made = StateGraph(MessagesState).add_node("work", work)
        made.add_conditional_edges(
            START,
            lambda state: [Send("work", {"x": f"{name} {state['messages'][0].text} {n}"}) for n in range(2)],
            ["work"],
        )
        made.compile(saver).invoke({"messages": [HumanMessage(text)]}, at(shape))

    def updated(shape: str, text: str) -> None:
        chat.invoke({"messages": [HumanMessage("Hello again.")]}, at(shape))
        chat.update_state(at(shape), {"messages": [HumanMessage(text)]})

    def other_thread(shape: str, text: str) -> None:
        def quote(_: Any) -> dict:
            return {"messages": [AIMessage(f"As {name} said: {text}")]}

        say(shape, text)
        graph(MessagesState, quote).invoke({"messages": [HumanMessage("What did I say?")]}, at(f"{shape}-2"))

    def metadata(shape: str, text: str) -> None:
        chat.invoke(
            {"messages": [HumanMessage(text)]}, {**at(shape), "metadata": {"note": f"{name}: {text}"}, "tags": [name]}
        )

    def asynchronous(shape: str, text: str) -> None:
        async def go() -> None:
            connection = await AsyncConnection.connect(checkpoints, **options)
            made = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
            application = made.compile(recorded_saver(AsyncPostgresSaver(connection), recorder))
            async for _ in application.astream_events({"messages": [("user", text)]}, at(shape), version="v2"):
                pass
            await connection.close()

        asyncio.run(go())

    def blocks(shape: str, text: str) -> None:
        say(shape, [{"type": "text", "text": f"I am {name}."}, {"type": "text", "text": text}])

    def document(shape: str, text: str) -> None:
        say(shape, json.dumps({"from": name, "body": text}))

    shapes: list[Callable[[str, str], None]] = [say, html, document, escapes, possessive, blocks, subgraph]
    shapes += [resumed_text, resumed_form, resumed_message, names_in_store, encoded_in_store, streamed, tokens, tools]
    shapes += [
        without_ids,
        dictionaries,
        question,
        functional,
        functional_messages,
        sent,
        updated,
        other_thread,
        metadata,
        asynchronous,
    ]
    for shape, color in zip(shapes, colors, strict=False):
        text = f"my {color} suitcase with old family letters vanished behind that {color} station kiosk in winter"
        sentences[shape.__name__] = text
        shape(shape.__name__.replace("_", "-"), text)
    chat.invoke(
        {"messages": [HumanMessage("The green folder stays in the cellar until the first of May comes again.")]},
        at("of-other", other),
    )
    recorder.settle()
    recorder.close()
    return {"sentences": sentences, "problems": problems}


serve({"run": run})

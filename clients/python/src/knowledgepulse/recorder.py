"""Reports what an application stores about the messages of a project, so that an erasure finds it, and refuses late writes.

The adapters of this package share one recorder. It works with threads: `asyncio` applications call it through worker threads.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from typing_extensions import NotRequired, Self, TypedDict

from .client import KnowledgePulse
from .problems import (
    Conflict,
    Erased,
    Fenced,
    Forbidden,
    IdInUse,
    Invalid,
    NotFound,
    RegistryProblem,
    RegistryUnreachable,
    Restricted,
)


class ThreadAuthor(TypedDict):
    """The person who uses the application in a thread, by your own id."""

    external_id: str
    name: NotRequired[str]
    email: NotRequired[str]


class ErasedThread(Exception):
    """The thread was erased, or is being erased. Nothing of it may be written again."""

    def __init__(self, thread: str) -> None:
        super().__init__("This thread was erased, so nothing of it was stored. Start a new thread.")
        self.thread = thread


class ErasedAuthor(Exception):
    """The author was erased from the project. What they write is not stored, or deleted from what was stored."""

    def __init__(self, thread: str) -> None:
        super().__init__("The author was erased, so nothing of them may be stored. Give a new account another external_id.")
        self.thread = thread


@dataclass
class Message:
    id: str
    role: str
    content: str
    author: ThreadAuthor | None = None
    # The time of the checkpoint that contains it.
    written_at: datetime | None = None
    # The registry refused it. It is sent again after the pause of its thread.
    is_refused: bool = False
    # Its author was erased: it is reported as the agent's, and erased from the stores that contain it.
    is_erased: bool = False


@dataclass(frozen=True)
class Value:
    """Data of another store. It is reported with the messages whose text it contains."""

    store: str
    ref: str
    text: str
    place: str | None = None
    # Whether it is also reported with the last message of the user, for data such as a file that quotes no message.
    of_turn: bool = False


@dataclass
class _Thread:
    id: str
    # None until it is registered.
    conversation: str | None = None
    # Ids that the registry has.
    known: set[str] = field(default_factory=set)
    # Ids of messages from before the present run, with the time of their checkpoint.
    loaded: dict[str, str | None] = field(default_factory=dict)
    # The ids of messages whose own id belongs to another text.
    other_ids: dict[str, str] = field(default_factory=dict)
    # How many reports in sequence were refused, and the time before which what was refused is not sent again.
    refusals: int = 0
    paused_until: float = 0.0
    waiting: dict[str, Message] = field(default_factory=dict)
    # Messages and values that contain them, to be reported after the messages.
    pointers: list[tuple[str, Value]] = field(default_factory=list)
    # The latest texts and values: a value may be written before the checkpoint that contains its message, or after it.
    texts: OrderedDict[str, str] = field(default_factory=OrderedDict)
    values: list[Value] = field(default_factory=list)
    # The last message of the user.
    turn_id: str | None = None
    # Each deletes what was written before the registry said that the thread is erased.
    forget: dict[str, Callable[[], None]] = field(default_factory=dict)
    # Whether something was written without an answer of the registry.
    is_unchecked: bool = False
    # Reports of a thread are sent one after the other.
    turn: threading.RLock = field(default_factory=threading.RLock)

    @property
    def has_reports(self) -> bool:
        return bool(self.waiting) or bool(self.pointers)

    @property
    def is_waiting(self) -> bool:
        """Whether something of the thread is still to be reported."""
        return self.is_unchecked or self.has_reports


_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
}
_DEEPEST = 6
# Bytes of UTF-8 in a message of the registry. A longer text is reported in parts.
_MOST_BYTES = 256 * 1024
# Characters that two parts have in common, so that each sentence is complete in one of them.
_OVERLAP = 1_000
# Characters without a space in a message that is no text, such as an image. They are not reported.
_ENCODED = re.compile(r"[\w+/=-]{2000,}", re.ASCII)
# The registry stores no NUL characters and no unpaired surrogates.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# The form of an id of a message.
_ID = re.compile(r"(?!\.+$)[\w.:-]{1,200}", re.ASCII)
# Seconds after which a report is late, so that it names the time of the checkpoint.
_LATE = 60.0
# What was refused is sent again after a pause of at most this many times the time between two attempts.
_LONGEST_PAUSE = 64
# Seconds: an erasure answers after at most 10.
_ERASURE = 30.0
_TEXTS = 500
_VALUES = 200
# A shorter text may be in a value by chance. An erasure still finds it by its words.
_SHORTEST_TEXT = 20
# Seconds for a call of the registry. It goes on after a write stopped waiting for it.
_CALL = 10.0
# Seconds for the deletion of what was written of an erased thread.
_DELETION = 60


def _contains(value: str, text: str) -> bool:
    said = text.strip()
    return len(said) >= _SHORTEST_TEXT and said in value


def _is_of_message(error: RegistryProblem) -> bool:
    """Whether the registry refuses this message, and may store the following ones."""
    return error.status == 422 or isinstance(error, (Conflict, Fenced, NotFound, Restricted))


def _is_about(error: RegistryProblem, field: str) -> bool:
    return any(field in issue.get("path", ()) for issue in error.issues)


def _parts(text: str) -> Iterator[str]:
    """The text in parts that the registry stores."""
    start = 0
    while True:
        # Cut within a character, only its first bytes are left out.
        part = text[start : start + _MOST_BYTES].encode()[:_MOST_BYTES].decode(errors="ignore")
        yield part
        end = start + len(part)
        if end >= len(text):
            return
        start = end - _OVERLAP


def _derived_id(thread: str, role: str, content: str) -> str:
    """The same text of a thread has the same id, so that it is reported once."""
    return "said-" + hashlib.sha256(json.dumps([thread, role, content]).encode()).hexdigest()[:32]


def _message_of(value: Any, thread: str | None) -> Message | None:
    """A message of LangChain or OpenAI, as an object or as it is serialized. Of a thread, also one without an id."""
    get: Callable[[str], Any] = value.get if isinstance(value, dict) else lambda name: getattr(value, name, None)
    kind, id, content = get("type") or get("role"), get("id"), get("content")
    role = _ROLES.get(kind) if isinstance(kind, str) else None
    if role is None or content is None:
        return None
    text = (
        content
        if isinstance(content, str)
        else _ENCODED.sub("", json.dumps(content, ensure_ascii=False, default=str))
    )
    if text in ("", "[]"):
        text = json.dumps(get("tool_calls") or "", ensure_ascii=False, default=str)
    if not isinstance(id, str) or not id:
        if thread is None or text in ("", '""'):
            return None
        id = _derived_id(thread, role, text)
    return Message(id=id, role=role, content=text)


def messages_in(value: Any, thread: str | None = None, depth: int = 0) -> Iterator[Message]:
    """The messages with an id in a state of LangGraph. With a thread, those without an id get one."""
    if depth > _DEEPEST or value is None or isinstance(value, (str, bytes, int, float, type)) or callable(value):
        return
    found = None if isinstance(value, (list, tuple, set)) else _message_of(value, thread)
    if found is not None:
        yield found
    elif isinstance(value, Mapping):
        for inner in list(value.values()):
            yield from messages_in(inner, thread, depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for inner in list(value):
            yield from messages_in(inner, thread, depth + 1)
    else:
        names = getattr(type(value), "__slots__", ())
        slots = [getattr(value, name, None) for name in ([names] if isinstance(names, str) else names)]
        for inner in [*list(getattr(value, "__dict__", {}).values()), *slots]:
            yield from messages_in(inner, thread, depth + 1)


def _strings_in(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth <= _DEEPEST and isinstance(value, (Mapping, list, tuple, set, frozenset)):
        for inner in list(value.values() if isinstance(value, Mapping) else value):
            yield from _strings_in(inner, depth + 1)


def _said(thread: str, value: Any) -> Iterator[Message]:
    """What a person said outside of a message."""
    text = "\n".join(_strings_in(value))
    if text.strip():
        yield Message(id=_derived_id(thread, "user", text), role="user", content=text)


def messages_of(
    thread: str, channels: Iterable[tuple[str, Any]], inputs: Collection[str], is_state: bool
) -> Iterator[Message]:
    """What was said in channels of LangGraph: messages, answers to interrupts, and inputs that are texts.

    A message without an id gets one from the reducer of its channel, so only the state has messages that remain without.
    """
    for channel, value in channels:
        if channel == "__resume__":
            for answer in value if isinstance(value, (list, tuple)) else [value]:
                yield from _said(thread, answer)
        elif channel != "__start__":
            yield from messages_in(value, thread if is_state else None)
        elif isinstance(value, str):
            yield from _said(thread, value)
        elif isinstance(value, Mapping):
            yield from messages_in(value)
            for name in inputs:
                if isinstance(value.get(name), str):
                    yield from _said(thread, value[name])
        else:
            yield from messages_in(value, thread)


def on_this_loop(call: Callable[[], Coroutine[Any, Any, object]]) -> Callable[[], None]:
    """Lets a worker thread of the recorder wait for a coroutine: what is asynchronous belongs to the loop of the application."""
    loop = asyncio.get_running_loop()

    def forget() -> None:
        if not loop.is_running() or asyncio._get_running_loop() is loop:
            raise RuntimeError("Deleting an erased thread needs the running loop: await asettle() or aclose().")
        asyncio.run_coroutine_threadsafe(call(), loop).result(_DELETION)

    return forget


def _time_of(text: str | None) -> datetime:
    """The time of a checkpoint, by default now."""
    try:
        found = datetime.fromisoformat(text) if text is not None else None
    except ValueError:
        found = None
    return found if found is not None and found.tzinfo is not None else datetime.now(timezone.utc)


def thread_of(config: Mapping[str, Any] | None) -> str | None:
    thread = ((config or {}).get("configurable") or {}).get("thread_id")
    return None if thread is None or thread == "" else str(thread)


def current_config() -> Mapping[str, Any] | None:
    """The configuration of the LangGraph run that this code belongs to, within a node or a tool."""
    try:
        from langgraph.config import get_config
    except ImportError:
        return None
    try:
        return get_config()
    except RuntimeError:
        return None


def current_thread() -> str | None:
    return thread_of(current_config())


class Recorder:
    """Each thread becomes a conversation of the project, and each of its messages a message with the same id.

    While the registry does not answer, the application goes on, and what was not reported is reported later. `author` says who wrote the
    human messages of a run; without it, the agent of the token is their author. `on_problem` is called for everything that could not be
    reported yet, and for what the registry refuses. A write waits at most `patience` seconds for the registry, and not at all while it is
    known to be down. `inputs` names the keys of an input whose strings the person wrote, in a graph whose state is not made of messages.
    """

    def __init__(
        self,
        client: KnowledgePulse,
        project: str,
        *,
        author: Callable[[Mapping[str, Any]], ThreadAuthor | None] | None = None,
        title: Callable[[str], str] | None = None,
        on_problem: Callable[[Exception, str], None] | None = None,
        patience: float = 2.0,
        retry_every: float = 5.0,
        inputs: Collection[str] = ("input", "question", "query", "user_input"),
    ) -> None:
        self.client = client
        self.project = project
        self._author = author
        self._title = title or (lambda thread: thread)
        self._on_problem = on_problem or (lambda error, thread: None)
        self._patience = patience
        self._retry_every = retry_every
        self.inputs = inputs
        self._threads: dict[str, _Thread] = {}
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_retrying = False
        # Then no write waits for the registry, until it answers a retry.
        self._is_down = False
        self._group: str | None = None
        # The registry asked for no call before this time.
        self._not_before = 0.0
        # External ids of authors that were erased, and of those that the registry knows with another email address.
        self._erased_authors: set[str] = set()
        self._without_email: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def group(self) -> str:
        """The graph group of the project. By default, it is the id of the project."""
        if self._group is None:
            try:
                found = self.client.get(
                    "/api/projects/{projectId}", params={"projectId": self.project}, timeout=_CALL, retries=0
                )
            except RegistryUnreachable as error:
                self._on_problem(error, "")
                return self.project
            self._group = found["data"]["group_id"]
        return self._group

    def author_of(self, config: Mapping[str, Any] | None) -> ThreadAuthor | None:
        return self._author(config) if self._author is not None and config is not None else None

    def admit(self, thread: str, forget: Mapping[str, Callable[[], None]] | None = None) -> None:
        """Call it before a write: registers the thread.

        Before the first write, because a thread that has checkpoints may belong to somebody else.

        :raises ErasedThread: if the thread may not be written; what was written of it is deleted
        """
        found = self._thread(thread)
        found.forget.update(forget or {})
        self._report(found)

    def refuse_erased_author(self, thread: str, config: Mapping[str, Any] | None) -> None:
        """:raises ErasedAuthor: if the author of the run is known to be erased"""
        if self._erased_authors:
            author = self.author_of(config)
            if author is not None and author["external_id"] in self._erased_authors:
                raise ErasedAuthor(thread)

    def loaded(self, thread: str, messages: Iterable[Message], written_at: str | None) -> None:
        """Notes what the thread contained before the present run: another person may have written it."""
        found = self._thread(thread)
        for message in messages:
            if message.id not in found.known and message.id not in found.waiting:
                found.loaded[message.id] = written_at

    def note(
        self,
        thread: str,
        messages: Iterable[Message],
        config: Mapping[str, Any] | None = None,
        forget: Mapping[str, Callable[[], None]] | None = None,
        written_at: str | None = None,
    ) -> None:
        """Notes messages that were written, and reports them. `written_at` is the time of their checkpoint, by default now.

        `forget` is repeated, because the registry may have refused the thread during the write.

        :raises ErasedThread: if an erasure began or ended during the write; what was written is deleted
        :raises ErasedAuthor: if the author of the run was erased; what they wrote is deleted
        """
        found = self._thread(thread)
        found.forget.update(forget or {})
        author = self.author_of(config)
        for message in messages:
            # Before its text: other threads point only to messages that are known or wait.
            if message.id not in found.known and message.id not in found.waiting:
                if message.role == "user":
                    message.author = author
                message.written_at = _time_of(found.loaded.get(message.id) or written_at)
                found.waiting[message.id] = message
            if found.texts.get(message.id) != message.content:
                # A value may be written before the first message of its thread is noted.
                is_first_turn = message.role == "user" and found.turn_id is None
                if message.role == "user" and message.id not in found.texts:
                    found.turn_id = message.id
                found.texts[message.id] = message.content
                contained = [
                    one
                    for one in found.values
                    if _contains(one.text, message.content) or (is_first_turn and one.of_turn)
                ]
                found.pointers.extend((message.id, one) for one in contained)
            found.texts.move_to_end(message.id)
        while len(found.texts) > _TEXTS:
            found.texts.popitem(last=False)
        self._report(found)
        self.refuse_erased_author(thread, config)

    def point(self, thread: str, value: Value, forget: Mapping[str, Callable[[], None]] | None = None) -> None:
        """Notes data of another store that was written, and reports which messages of the thread it contains.

        :raises ErasedThread: as `note`
        """
        found = self._thread(thread)
        found.forget.update(forget or {})
        found.pointers.extend(
            (id, value)
            for id, text in list(found.texts.items())
            if _contains(value.text, text) or (value.of_turn and id == found.turn_id)
        )
        found.values = [*found.values[1 - _VALUES :], value]
        self._report(found)

    def settle(self) -> None:
        """Waits until everything was reported, and what was written of erased threads is deleted.

        :raises RegistryUnreachable, RegistryProblem: if the registry still does not answer, or still refuses something
        """
        refusal: RegistryProblem | None = None
        for thread in list(self._threads.values()):
            try:
                refusal = self._attempt(thread, insists=True) or refusal
            except ErasedThread as error:
                if thread.is_unchecked:
                    raise RuntimeError("What was written of an erased thread could not be deleted.") from error
        # What is being erased needs no report.
        if refusal is not None and not isinstance(refusal, Fenced):
            raise refusal

    async def asettle(self) -> None:
        """As `settle`, for applications with asyncio: a deletion may need the loop."""
        await asyncio.to_thread(self.settle)

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Reports what is waiting, and ends the retries."""
        try:
            self.settle()
        finally:
            with self._lock:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None

    def _thread(self, id: str) -> _Thread:
        with self._lock:
            return self._threads.setdefault(id, _Thread(id))

    def _report(self, thread: _Thread) -> None:
        """Reports the thread and what is waiting. A write waits only a short time for it."""
        if self._is_down:
            self._check_later(thread)
            return
        refusals: list[Exception] = []

        def attempt() -> None:
            try:
                self._attempt(thread)
            except Exception as error:  # noqa: BLE001 - raised below, in the thread of the application
                refusals.append(error)

        # A daemon, so that an application can end while the registry hangs.
        worker = threading.Thread(target=copy_context().run, args=(attempt,), daemon=True)
        worker.start()
        worker.join(self._patience)
        if worker.is_alive():
            # Its answer may still refuse the thread: then what was written is deleted.
            self._is_down = True
            self._check_later(thread)
        elif refusals:
            raise refusals[0]

    def _check_later(self, thread: _Thread) -> None:
        """Something is written without an answer of the registry."""
        with self._lock:
            # The thread may have been refused and forgotten meanwhile.
            known = self._threads.setdefault(thread.id, thread)
            known.forget.update(thread.forget)
            known.is_unchecked = True
        self._retry_later()

    def _attempt(self, thread: _Thread, insists: bool = False) -> RegistryProblem | None:
        """Reports the thread. A fault of the registry is noted, and reported later.

        If it `insists`, the fault is raised, and what was refused is sent again at once. Returns the last refusal of a message: it says
        nothing about the thread.

        :raises ErasedThread: if the thread may not be written; what was written of it is deleted
        """
        with thread.turn:
            try:
                refusal = self._send(thread, insists)
                thread.is_unchecked = False
                self._is_down = False
            except (Erased, Fenced) as error:
                self._is_down = False
                thread.waiting.clear()
                thread.pointers.clear()
                # `erased` names this thread. `fenced` may also mean its project: then only a thread that this process
                # registered is known to go.
                if isinstance(error, Erased) or thread.conversation is not None:
                    self._forget(thread)
                raise ErasedThread(thread.id) from error
            except (RegistryProblem, RegistryUnreachable) as error:
                is_busy = isinstance(error, RegistryProblem) and error.status == 429
                self._is_down = is_busy or isinstance(error, RegistryUnreachable)
                if isinstance(error, RegistryProblem) and error.status < 500:
                    self._pause(thread)
                    if is_busy:
                        self._not_before = time.monotonic() + (error.retry_after or 0)
                thread.is_unchecked = True
                self._on_problem(error, thread.id)
                self._retry_later()
                if insists:
                    raise
                return None
            if refusal is not None:
                self._retry_later()
            return refusal

    def _pause(self, thread: _Thread) -> None:
        """Twice as long after each refusal, because the calls of a token are limited."""
        thread.paused_until = time.monotonic() + self._retry_every * min(2**thread.refusals, _LONGEST_PAUSE)
        thread.refusals += 1

    def _forget(self, thread: _Thread) -> None:
        """Deletes what was written of an erased thread. What fails is repeated later."""
        thread.is_unchecked = False
        for forget in list(thread.forget.values()):
            try:
                forget()
            except Exception as error:  # noqa: BLE001 - each store has its own errors
                thread.is_unchecked = True
                self._on_problem(error, thread.id)
        if thread.is_unchecked:
            self._retry_later()
        else:
            with self._lock:
                self._threads.pop(thread.id, None)

    def _send(self, thread: _Thread, insists: bool) -> RegistryProblem | None:
        """Sends what is waiting. Returns the last refusal of a message, which keeps waiting."""
        is_answered = thread.conversation is None
        if thread.conversation is None:
            thread.conversation = self._register(thread.id)
        is_due = insists or time.monotonic() >= thread.paused_until
        refusal: RegistryProblem | None = None
        for message in list(thread.waiting.values()):
            if is_due or not message.is_refused:
                is_answered = True
                refusal = self._send_message(thread, thread.conversation, message, insists) or refusal
        for pointer in list(thread.pointers):
            source, value = pointer
            # A message that was noted meanwhile, or refused, is sent with a later report, and then its pointers.
            if source not in thread.waiting:
                is_answered = True
                self._send_pointer(thread, thread.conversation, thread.other_ids.get(source, source), value)
                thread.pointers.remove(pointer)
        if not is_answered:
            self._require_living(thread.id, thread.conversation)
        if refusal is not None:
            self._pause(thread)
        elif not thread.waiting:
            thread.refusals = 0
        return refusal

    def _send_message(
        self, thread: _Thread, conversation: str, message: Message, insists: bool
    ) -> RegistryProblem | None:
        """Reports a message, in parts if it is long. Returns why the registry does not store it yet: then it keeps waiting."""
        message.is_refused = True
        for at, content in enumerate(_parts(_UNSTORABLE.sub("\ufffd", message.content))):
            is_own = at == 0 and _ID.fullmatch(message.id) is not None
            part = replace(
                message,
                id=message.id if is_own else _derived_id(thread.id, message.role, content),
                content=content,
                author=None if message.is_erased else message.author,
            )
            outcome = self._post(thread, conversation, part)
            # Somebody else may have written what the thread contained before, and only the recorder of their run knew them. It keeps waiting.
            if isinstance(outcome, Erased) and part.author is not None and message.id not in thread.loaded:
                message.is_erased = True
                if insists:
                    outcome = self._post(thread, conversation, replace(part, author=None))
            if isinstance(outcome, RegistryProblem):
                self._on_problem(outcome, thread.id)
                return outcome
            if message.is_erased:
                self._erase(conversation, outcome)
            if at == 0 and outcome != message.id:
                thread.other_ids[message.id] = outcome
        thread.known.add(message.id)
        thread.waiting.pop(message.id, None)
        return None

    def _post(self, thread: _Thread, conversation: str, message: Message) -> str | RegistryProblem:
        """Reports a text. Returns the id under which the registry knows it, or why it is not stored yet.

        Of all answers, only these do not keep it waiting: it is stored, also under another id, or was erased under this one, so that the
        registry knows its words.

        :raises RegistryProblem, RegistryUnreachable: what concerns more than this message
        """
        body: Any = {"id": message.id, "role": message.role, "content": message.content}
        written_at, author = message.written_at, message.author
        is_late = written_at is not None and (datetime.now(timezone.utc) - written_at).total_seconds() > _LATE
        if is_late and written_at is not None:
            body["created_at"] = written_at.astimezone(timezone.utc).isoformat(timespec="milliseconds")[:23] + "Z"
        has_email = author is not None and "email" in author and author["external_id"] not in self._without_email
        if author is not None:
            body["author"] = {name: value for name, value in author.items() if name != "email" or has_email}
        try:
            self.client.post(
                "/api/projects/{projectId}/conversations/{conversationId}/messages",
                params={"projectId": self.project, "conversationId": conversation},
                body=body,
                timeout=_CALL,
                retries=0,
            )
            return message.id
        except IdInUse:
            return self._post_other_text(thread, conversation, message)
        except RegistryProblem as error:
            if author is not None and has_email and self._refuses_email(error):
                self._on_problem(error, thread.id)
                addressless: Any = {name: value for name, value in author.items() if name != "email"}
                outcome = self._post(thread, conversation, replace(message, author=addressless))
                # Otherwise, the email address was not the cause.
                if isinstance(outcome, str):
                    self._without_email.add(author["external_id"])
                return outcome
            # The clock of the application is ahead of that of the registry.
            if isinstance(error, Invalid) and is_late and _is_about(error, "created_at"):
                return self._post(thread, conversation, replace(message, written_at=None))
            if isinstance(error, Invalid) and author is not None and "name" in author and _is_about(error, "name"):
                self._on_problem(error, thread.id)
                nameless: Any = {name: value for name, value in author.items() if name != "name"}
                return self._post(thread, conversation, replace(message, author=nameless))
            # The message, its author or the whole conversation: only the conversation decides about the thread.
            if isinstance(error, (NotFound, Erased, Fenced)):
                self._require_living(thread.id, conversation)
            if isinstance(error, Erased):
                # If the author was erased, and not the message, its id can be used without the author.
                if author is not None and self._is_erased_author(author):
                    self._erased_authors.add(author["external_id"])
                    return error
                self._on_problem(error, thread.id)
                return message.id
            if not _is_of_message(error):
                raise
            return error

    @staticmethod
    def _refuses_email(error: RegistryProblem) -> bool:
        if isinstance(error, Invalid):
            return _is_about(error, "email")
        return isinstance(error, (Conflict, Forbidden))

    def _post_other_text(self, thread: _Thread, conversation: str, message: Message) -> str | RegistryProblem:
        """The id is in use: for the same text, which was reported before, or for another one, and then this text gets an id of its own."""
        own_id = _derived_id(thread.id, message.role, message.content)
        if own_id == message.id:
            return message.id
        try:
            found = self.client.get(
                "/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}",
                params={"projectId": self.project, "conversationId": conversation, "messageId": message.id},
                timeout=_CALL,
                retries=0,
            )["data"]
            if message.content in (found["content"], *(one["content"] for one in found["former"])):
                return message.id
        except RegistryProblem as error:
            if error.status == 429 or error.status >= 500:
                raise
            is_being_erased = isinstance(error, NotFound) and "audit_id" in error.document
            if isinstance(error, (Restricted, Erased)) or is_being_erased:
                return message.id
        return self._post(thread, conversation, replace(message, id=own_id))

    def _is_erased_author(self, author: ThreadAuthor) -> bool:
        try:
            self.client.post(
                "/api/projects/{projectId}/participants",
                params={"projectId": self.project},
                body={"external_id": author["external_id"]},
                timeout=_CALL,
                retries=0,
            )
        except Erased:
            return True
        except (Restricted, Fenced):
            pass
        return False

    def _erase(self, conversation: str, message: str) -> None:
        """Erases a message of an erased author from everything that contains it. The erasure continues after the answer."""
        with suppress(NotFound, Erased, Fenced):
            self.client.delete(
                "/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}",
                params={"projectId": self.project, "conversationId": conversation, "messageId": message},
                timeout=_ERASURE,
                retries=0,
            )

    def _send_pointer(self, thread: _Thread, conversation: str, source: str, value: Value) -> None:
        entry: Any = {"source_id": source, "store": value.store, "ref": value.ref}
        if value.place is not None:
            entry["place"] = value.place
        try:
            self.client.post(
                "/api/projects/{projectId}/provenance",
                params={"projectId": self.project},
                body={"entries": [entry]},
                timeout=_CALL,
                retries=0,
            )
        except (NotFound, Erased, Fenced) as error:
            self._require_living(thread.id, conversation)
            self._on_problem(error, thread.id)
        except Invalid as error:
            # A name that the registry cannot store. The words of the value are known.
            self._on_problem(error, thread.id)

    def _register(self, thread: str) -> str:
        """Makes the thread a conversation with the same id.

        If the thread has checkpoints and its id contains none of ours, it may belong to somebody else: then its messages are reported to a
        conversation of another id, so that an erasure finds their words, and a manager of the organization has to name the thread.
        """
        for conversation in (thread, f"recorded-{thread}"):
            try:
                self._create(thread, conversation)
                return conversation
            except IdInUse:
                # An earlier run of the application registered it.
                self._require_living(thread, conversation)
                return conversation
            except Invalid as error:
                if conversation != thread:
                    raise
                self._on_problem(error, thread)
        return thread

    def _create(self, thread: str, conversation: str) -> None:
        self.client.post(
            "/api/projects/{projectId}/conversations",
            params={"projectId": self.project},
            body={"id": conversation, "title": self._title(thread)[:200], "threads": [conversation]},
            timeout=_CALL,
            retries=0,
        )

    def _require_living(self, thread: str, conversation: str) -> None:
        """:raises Erased, Fenced:"""
        try:
            self.client.get(
                "/api/projects/{projectId}/conversations/{conversationId}",
                params={"projectId": self.project, "conversationId": conversation},
                timeout=_CALL,
                retries=0,
            )
        except NotFound as error:
            # Erased, or the token has lost its access, which says nothing about the data of the application. The id of an erased
            # conversation is never accepted again, and only then is the answer `erased` or `fenced`.
            try:
                self._create(thread, conversation)
            except IdInUse:
                raise error from None

    def _retry_later(self) -> None:
        with self._lock:
            if self._timer is not None or self._is_retrying:
                return
            wait = max(self._retry_every, self._not_before - time.monotonic())
            self._timer = threading.Timer(wait, self._retry)
            # The application may end; the next checkpoint of the thread contains its messages again.
            self._timer.daemon = True
            self._timer.start()

    def _retry(self) -> None:
        """One thread after the other, until the registry does not answer again."""
        with self._lock:
            self._timer = None
            self._is_retrying = True
        try:
            for thread in list(self._threads.values()):
                if time.monotonic() < self._not_before:
                    break
                if thread.is_waiting and time.monotonic() >= thread.paused_until:
                    # Of a thread that was erased meanwhile, what was written is deleted.
                    with suppress(ErasedThread):
                        self._attempt(thread)
                    if self._is_down:
                        break
        finally:
            with self._lock:
                self._is_retrying = False
            if any(thread.is_waiting for thread in list(self._threads.values())):
                self._retry_later()

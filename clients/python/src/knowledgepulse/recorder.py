"""Reports what an application stores about the messages of a project, so that an erasure finds it, and refuses late writes.

The adapters of this package share one recorder. It works with threads: `asyncio` applications call it through worker threads.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, Literal

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


class _LimitReached(Exception):
    """The token may send nothing more before the next window of its limit."""


class _TimePassed(_LimitReached):
    """The time limit of `settle` has passed."""


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
    # It is reported only to be erased.
    is_erased: bool = False
    # The id in the application's state, if the registry gets the text under another one.
    stored_as: str | None = None
    # How many parts of a long text the registry has.
    sent_parts: int = 0
    # The refusal that the application knows of.
    told: str | None = None
    # It is from before the present run: another person may have written it.
    is_loaded: bool = False

    @property
    def key(self) -> tuple[str, int]:
        return self.stored_as or self.id, hash(self.content)


@dataclass
class _ErasedText:
    """A text of an erased author. It is reported as the agent's and erased at once, so that the registry erases what contains it."""

    message: Message
    # Of its present report. No other report has it, and the registry never accepts an erased id again.
    id: str = field(default_factory=lambda: f"said-{uuid.uuid4().hex}")
    erased_parts: int = 0
    # From now on, a write may be stored after the erasure searched the thread.
    is_requested: bool = False
    is_written_again: bool = False
    is_done: bool = False
    # The number of erasures, and the time before which it is not erased again.
    erasures: int = 0
    due_at: float = 0.0

    @property
    def is_waiting(self) -> bool:
        return not self.is_done or self.is_written_again

    def begin_again(self) -> None:
        self.id = f"said-{uuid.uuid4().hex}"
        self.erased_parts = 0
        self.is_done = False
        self.is_requested = False
        self.is_written_again = False


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
    # Ids that the registry has, each with hashes of the texts that were reported for it.
    known: dict[str, list[int]] = field(default_factory=dict)
    # An earlier process registered it, so the registry may have messages that this process does not know.
    has_earlier: bool = False
    # Ids and hashes of texts from before the present run, with the time of their checkpoint.
    loaded: dict[tuple[str, int], str | None] = field(default_factory=dict)
    # Texts of erased authors, by their ids in the state and hashes.
    erased: dict[tuple[str, int], _ErasedText] = field(default_factory=dict)
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
    used_at: float = 0.0

    def knows(self, message: Message) -> bool:
        return hash(message.content) in self.known.get(message.id, ())

    def has(self, message: Message) -> bool:
        """Whether this process has noted the text: under its id, or under its own one if another text of the id waited."""

        def is_noted(one: Message) -> bool:
            waiting = self.waiting.get(one.id)
            return self.knows(one) or (waiting is not None and waiting.content == one.content)

        return is_noted(message) or is_noted(
            replace(message, id=_derived_id(self.id, message.role, message.content))
        )

    @property
    def has_erasures(self) -> bool:
        return any(one.is_waiting for one in list(self.erased.values()))

    @property
    def has_reports(self) -> bool:
        return bool(self.waiting) or bool(self.pointers) or self.has_erasures

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
# What an erasure leaves of the last message of a person in a list of messages.
_PLACEHOLDER = "[erased]"
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
# The share of a limit that reports leave to the other calls of the token, and to its other processes. It doubles with each 429 of the
# last hour, because the third one revokes the token.
_RESERVED = 0.2
_MOST_RESERVED = 0.9
_REFUSALS_COUNT = 3_600.0
# Seconds by which processes with the same token continue at different times.
_SPREAD = 1.0
# Messages of a page.
_PAGE = 100
# Seconds: an erasure answers after at most 10.
_ERASURE = 30.0
# Threads that the recorder remembers, in addition to those with something to report and those used within so many seconds.
_THREADS = 1_000
_IDLE = 600.0
_TEXTS = 500
_VALUES = 200
# A shorter text may be in a value by chance. An erasure still finds it by its words.
_SHORTEST_TEXT = 20
# Seconds for a call of the registry. It goes on after a write stopped waiting for it.
_CALL = 10.0
# Seconds for the deletion of what was written of an erased thread.
_DELETION = 60


def _require_time(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise _TimePassed


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
        # The last one was used last.
        self._threads: OrderedDict[str, _Thread] = OrderedDict()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._is_retrying = False
        # Then no write waits for the registry, until it answers a retry.
        self._is_down = False
        self._group: str | None = None
        # The registry asked for no call before this time.
        self._not_before = 0.0
        # The limit of the token permits no further report before this time.
        self._limited_until = 0.0
        # When the registry answered 429.
        self._refused_at: list[float] = []
        # Before the first answer, the limit is not known: one call of each kind at a time.
        self._first = {"read": threading.Lock(), "write": threading.Lock()}
        self._answered: set[str] = set()
        self._sending = {"read": 0, "write": 0}
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
        present = set()
        for message in messages:
            present.add(message.key)
            if not found.has(message):
                found.loaded[message.key] = written_at
        # If the state contains an erased text later, somebody has said it again.
        for key in found.erased.keys() - present:
            found.loaded.pop(key, None)

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
            if message.content == _PLACEHOLDER:
                continue
            if self._is_written_again(found, message, author):
                continue
            loaded = message.key
            before = found.waiting.get(message.id)
            if before is not None and before is not message and before.content != message.content:
                # Both texts of the id were written.
                message.stored_as = message.id
                message.id = _derived_id(thread, message.role, message.content)
            # Before its text: other threads point only to messages that are known or wait.
            if not found.knows(message) and message.id not in found.waiting:
                if message.role == "user":
                    message.author = author
                message.is_loaded = loaded in found.loaded
                message.written_at = _time_of(found.loaded.get(loaded) or written_at)
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

    def note_failed(
        self,
        thread: str,
        messages: Iterable[Message],
        author: ThreadAuthor | None,
        forget: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        """Call it if a write failed or was canceled. It may be stored nevertheless. Does not wait for the registry."""
        found = self._thread(thread)
        found.forget.update(forget or {})
        for message in messages:
            self._is_written_again(found, message, author)
        self._check_later(found)

    @staticmethod
    def _is_written_again(thread: _Thread, message: Message, author: ThreadAuthor | None) -> bool:
        """Whether it is a text of an erased author. If its erasure was requested before, the write may be stored after the search."""
        erased = thread.erased.get(message.key)
        if erased is None:
            return False
        # A text without an id of its own may also be said by somebody else.
        is_own = message.id != _derived_id(thread.id, message.role, message.content)
        known = erased.message.author
        is_theirs = author is not None and known is not None and author["external_id"] == known["external_id"]
        if not (is_own or is_theirs or message.key in thread.loaded):
            return False
        if erased.is_requested:
            erased.is_written_again = True
        return True

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

    def settle(self, timeout: float | None = None) -> None:
        """Waits until everything was reported, and what was written of erased threads is deleted.

        A backlog that exceeds the limit of the token takes several minutes. It waits at most `timeout` seconds, if given.

        :raises RegistryUnreachable, RegistryProblem: if the registry still does not answer, or still refuses something
        :raises TimeoutError: if something still waits after `timeout` seconds; it is reported later
        """
        if timeout is None:
            self._settle(math.inf)
            return
        deadline = time.monotonic() + timeout
        refusals: list[Exception] = []

        def settle() -> None:
            try:
                self._settle(deadline)
            except Exception as error:  # noqa: BLE001 - raised below, in the thread of the application
                refusals.append(error)

        # A daemon, because the last call may take longer.
        worker = threading.Thread(target=copy_context().run, args=(settle,), daemon=True)
        worker.start()
        worker.join(timeout)
        if worker.is_alive() or (refusals and isinstance(refusals[0], _TimePassed)):
            self._retry_later()
            raise TimeoutError("The time limit passed before everything was reported.")
        if refusals:
            raise refusals[0]

    def _settle(self, deadline: float) -> None:
        """:raises _TimePassed: before the first call after the deadline"""
        refusal: RegistryProblem | None = None
        for thread in list(self._threads.values()):
            # A thread that has nothing to report needs no call.
            while thread.is_waiting:
                try:
                    result = self._attempt(thread, insists=True, deadline=deadline)
                except ErasedThread as error:
                    if thread.is_unchecked:
                        raise RuntimeError("What was written of an erased thread could not be deleted.") from error
                    break
                if isinstance(result, _TimePassed):
                    raise result
                if not isinstance(result, _LimitReached):
                    refusal = result or refusal
                    # A text may have been written again during its erasure.
                    if result is None and thread.has_erasures:
                        continue
                    break
                time.sleep(max(0.0, min(self._limited_until, deadline) - time.monotonic()))
        # What is being erased needs no report.
        if refusal is not None and not isinstance(refusal, Fenced):
            raise refusal

    async def asettle(self, timeout: float | None = None) -> None:
        """As `settle`, for applications with asyncio: a deletion may need the loop."""
        await asyncio.to_thread(self.settle, timeout)

    async def aclose(self, timeout: float | None = None) -> None:
        await asyncio.to_thread(self.close, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Reports what is waiting, and ends the retries. `timeout` as for `settle`: then what still waits is reported after a restart."""
        try:
            self.settle(timeout)
        finally:
            with self._lock:
                if self._timer is not None:
                    self._timer.cancel()
                    self._timer = None

    def _thread(self, id: str) -> _Thread:
        now = time.monotonic()
        with self._lock:
            if id not in self._threads and len(self._threads) >= _THREADS:
                # A thread that was reported is registered again when it is used again. A run needs what its thread contained before it.
                for one in self._threads.values():
                    if now - one.used_at < _IDLE:
                        break
                    if not one.is_waiting:
                        del self._threads[one.id]
                        break
            found = self._threads.setdefault(id, _Thread(id))
            found.used_at = now
            self._threads.move_to_end(id)
            return found

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

    def _attempt(
        self, thread: _Thread, insists: bool = False, deadline: float = math.inf
    ) -> RegistryProblem | _LimitReached | None:
        """Reports the thread. A fault of the registry is noted, and reported later.

        If it `insists`, the fault is raised, and what was refused is sent again at once. Returns the last refusal of a message, which says
        nothing about the thread, or that the limit was reached.

        :raises ErasedThread: if the thread may not be written; what was written of it is deleted
        """
        with thread.turn:
            try:
                refusal = self._send(thread, insists, deadline)
                thread.is_unchecked = False
                self._is_down = False
            except _TimePassed as error:
                return error
            except _LimitReached as error:
                thread.is_unchecked = True
                self._retry_later()
                return error
            except (Erased, Fenced) as error:
                self._is_down = False
                thread.waiting.clear()
                thread.pointers.clear()
                thread.erased.clear()
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
                        self._refused_at.append(time.monotonic())
                thread.is_unchecked = True
                self._on_problem(error, thread.id)
                self._retry_later()
                if insists:
                    raise
                return None
            if refusal is not None or thread.has_reports:
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

    def _send(self, thread: _Thread, insists: bool, deadline: float) -> RegistryProblem | _LimitReached | None:
        """Sends what is waiting. Returns the last refusal of a message, which keeps waiting, or that the limit was reached."""
        _require_time(deadline)
        is_answered = thread.conversation is None
        if thread.conversation is None:
            thread.conversation = self._register(thread)
        is_due = insists or time.monotonic() >= thread.paused_until
        refusal: RegistryProblem | None = None
        limit: _LimitReached | None = None
        try:
            if thread.has_earlier and thread.waiting:
                self._read_earlier(thread, thread.conversation)
                is_answered = True
            for message in list(thread.waiting.values()):
                if is_due or not message.is_refused:
                    _require_time(deadline)
                    refusal = self._send_message(thread, thread.conversation, message, insists) or refusal
                    is_answered = True
            for erased in list(thread.erased.values()):
                if erased.is_waiting and (insists or time.monotonic() >= erased.due_at):
                    _require_time(deadline)
                    refusal = self._erase_text(thread, thread.conversation, erased, deadline) or refusal
                    is_answered = True
            for pointer in list(thread.pointers):
                source, value = pointer
                # A message that was noted meanwhile, or refused, is sent with a later report, and then its pointers.
                if source not in thread.waiting:
                    _require_time(deadline)
                    self._send_pointer(thread, thread.conversation, thread.other_ids.get(source, source), value)
                    is_answered = True
                    thread.pointers.remove(pointer)
        except _TimePassed:
            raise
        except _LimitReached as error:
            # The fence needs an answer also while reports wait.
            limit = error
        if not is_answered:
            self._require_living(thread.id, thread.conversation)
        if refusal is not None:
            self._pause(thread)
        elif not thread.waiting:
            thread.refusals = 0
        return limit or refusal

    def _call(self, kind: Literal["read", "write"], send: Callable[[], Any], *, urgent: bool = False) -> Any:
        """A call within the limit of the token. Urgent calls may use what is reserved.

        :raises _LimitReached: instead of a call that the registry would refuse
        """
        if kind not in self._answered:
            with self._first[kind]:
                if kind not in self._answered:
                    try:
                        result = send()
                    except RegistryProblem:
                        self._answered.add(kind)
                        raise
                    self._answered.add(kind)
                    return result
        with self._lock:
            window = self.client.rate_window(kind)
            if window is not None:
                now = time.monotonic()
                self._refused_at = [at for at in self._refused_at if now - at < _REFUSALS_COUNT]
                share = min(_MOST_RESERVED, _RESERVED * 2.0 ** len(self._refused_at))
                kept = 0 if urgent else min(window.limit - 1, math.ceil(window.limit * share))
                if window.remaining - self._sending[kind] <= kept:
                    # After the end of the window, only calls without an answer count.
                    if self._limited_until <= now:
                        self._limited_until = max(window.reset_at, now) + _SPREAD * random.uniform(1, 2)
                    raise _LimitReached
            self._sending[kind] += 1
        try:
            return send()
        finally:
            with self._lock:
                self._sending[kind] -= 1

    def _read_earlier(self, thread: _Thread, conversation: str) -> None:
        """Compares what waits with what an earlier process reported, page by page.

        Each report of a known message would be refused, and counted. What is not found, such as a message of somebody whose processing is
        restricted, is reported.
        """
        # The messages of a state are among the newest. Reading on would cost more than reporting.
        most_pages = 1 + math.ceil(2 * len(thread.waiting) / _PAGE)
        sought: dict[str, list[tuple[Message, str, int]]] = {}
        # Ids of messages, with the parts that were not found.
        missing: dict[str, set[int]] = {}
        # What was found of a message whose own id the registry could store: that this id belongs to another text, and the text under its
        # derived id. Without the former, the latter may be an equal text of somebody else.
        of_others: set[str] = set()
        derived: dict[str, str] = {}
        for message in list(thread.waiting.values()):
            for at, content in enumerate(_parts(_UNSTORABLE.sub("\ufffd", message.content))):
                missing.setdefault(message.id, set()).add(at)
                ids = {_derived_id(thread.id, message.role, content)}
                if at == 0 and _ID.fullmatch(message.id):
                    ids.add(message.id)
                for id in ids:
                    sought.setdefault(id, []).append((message, content, at))
        query: Any = {"limit": _PAGE, "order": "newest"}

        def read_page() -> Any:
            return self.client.get(
                "/api/projects/{projectId}/conversations/{conversationId}/messages",
                params={"projectId": self.project, "conversationId": conversation},
                query=query,
                timeout=_CALL,
                retries=0,
            )

        for _ in range(most_pages):
            try:
                found = self._call("read", read_page)
            except NotFound:
                # The conversation was erased, or the token has lost its access.
                self._require_living(thread.id, conversation)
                return
            for stored in found["data"]:
                for message, content, at in sought.get(stored["id"], ()):
                    # Both ids may have the same text.
                    if message.id not in missing:
                        continue
                    is_own = stored["id"] == message.id
                    if content == stored["content"] and message.role == stored["role"]:
                        if at == 0 and not is_own:
                            derived[message.id] = stored["id"]
                        else:
                            missing[message.id].discard(at)
                    elif is_own:
                        of_others.add(message.id)
                    is_elsewhere = message.id in of_others or _ID.fullmatch(message.id) is None
                    if 0 in missing[message.id] and is_elsewhere and message.id in derived:
                        thread.other_ids[message.id] = derived[message.id]
                        missing[message.id].discard(0)
                    if not missing[message.id]:
                        del missing[message.id]
                        self._is_reported(thread, message)
            query["cursor"] = found["next_cursor"]
            if query["cursor"] is None or not missing:
                break
        thread.has_earlier = False

    @staticmethod
    def _is_reported(thread: _Thread, message: Message) -> None:
        thread.known.setdefault(message.id, []).append(hash(message.content))
        thread.waiting.pop(message.id, None)

    def _send_message(
        self, thread: _Thread, conversation: str, message: Message, insists: bool
    ) -> RegistryProblem | None:
        """Reports a message, in parts if it is long. Returns why the registry does not store it yet: then it keeps waiting."""
        for at, content in enumerate(_parts(_UNSTORABLE.sub("\ufffd", message.content))):
            # A report of many parts takes several windows of the limit.
            if at < message.sent_parts:
                continue
            is_own = at == 0 and _ID.fullmatch(message.id) is not None
            part = replace(
                message,
                id=message.id if is_own else _derived_id(thread.id, message.role, content),
                content=content,
            )
            was_refused = message.is_refused
            message.is_refused = True
            try:
                outcome = self._post(thread, conversation, part)
            except _LimitReached:
                message.is_refused = was_refused
                raise
            # Somebody else may have written what the thread contained before, and only the recorder of their run knew them. It keeps waiting.
            if isinstance(outcome, Erased) and part.author is not None and not message.is_loaded:
                self._on_problem(outcome, thread.id)
                due_at = 0.0 if insists else time.monotonic() + self._retry_every
                thread.erased[message.key] = _ErasedText(message, due_at=due_at)
                for pointer in [one for one in thread.pointers if one[0] == message.id]:
                    thread.pointers.remove(pointer)
                thread.waiting.pop(message.id, None)
                return None
            if isinstance(outcome, RegistryProblem):
                if message.told != outcome.code:
                    self._on_problem(outcome, thread.id)
                message.told = outcome.code
                return outcome
            if at == 0 and outcome != message.id:
                thread.other_ids[message.id] = outcome
            message.sent_parts = at + 1
        self._is_reported(thread, message)
        return None

    def _erase_text(
        self, thread: _Thread, conversation: str, erased: _ErasedText, deadline: float
    ) -> RegistryProblem | None:
        """Reports a text of an erased author as the agent's, in parts if it is long, and erases it from everything that contains it.

        Returns why the registry does not store it yet.
        """
        if erased.is_done:
            erased.begin_again()
        message = erased.message
        for at, content in enumerate(_parts(_UNSTORABLE.sub("\ufffd", message.content))):
            if at < erased.erased_parts:
                continue
            _require_time(deadline)
            part = replace(
                message,
                id=f"{erased.id}-{at}",
                content=content,
                author=None,
                is_erased=True,
                stored_as=message.key[0] if at == 0 else None,
            )
            outcome = self._post(thread, conversation, part)
            # The id is in use or erased if an answer was lost: no other report has it.
            if isinstance(outcome, RegistryProblem) and not isinstance(outcome, (Erased, IdInUse)):
                if message.told != outcome.code:
                    self._on_problem(outcome, thread.id)
                message.told = outcome.code
                return outcome
            if not isinstance(outcome, Erased):
                erased.is_requested = True
                self._erase(conversation, part.id)
            erased.erased_parts = at + 1
        erased.is_done = True
        erased.erasures += 1
        erased.due_at = time.monotonic() + self._retry_every * min(2**erased.erasures, _LONGEST_PAUSE)
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
        if message.is_erased and message.stored_as is not None and _ID.fullmatch(message.stored_as) is not None:
            # So that a short text is found too.
            body["provenance"] = [{"store": "checkpoints", "ref": message.stored_as}]
        has_email = author is not None and "email" in author and author["external_id"] not in self._without_email
        if author is not None:
            body["author"] = {name: value for name, value in author.items() if name != "email" or has_email}
        try:
            self._call(
                "write",
                lambda: self.client.post(
                    "/api/projects/{projectId}/conversations/{conversationId}/messages",
                    params={"projectId": self.project, "conversationId": conversation},
                    body=body,
                    timeout=_CALL,
                    retries=0,
                ),
            )
            return message.id
        except IdInUse as error:
            if message.is_erased:
                return error
            return self._post_other_text(thread, conversation, message, error.document.get("same"))
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
                if message.is_erased:
                    return error
                self._on_problem(error, thread.id)
                # If this process reported another text under the id, the registry does not know the words of this one.
                if message.id not in thread.known or thread.knows(message):
                    return message.id
                own_id = _derived_id(thread.id, message.role, message.content)
                return self._post(thread, conversation, replace(message, id=own_id))
            if not _is_of_message(error):
                raise
            return error

    @staticmethod
    def _refuses_email(error: RegistryProblem) -> bool:
        if isinstance(error, Invalid):
            return _is_about(error, "email")
        return isinstance(error, (Conflict, Forbidden))

    def _post_other_text(
        self, thread: _Thread, conversation: str, message: Message, is_same: object
    ) -> str | RegistryProblem:
        """The id is in use: for the same text, which was reported before, or for another one, and then this text gets an id of its own.

        `is_same` is what the registry says about the texts, also if it does not show the stored one.
        """
        own_id = _derived_id(thread.id, message.role, message.content)
        if own_id == message.id or is_same is True:
            return message.id
        if is_same is False and not message.is_loaded:
            return self._post(thread, conversation, replace(message, id=own_id))
        try:
            found = self._call(
                "read",
                lambda: self.client.get(
                    "/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}",
                    params={"projectId": self.project, "conversationId": conversation, "messageId": message.id},
                    timeout=_CALL,
                    retries=0,
                ),
            )["data"]
            if message.content in (found["content"], *(one["content"] for one in found["former"])):
                return message.id
        except RegistryProblem as error:
            if error.status == 429 or error.status >= 500:
                raise
            # Whose words these are is not known: under another name, agents could read them.
            if isinstance(error, Restricted) and is_same is False:
                return error
            is_being_erased = isinstance(error, NotFound) and "audit_id" in error.document
            if isinstance(error, (Restricted, Erased)) or is_being_erased:
                return message.id
        return self._post(thread, conversation, replace(message, id=own_id))

    def _is_erased_author(self, author: ThreadAuthor) -> bool:
        try:
            self._call(
                "write",
                lambda: self.client.post(
                    "/api/projects/{projectId}/participants",
                    params={"projectId": self.project},
                    body={"external_id": author["external_id"]},
                    timeout=_CALL,
                    retries=0,
                ),
                urgent=True,
            )
        except Erased:
            return True
        except (Restricted, Fenced):
            pass
        return False

    def _erase(self, conversation: str, message: str) -> None:
        """Erases a message of an erased author from everything that contains it. The erasure continues after the answer."""
        with suppress(NotFound, Erased, Fenced):
            self._call(
                "write",
                lambda: self.client.delete(
                    "/api/projects/{projectId}/conversations/{conversationId}/messages/{messageId}",
                    params={"projectId": self.project, "conversationId": conversation, "messageId": message},
                    timeout=_ERASURE,
                    retries=0,
                ),
                urgent=True,
            )

    def _send_pointer(self, thread: _Thread, conversation: str, source: str, value: Value) -> None:
        entry: Any = {"source_id": source, "store": value.store, "ref": value.ref}
        if value.place is not None:
            entry["place"] = value.place
        try:
            self._call(
                "write",
                lambda: self.client.post(
                    "/api/projects/{projectId}/provenance",
                    params={"projectId": self.project},
                    body={"entries": [entry]},
                    timeout=_CALL,
                    retries=0,
                ),
            )
        except (NotFound, Erased, Fenced) as error:
            self._require_living(thread.id, conversation)
            self._on_problem(error, thread.id)
        except Invalid as error:
            # A name that the registry cannot store. The words of the value are known.
            self._on_problem(error, thread.id)

    def _register(self, registered: _Thread) -> str:
        """Makes the thread a conversation with the same id.

        If the thread has checkpoints and its id contains none of ours, it may belong to somebody else: then its messages are reported to a
        conversation of another id, so that an erasure finds their words, and a manager of the organization has to name the thread.
        """
        thread = registered.id
        for conversation in (thread, f"recorded-{thread}"):
            try:
                self._create(thread, conversation)
                return conversation
            except IdInUse:
                # An earlier run of the application registered it.
                self._require_living(thread, conversation)
                registered.has_earlier = True
                return conversation
            except Invalid as error:
                if conversation != thread:
                    raise
                self._on_problem(error, thread)
        return thread

    def _create(self, thread: str, conversation: str) -> None:
        self._call(
            "write",
            lambda: self.client.post(
                "/api/projects/{projectId}/conversations",
                params={"projectId": self.project},
                body={"id": conversation, "title": self._title(thread)[:200], "threads": [conversation]},
                timeout=_CALL,
                retries=0,
            ),
            urgent=True,
        )

    def _require_living(self, thread: str, conversation: str) -> None:
        """:raises Erased, Fenced:"""
        try:
            self._call(
                "read",
                lambda: self.client.get(
                    "/api/projects/{projectId}/conversations/{conversationId}",
                    params={"projectId": self.project, "conversationId": conversation},
                    timeout=_CALL,
                    retries=0,
                ),
                urgent=True,
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
            wait = max(self._retry_every, max(self._not_before, self._limited_until) - time.monotonic())
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
                if time.monotonic() < max(self._not_before, self._limited_until):
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

"""The synchronous and the asynchronous client of one registry. Both follow the same rules."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
import threading
import time
import uuid
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import httpx
from typing_extensions import Self

from ._calls import AsyncCalls, SyncCalls
from .problems import RegistryProblem, RegistryUnreachable, problem_classes

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
# A longer wait is left to the caller: the registry may ask for a minute, or for a day.
_LONGEST_RETRY_AFTER = 60.0
# Codes of 409 that end by themselves. All others need a decision.
_PASSING = frozenset({"idempotency_in_progress", "fenced"})


# Two responses of the same window state its end in whole seconds, and arrive at different times.
_SAME_WINDOW = 2.0


class RateWindow(NamedTuple):
    """A limit of the token, as the latest responses state it.

    `remaining` requests can be sent before `reset_at`, in seconds of `time.monotonic()`.
    """

    limit: int
    remaining: int
    reset_at: float


class _Windows:
    """The limits of a token. GET counts against the limit of reads, everything else against that of writes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, RateWindow] = {}
        # Requests without a response yet.
        self._open = {"read": 0, "write": 0}

    @contextmanager
    def sending(self, method: str) -> Iterator[None]:
        kind = "read" if method == "GET" else "write"
        with self._lock:
            self._open[kind] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open[kind] -= 1

    def get(self, kind: str) -> RateWindow | None:
        with self._lock:
            known = self._known.get(kind)
            if known is None:
                return None
            remaining = known.limit if time.monotonic() >= known.reset_at else known.remaining
            return known._replace(remaining=max(0, remaining - self._open[kind]))

    def note(self, response: httpx.Response) -> None:
        """Reads `RateLimit: "write";r=29;t=60` and `RateLimit-Policy: "write";q=30;w=60`."""
        status = response.status_code
        # Responses that no limit counted name another one: those without a valid token, and those of a server that is busy.
        is_counted = response.is_success or (401 < status < 500 and status != 421)
        window = re.match(r'"(read|write)";r=(\d+);t=(\d+)', response.headers.get("ratelimit", ""))
        policy = re.search(r";q=(\d+)", response.headers.get("ratelimit-policy", ""))
        if window is None or policy is None or not is_counted:
            return
        now = time.monotonic()
        found = RateWindow(int(policy[1]), int(window[2]), now + int(window[3]))
        # Nor those of an operation without a limit. A response that was counted leaves less than the limit.
        if found.remaining >= found.limit:
            return
        with self._lock:
            known = self._known.get(window[1])
            # Responses arrive in any order.
            if known is not None and now < known.reset_at and found.reset_at < known.reset_at + _SAME_WINDOW:
                found = known._replace(remaining=min(known.remaining, found.remaining))
            self._known[window[1]] = found


class _Call(NamedTuple):
    """One call, which may be sent several times."""

    method: str
    url: str
    headers: dict[str, str]
    content: Any
    timeout: float
    retries: int


def _texts(part: Mapping[str, Any] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in (part or {}).items():
        if value is not None:
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _seconds_of(response: httpx.Response) -> float | None:
    header: str | None = response.headers.get("retry-after")
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except ValueError:
            return None
        seconds = (at - datetime.now(timezone.utc)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _problem_of(response: httpx.Response) -> RegistryProblem:
    """The problem in a response that was read. A proxy, or another server, sends none."""
    try:
        document = json.loads(response.text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("code"), str):
        status = response.status_code
        document = {"title": f"HTTP {status}", "status": status, "code": "unknown"}
        request_id = response.headers.get("x-request-id")
        if request_id is not None:
            document["instance"] = request_id
    found = problem_classes.get(document["code"], RegistryProblem)
    return found(document, _seconds_of(response))


def _is_passing(problem: RegistryProblem) -> bool:
    status = problem.status
    return status in (408, 429) or status >= 500 or (status == 409 and problem.code in _PASSING)


def _pause_before(attempt: int, error: RegistryProblem | RegistryUnreachable) -> float | None:
    """Seconds before the next attempt, or None if the caller should decide."""
    backoff = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**attempt) * random.uniform(0.5, 1.0)
    if isinstance(error, RegistryUnreachable):
        return backoff
    if not _is_passing(error):
        return None
    if error.retry_after is None:
        return backoff
    # With jitter, so that many clients do not return at the same moment.
    return None if error.retry_after > _LONGEST_RETRY_AFTER else error.retry_after + random.uniform(0, _FIRST_PAUSE)


def _body_of(response: httpx.Response) -> Any:
    return json.loads(response.text) if response.text else None


class _Rules:
    """What both clients share: how a call becomes a request, and which failure is repeated."""

    def __init__(self, url: str, token: str | None, timeout: float, retries: int) -> None:
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._retries = retries
        self._windows = _Windows()

    def rate_window(self, kind: Literal["read", "write"]) -> RateWindow | None:
        """What the token may still send in the present window of a minute; None before the first response."""
        return self._windows.get(kind)

    def _call(
        self,
        method: str,
        path: str,
        given: Mapping[str, Any],
        upload: tuple[Any, str] | None = None,
    ) -> _Call:
        unknown = set(given) - {"params", "query", "headers", "body", "timeout", "retries", "idempotency_key"}
        if unknown:
            raise TypeError(f"unexpected arguments: {', '.join(sorted(unknown))}")
        named = _texts(given.get("params"))
        missing = [name for name in re.findall(r"\{(\w+)\}", path) if not named.get(name)]
        if missing:
            raise TypeError(f"params lacks {', '.join(missing)}")
        filled = re.sub(r"\{(\w+)\}", lambda found: quote(named[found[1]], safe=""), path)
        query = httpx.QueryParams(_texts(given.get("query")))
        headers = _texts(given.get("headers"))
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        key = given.get("idempotency_key") or (str(uuid.uuid4()) if method == "POST" else None)
        if key is not None:
            headers["Idempotency-Key"] = key
        content: Any = None
        retries = given.get("retries", self._retries)
        if upload is not None:
            content, headers["Content-Type"] = upload
            # A stream can be read once: after a fault, the caller decides.
            if not isinstance(content, (bytes, str)):
                retries = 0
        elif given.get("body") is not None:
            content, headers["Content-Type"] = json.dumps(given["body"]), "application/json"
        return _Call(
            method=method,
            url=f"{self._url}{filled}{f'?{query}' if query else ''}",
            headers=headers,
            content=content,
            timeout=given.get("timeout", self._timeout),
            retries=retries,
        )

    def _unreachable(self, error: Exception) -> RegistryUnreachable:
        problem = RegistryUnreachable(f"{self._url} did not answer.")
        problem.__cause__ = error
        return problem


class KnowledgePulse(_Rules, SyncCalls):
    """A typed client of one registry.

    `timeout` is the longest silence in seconds of each attempt, `retries` how often a failed request is repeated. `http` is your own
    client, for proxies, tracing or tests; you close it yourself.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 2,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(url, token, timeout, retries)
        self._http = http or httpx.Client()
        self._owns_http = http is None

    def close(self) -> None:
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def stream(self, path: str, **given: Any) -> Iterator[Iterator[bytes]]:
        """The body as it arrives, for exports and downloads.

        A connection that breaks while the body arrives raises RegistryUnreachable.
        """
        response = self._attempts(self._call("GET", path, given), streams=True)
        try:
            yield self._chunks(response)
        finally:
            response.close()

    def upload(self, path: str, content: bytes | str | Iterable[bytes], *, media_type: str, **given: Any) -> Any:
        """Sends a body as it is. A stream is sent once: after a fault, the caller decides."""
        return _body_of(self._attempts(self._call("POST", path, given, (content, media_type))))

    def _json(self, method: str, path: str, given: dict[str, Any]) -> Any:
        return _body_of(self._attempts(self._call(method, path, given)))

    def _pages(self, path: str, given: dict[str, Any]) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            query = {**given.get("query", {}), **({} if cursor is None else {"cursor": cursor})}
            page = self._json("GET", path, {**given, "query": query})
            yield from page["data"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    def _chunks(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    def _attempts(self, call: _Call, streams: bool = False) -> httpx.Response:
        attempt = 0
        while True:
            failed: RegistryProblem | RegistryUnreachable
            try:
                request = self._http.build_request(
                    call.method, call.url, headers=call.headers, content=call.content, timeout=call.timeout
                )
                with self._windows.sending(call.method):
                    response = self._http.send(request, stream=streams)
                    self._windows.note(response)
                if response.is_success:
                    return response
                if streams:
                    try:
                        response.read()
                    finally:
                        response.close()
                failed = _problem_of(response)
            except httpx.TransportError as error:
                failed = self._unreachable(error)
            wait = _pause_before(attempt, failed) if attempt < call.retries else None
            if wait is None:
                raise failed
            attempt += 1
            time.sleep(wait)


class AsyncKnowledgePulse(_Rules, AsyncCalls):
    """The same client for asyncio. Cancelling the task ends a call."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 2,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(url, token, timeout, retries)
        self._http = http or httpx.AsyncClient()
        self._owns_http = http is None

    async def aclose(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.aclose()

    @asynccontextmanager
    async def stream(self, path: str, **given: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        """The body as it arrives, for exports and downloads.

        A connection that breaks while the body arrives raises RegistryUnreachable.
        """
        response = await self._attempts(self._call("GET", path, given), streams=True)
        try:
            yield self._chunks(response)
        finally:
            await response.aclose()

    async def upload(
        self, path: str, content: bytes | str | AsyncIterable[bytes], *, media_type: str, **given: Any
    ) -> Any:
        """Sends a body as it is. A stream is sent once: after a fault, the caller decides."""
        return _body_of(await self._attempts(self._call("POST", path, given, (content, media_type))))

    async def _json(self, method: str, path: str, given: dict[str, Any]) -> Any:
        return _body_of(await self._attempts(self._call(method, path, given)))

    async def _pages(self, path: str, given: dict[str, Any]) -> AsyncIterator[Any]:
        cursor: str | None = None
        while True:
            query = {**given.get("query", {}), **({} if cursor is None else {"cursor": cursor})}
            page = await self._json("GET", path, {**given, "query": query})
            for one in page["data"]:
                yield one
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    async def _chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.TransportError as error:
            raise self._unreachable(error) from error

    async def _attempts(self, call: _Call, streams: bool = False) -> httpx.Response:
        attempt = 0
        while True:
            failed: RegistryProblem | RegistryUnreachable
            try:
                request = self._http.build_request(
                    call.method, call.url, headers=call.headers, content=call.content, timeout=call.timeout
                )
                with self._windows.sending(call.method):
                    response = await self._http.send(request, stream=streams)
                    self._windows.note(response)
                if response.is_success:
                    return response
                if streams:
                    try:
                        await response.aread()
                    finally:
                        await response.aclose()
                failed = _problem_of(response)
            except httpx.TransportError as error:
                failed = self._unreachable(error)
            wait = _pause_before(attempt, failed) if attempt < call.retries else None
            if wait is None:
                raise failed
            attempt += 1
            await asyncio.sleep(wait)

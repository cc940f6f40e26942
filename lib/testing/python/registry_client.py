"""The Python clients behind one set of functions, for the contract that clients of every language follow."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import knowledgepulse
from knowledgepulse import AsyncKnowledgePulse, KnowledgePulse, RegistryProblem, RegistryUnreachable
from serving import serve

FAULTS = (RegistryProblem, RegistryUnreachable, TypeError)


def outcome_of(error: Exception) -> dict[str, Any]:
    failed: dict[str, Any] = {"class": type(error).__name__, "message": str(error)}
    if isinstance(error, RegistryProblem):
        failed |= {
            "code": error.code,
            "status": error.status,
            "requestId": error.request_id,
            "issues": error.issues,
            "retryAfter": error.retry_after,
        }
    return {"failed": failed}


def parts(client: dict[str, Any]) -> dict[str, Any]:
    return {"url": client["url"], "token": client.get("token")}


def call(client: dict[str, Any], method: str, path: str, given: dict[str, Any], upload: Any = None) -> dict[str, Any]:
    try:
        with KnowledgePulse(**parts(client)) as kp:
            if method == "PAGES":
                return {"result": list(kp.pages(path, **given))}
            if method == "STREAM":
                with kp.stream(path, **given) as chunks:
                    return {"result": b"".join(chunks).decode()}
            if method == "UPLOAD":
                pieces = (upload["text"].encode(),)
                content = (one for one in pieces) if upload["streams"] else pieces[0]
                return {"result": kp.upload(path, content, media_type=upload["mediaType"], **given)}
            return {"result": getattr(kp, method.lower())(path, **given)}
    except FAULTS as error:
        return outcome_of(error)


async def acall(
    client: dict[str, Any], method: str, path: str, given: dict[str, Any], upload: Any = None
) -> dict[str, Any]:
    try:
        async with AsyncKnowledgePulse(**parts(client)) as kp:
            if method == "PAGES":
                return {"result": [one async for one in kp.pages(path, **given)]}
            if method == "STREAM":
                async with kp.stream(path, **given) as chunks:
                    return {"result": b"".join([chunk async for chunk in chunks]).decode()}
            if method == "UPLOAD":

                async def pieces():
                    yield upload["text"].encode()

                content = pieces() if upload["streams"] else upload["text"].encode()
                return {"result": await kp.upload(path, content, media_type=upload["mediaType"], **given)}
            return {"result": await getattr(kp, method.lower())(path, **given)}
    except FAULTS as error:
        return outcome_of(error)


def calls(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All requests at the same time."""
    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(lambda request: call(**request), requests))


async def acalls(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(await asyncio.gather(*(acall(**request) for request in requests)))


async def cancelled(url: str) -> bool:
    """Whether cancelling the task ends a call at once, and the client works afterwards."""
    async with AsyncKnowledgePulse(url) as kp:
        task = asyncio.create_task(kp.get("/v1/skills"))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False


def codes() -> dict[str, str]:
    return {code: found.__name__ for code, found in knowledgepulse.problem_classes.items()}


serve({"calls": calls, "acalls": acalls, "cancelled": cancelled, "codes": codes})

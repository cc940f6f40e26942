"""Serves the functions of a test program: reads one JSON request per line from stdin and writes one JSON answer per line to stdout.

A request is {"id", "name", "args"}, an answer {"id", "result"} or {"id", "error"}. The program ends when stdin closes,
so that it never outlives the test that started it. Functions may be coroutines.
"""

import asyncio
import inspect
import json
import os
import sys
import traceback
from typing import Any, Callable


def serve(functions: dict[str, Callable[..., Any]]) -> None:
    # What libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer: dict[str, Any] = {"id": request["id"]}
        try:
            result = functions[request["name"]](**request["args"])
            answer["result"] = loop.run_until_complete(result) if inspect.isawaitable(result) else result
            text = json.dumps(answer)
        except Exception:
            text = json.dumps({"id": request["id"], "error": traceback.format_exc()})
        answers.write(text + "\n")
        answers.flush()

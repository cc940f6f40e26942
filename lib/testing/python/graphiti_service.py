"""The two addresses of Graphiti's REST service that the client of TypeScript calls, as its server has them.

Messages are accepted at once and stored later, one after the other.
"""

import asyncio
import json
import logging
import os
import threading
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"

from graphiti_core import Graphiti
from graphiti_core.nodes import EpisodeType
from graphiti_models import Embedder, Model, Ranker, known
from serving import serve

logging.disable(logging.WARNING)
loop = asyncio.new_event_loop()
running: dict[str, Any] = {}
faults: list[str] = []


def within(work: Any) -> Any:
    return asyncio.run_coroutine_threadsafe(work, loop).result()


async def add(group: str, message: dict[str, Any]) -> None:
    try:
        await running["graphiti"].add_episode(
            group_id=group,
            name=message["name"],
            episode_body=f"{message['role']}({message['role_type']}): {message['content']}",
            reference_time=datetime.fromisoformat(message["timestamp"]),
            source=EpisodeType.message,
            source_description=message["source_description"],
        )
    except Exception as error:  # noqa: BLE001 - the service goes on with the next message
        faults.append(repr(error))


async def work() -> None:
    while True:
        await add(*await running["queue"].get())
        running["queue"].task_done()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/messages":
            for message in body["messages"]:
                loop.call_soon_threadsafe(running["queue"].put_nowait, (body["group_id"], message))
            self.answer(202, {"message": "Messages added to processing queue", "success": True})
        elif self.path == "/search":
            found = within(
                running["graphiti"].search(body["query"], group_ids=body["group_ids"], num_results=body["max_facts"])
            )
            names = ("uuid", "name", "fact", "valid_at", "invalid_at", "created_at", "expired_at")
            facts = [{name: getattr(edge, name) for name in names} for edge in found]
            self.answer(200, {"facts": facts})
        else:
            self.answer(404, {"detail": "Not Found"})

    def answer(self, status: int, body: Any) -> None:
        data = json.dumps(body, default=lambda value: value.isoformat()).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def start(graph: dict[str, str], names: dict[str, int]) -> str:
    known.update(names)
    threading.Thread(target=loop.run_forever, daemon=True).start()

    async def opened() -> None:
        running["queue"] = asyncio.Queue()
        running["graphiti"] = Graphiti(**graph, llm_client=Model(), embedder=Embedder(), cross_encoder=Ranker())
        await running["graphiti"].build_indices_and_constraints()
        running["worker"] = loop.create_task(work())

    within(opened())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def rest() -> list[str]:
    """Waits until every message is stored. Returns what failed."""

    async def stored() -> None:
        await running["queue"].join()

    within(stored())
    return faults


serve({one.__name__: one for one in (start, rest)})

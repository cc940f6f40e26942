"""The official Python client of the Model Context Protocol."""

import json
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from serving import serve


async def calls(url: str, token: str, mode: str, requests: list[dict[str, Any]]) -> dict[str, Any]:
    """The tools of a server, and the results of calls in one session."""
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            listed = await client.list_tools()
            results = []
            for one in requests:
                result = await client.call_tool(one["name"], one["arguments"])
                text = result.content[0].text if result.is_error else "{}"
                code = json.loads(text).get("error", {}).get("code")
                results.append({"failed": bool(result.is_error), "code": code, "made": result.structured_content})
            return {"tools": [tool.name for tool in listed.tools], "results": results}


serve({"calls": calls})

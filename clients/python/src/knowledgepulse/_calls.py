"""The methods that a type checker knows from `_calls.pyi`."""

from __future__ import annotations

from typing import Any


class SyncCalls:
    def _json(self, method: str, path: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _pages(self, path: str, given: dict[str, Any]) -> Any:
        raise NotImplementedError

    def get(self, path: str, **given: Any) -> Any:
        return self._json("GET", path, given)

    def post(self, path: str, **given: Any) -> Any:
        return self._json("POST", path, given)

    def put(self, path: str, **given: Any) -> Any:
        return self._json("PUT", path, given)

    def patch(self, path: str, **given: Any) -> Any:
        return self._json("PATCH", path, given)

    def delete(self, path: str, **given: Any) -> Any:
        return self._json("DELETE", path, given)

    def pages(self, path: str, **given: Any) -> Any:
        return self._pages(path, given)


# At run time, the asynchronous methods differ only in what `_json` and `_pages` return.
AsyncCalls = SyncCalls

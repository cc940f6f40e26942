"""Generates the types of the client from the registry's OpenAPI document.

datamodel-code-generator writes `types.py`, one class for each schema, request and response. `_calls.pyi` then connects each
address with its classes, so that a type checker knows what a call takes and returns. Neither file is committed.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # `python hatch_build.py` needs only the generator.
    BuildHookInterface = object  # type: ignore[assignment,misc]

here = Path(__file__).parent
document = here.parent.parent / "openapi.json"
package = here / "src" / "knowledgepulse"
methods = ("get", "post", "put", "patch", "delete")


def write_types() -> None:
    options = ["--input-file-type", "openapi", "--output-model-type", "typing.TypedDict"]
    options += ["--openapi-scopes", "schemas", "paths", "parameters", "--use-operation-id-as-name"]
    options += ["--enum-field-as-literal", "all", "--use-standard-collections", "--use-union-operator"]
    options += ["--target-python-version", "3.10", "--disable-timestamp", "--formatters", "builtin"]
    command = [sys.executable, "-m", "datamodel_code_generator", "--input", str(document), "--output"]
    subprocess.run([*command, str(package / "types.py"), *options], check=True)


def fields_of(module: ast.Module) -> dict[str, dict[str, str]]:
    """The fields of each class, with those that it inherits. Aliases have none."""
    found: dict[str, dict[str, str]] = {}
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            fields: dict[str, str] = {}
            for base in node.bases:
                fields.update(found.get(ast.unparse(base), {}))
            for one in node.body:
                if isinstance(one, ast.AnnAssign):
                    fields[ast.unparse(one.target)] = ast.unparse(one.annotation)
            found[node.name] = fields
        elif isinstance(node, ast.AnnAssign):
            found[ast.unparse(node.target)] = {}
        elif isinstance(node, ast.Assign):
            found[ast.unparse(node.targets[0])] = {}
    return found


class Operation:
    """What the overloads of one operation need."""

    def __init__(
        self, path: str, method: str, raw: dict[str, Any], api: dict[str, Any], known: dict[str, dict[str, str]]
    ):
        self.path, self.method = path, method
        name = raw["operationId"][0].upper() + raw["operationId"][1:]
        given = [self._resolved(one, api) for one in raw.get("parameters", [])]
        self.path_names = [one["name"] for one in given if one["in"] == "path"]
        query = f"{name}ParametersQuery"
        self.query = query if query in known else None
        self.needs_query = any(one["in"] == "query" and one.get("required") for one in given)
        body = raw.get("requestBody", {})
        schema = body.get("content", {}).get("application/json", {}).get("schema")
        self.body = self._type(schema, f"{name}Request", known)
        self.needs_body = bool(body.get("required"))
        results: list[str] = []
        for status, response in raw["responses"].items():
            if not status.startswith("2"):
                continue
            resolved = self._resolved(response, api)
            answer = resolved.get("content", {}).get("application/json", {}).get("schema")
            results.append(self._type(answer, f"{name}Response", known) or "None")
        self.result = " | ".join(dict.fromkeys(results)) or "None"
        self.item: str | None = None
        data = known.get(self.result.removeprefix("types."), {}).get("data", "")
        if method == "get" and data.startswith("list["):
            item = data[5:-1]
            self.item = f"types.{item}" if item in known else item

    @staticmethod
    def _resolved(one: dict[str, Any], api: dict[str, Any]) -> Any:
        if "$ref" not in one:
            return one
        _, *keys = one["$ref"].split("/")
        found: Any = api
        for key in keys:
            found = found[key]
        return found

    @staticmethod
    def _type(schema: dict[str, Any] | None, inline: str, known: dict[str, dict[str, str]]) -> str | None:
        if schema is None:
            return None
        name = schema["$ref"].split("/")[-1] if "$ref" in schema else inline
        return f"types.{name}" if name in known else "Any"

    def arguments(self) -> list[str]:
        found: list[str] = []
        if self.path_names:
            found.append(f"params: {params_class(self.path_names)}")
        if self.query:
            found.append(f"query: types.{self.query}{'' if self.needs_query else ' = ...'}")
        if self.body:
            found.append(f"body: {self.body}{'' if self.needs_body else ' = ...'}")
        return (
            [f"path: Literal[{json.dumps(self.path)}]", "*", *found, "**options: Unpack[Options]"]
            if found
            else [
                f"path: Literal[{json.dumps(self.path)}]",
                "**options: Unpack[Options]",
            ]
        )


def params_class(names: list[str]) -> str:
    return "".join(part[0].upper() + part[1:] for name in names for part in name.split("_")) + "Params"


def write_calls() -> None:
    api = json.loads(document.read_text())
    known = fields_of(ast.parse((package / "types.py").read_text()))
    operations = [
        Operation(path, method, raw, api, known)
        for path, by_method in api["paths"].items()
        for method, raw in by_method.items()
        if method in methods
    ]
    lines = ["# Generated by hatch_build.py from openapi.json."]
    lines += ["from collections.abc import AsyncIterator, Iterator, Mapping"]
    lines += ["from typing import Any, Literal, TypedDict, overload", "", "from typing_extensions import Unpack", ""]
    lines += ["from . import types", "", "class Options(TypedDict, total=False):"]
    lines += [
        "    timeout: float",
        "    retries: int",
        "    idempotency_key: str",
        "    headers: Mapping[str, str]",
        "",
    ]
    for names in sorted({tuple(one.path_names) for one in operations if one.path_names}):
        lines += [f"class {params_class(list(names))}(TypedDict):", *[f"    {name}: str" for name in names], ""]
    for kind, prefix in (("SyncCalls", "def"), ("AsyncCalls", "async def")):
        lines.append(f"class {kind}:")
        for method in methods:
            for one in operations:
                if one.method == method:
                    arguments = ", ".join(["self", *one.arguments()])
                    lines += ["    @overload", f"    {prefix} {method}({arguments}) -> {one.result}: ..."]
        iterator = "Iterator" if kind == "SyncCalls" else "AsyncIterator"
        for one in operations:
            if one.item:
                arguments = ", ".join(["self", *one.arguments()])
                lines += ["    @overload", f"    def pages({arguments}) -> {iterator}[{one.item}]: ..."]
        lines.append("")
    (package / "_calls.pyi").write_text("\n".join(lines))


class GenerateTypes(BuildHookInterface):  # type: ignore[type-arg,misc]
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # A source distribution contains the generated files, and no document.
        if document.exists():
            write_types()
            write_calls()


if __name__ == "__main__":
    write_types()
    write_calls()

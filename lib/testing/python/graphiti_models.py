"""A model, an embedder and a cross-encoder for graphiti-core whose answers depend on nothing but the prompt.

The model quotes the current and previous messages in summaries and facts, as real models do at times.
"""

import hashlib
import json
import re

from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.llm_client.client import LLMClient

# The place of a type in the prompts; 0 is Entity.
known: dict[str, int] = {}


def section(prompt: str, *tags: str) -> str:
    found = [re.search(f"<{tag}>(.*?)</{tag}>", prompt, re.S) for tag in tags]
    return "\n".join(one.group(1).strip() for one in found if one)


def quoted(text: str) -> str:
    """The messages in a list of JSON strings or objects, the last ones."""
    strings = [json.loads(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', text)]
    return " ".join(one for one in strings if len(one) > 25)[-500:]


def names_in(text: str) -> list[str]:
    return [name for name in known if name.lower() in text.lower()]


def pairs(names: list[str]) -> list[tuple[str, str]]:
    return list(zip(names, names[1:]))


class Model(LLMClient):
    def __init__(self) -> None:
        super().__init__(None)

    async def _generate_response(self, *_args, **_more):
        raise NotImplementedError

    async def generate_response(self, messages, response_model=None, *_args, **_more):
        prompt = messages[-1].content
        kind = response_model.__name__ if response_model else ""
        current = section(prompt, "CURRENT MESSAGE", "CURRENT_MESSAGE", "CURRENT MESSAGES", "TEXT")
        previous = quoted(section(prompt, "PREVIOUS MESSAGES", "PREVIOUS_MESSAGES"))
        entities = [{"name": name, "entity_type_id": known[name]} for name in names_in(current)]

        def edges(names: list[str]) -> list[dict]:
            return [
                {
                    "source_entity_name": one,
                    "target_entity_name": other,
                    "relation_type": "SPEAKS_OF",
                    "fact": f"{one} and {other}: {current[-300:]} Before that: {previous}",
                }
                for one, other in pairs(names)
            ]

        if kind == "ExtractedEntities":
            return {"extracted_entities": entities}
        if kind == "ExtractedEdges":
            given = section(prompt, "ENTITIES")
            return {"edges": edges([name for name in names_in(current) if name in given])}
        if kind == "CombinedExtraction":
            return {"extracted_entities": entities, "edges": edges([one["name"] for one in entities])}
        if kind == "NodeResolutions":
            ids = re.findall(r'"id": ?(\d+)[^{}]*?"name": ?"([^"]*)"', section(prompt, "ENTITIES"))
            return {
                "entity_resolutions": [
                    {"id": int(id), "name": name, "duplicate_candidate_id": -1} for id, name in ids
                ]
            }
        if kind == "EdgeDuplicate":
            return {"duplicate_facts": [], "contradicted_facts": []}
        if kind == "EdgeTimestamps":
            return {"valid_at": None, "invalid_at": None}
        if kind == "BatchEdgeTimestamps":
            return {"timestamps": []}
        if kind == "SummarizedEntities":
            said = quoted(section(prompt, "MESSAGES", "EPISODES"))
            given = section(prompt, "ENTITIES")
            return {"summaries": [{"name": name, "summary": f"{name}: {said}"} for name in known if name in given]}
        if kind in ("EntitySummary", "Summary", "SagaSummary"):
            return {"summary": quoted(prompt)[-500:]}
        if kind == "SummaryDescription":
            return {"description": quoted(prompt)[-200:] or "A community"}
        return {}


class Embedder(EmbedderClient):
    """Different texts get different vectors, so that none counts as a duplicate of another."""

    async def create(self, input_data):
        text = input_data if isinstance(input_data, str) else str(input_data)
        digest = hashlib.sha512(text.encode()).digest()
        return [byte / 127.5 - 1 for byte in digest]

    async def create_batch(self, input_data_list):
        return [await self.create(one) for one in input_data_list]


class Ranker(CrossEncoderClient):
    async def rank(self, query, passages):
        return [(passage, 1.0 - at / 1000) for at, passage in enumerate(passages)]

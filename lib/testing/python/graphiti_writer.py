"""Writes conversations into Neo4j with graphiti-core, as applications do. Only the model, the embedder and the cross-encoder are fake.

The fake model quotes the current and previous messages in summaries and facts, as real models do at times. Its answers depend on nothing
but the prompt.
"""

import asyncio
import hashlib
import json
import logging
import os
import re
from datetime import datetime, timedelta, timezone

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"

from graphiti_core import Graphiti
from graphiti_core.cross_encoder.client import CrossEncoderClient
from graphiti_core.embedder.client import EmbedderClient
from graphiti_core.llm_client.client import LLMClient
from graphiti_core.nodes import EntityNode, EpisodeType
from graphiti_core.utils.bulk_utils import RawEpisode
from graphiti_core.utils.maintenance.community_operations import build_community
from pydantic import BaseModel

from serving import serve


# Neo4j notes every property that no node has yet.
logging.getLogger("neo4j").setLevel(logging.ERROR)


class Person(BaseModel):
    """A person."""


class Company(BaseModel):
    """A company."""


entity_types = {"Person": Person, "Company": Company}
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


async def write(uri: str, user: str, password: str, names: dict[str, int], groups: list[dict]) -> list[dict]:
    """Each group: {group, mode: message|turn|bulk, messages: [{id, speaker, text}]}. Returns the messages of each episode, by group."""
    known.update(names)
    graphiti = Graphiti(uri, user, password, llm_client=Model(), embedder=Embedder(), cross_encoder=Ranker())
    try:
        await graphiti.build_indices_and_constraints()
        written = []
        for one in groups:
            written.append({"group": one["group"], "episodes": await write_group(graphiti, **one)})
        return written
    finally:
        await graphiti.close()


async def write_group(graphiti: Graphiti, group: str, mode: str, messages: list[dict]) -> list[dict]:
    size = 2 if mode == "turn" else 1
    bodies = [messages[at : at + size] for at in range(0, len(messages), size)]
    start = datetime(2026, 1, 2, 10, 0, tzinfo=timezone.utc)

    def about(at: int) -> dict:
        return {
            "name": f"{mode} {at}",
            "source_description": "chat",
            "source": EpisodeType.message,
            "reference_time": start + timedelta(minutes=at),
        }

    def text(body: list[dict]) -> str:
        return "\n".join(f"{one['speaker']}: {one['text']}" for one in body)

    if mode == "bulk":
        raw = [RawEpisode(content=text(body), **about(at)) for at, body in enumerate(bodies)]
        results = (
            await graphiti.add_episode_bulk(raw, group_id=group, entity_types=entity_types, saga="Talk")
        ).episodes
        uuids = {one.name: one.uuid for one in results}
        found = [uuids[about(at)["name"]] for at in range(len(bodies))]
    else:
        found = []
        for at, body in enumerate(bodies):
            result = await graphiti.add_episode(
                episode_body=text(body), group_id=group, entity_types=entity_types, saga="Talk", **about(at)
            )
            found.append(result.episode.uuid)
    await write_community(graphiti, group)
    return [{"uuid": uuid, "messages": [one["id"] for one in body]} for uuid, body in zip(found, bodies)]


async def write_community(graphiti: Graphiti, group: str) -> None:
    """One community of all entities, as `build_communities` writes it. Its own search for clusters never ends on some small graphs."""
    entities = await EntityNode.get_by_group_ids(graphiti.driver, [group])
    node, edges = await build_community(graphiti.llm_client, entities)
    await node.generate_name_embedding(graphiti.embedder)
    await node.save(graphiti.driver)
    for edge in edges:
        await edge.save(graphiti.driver)


serve({"write": write})

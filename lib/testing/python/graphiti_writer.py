"""Writes conversations into Neo4j with graphiti-core, as applications do. Only the model, the embedder and the cross-encoder are fake."""

import logging
import os
from datetime import datetime, timedelta, timezone

os.environ["GRAPHITI_TELEMETRY_ENABLED"] = "false"

from graphiti_core import Graphiti
from graphiti_core.nodes import EntityNode, EpisodeType
from graphiti_core.utils.bulk_utils import RawEpisode
from graphiti_core.utils.maintenance.community_operations import build_community
from pydantic import BaseModel

from graphiti_models import Embedder, Model, Ranker, known
from serving import serve


# Neo4j notes every property that no node has yet.
logging.getLogger("neo4j").setLevel(logging.ERROR)


class Person(BaseModel):
    """A person."""


class Company(BaseModel):
    """A company."""


entity_types = {"Person": Person, "Company": Company}
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

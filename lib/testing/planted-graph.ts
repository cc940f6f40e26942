import type { Community, Entity, Episode, Fact, Mentioning, Saga } from '#lib/stores/graph/graph.ts'

/** A graph as Graphiti would have written it: what tests and measurements plant. */
export interface PlantedGraph {
  group: string
  episodes: Episode[]
  entities: Entity[]
  facts: Fact[]
  mentions: Mentioning[]
  communities: Community[]
  sagas: Saga[]
  next: { from: string; to: string }[]
}
/** A second face of a graph, beside what erases from it. */
export interface GraphPlanting {
  /** Adds it; every entity, fact and community gets an embedding. */
  plant(graph: PlantedGraph): Promise<void>
  /** All of a group, everything in the order of its uuid (mentions and links in the order of both ends), with the uuids of what has an embedding. */
  standing(group: string): Promise<PlantedGraph & { embedded: string[] }>
}

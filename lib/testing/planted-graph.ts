import type { Community, Entity, Episode, Fact, Mentioning, Saga } from '#lib/stores/graph/graph.ts'

/** A graph as Graphiti would write it, for tests and measurements. */
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
/** Writes and reads graphs independently of the erasing code. */
export interface GraphPlanting {
  /** Adds the graph, with an embedding for every entity, fact and community. */
  plant(graph: PlantedGraph): Promise<void>
  /** All records of a group, sorted by uuid (mentions and links by both ends), with the uuids of rows that have an embedding. */
  standing(group: string): Promise<PlantedGraph & { embedded: string[] }>
}

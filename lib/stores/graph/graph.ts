import type { Transaction } from '#lib/kernel/context.ts'
import type { StoreState } from '../store-state.ts'

/**
 * A temporal knowledge graph in Graphiti's model (graphiti-core, `nodes.py`, `edges.py`): episodes mention entities, facts relate
 * entities and name the episodes that they came from, communities gather entities, sagas gather episodes. Everything belongs to a group.
 * Embeddings are never read: they are kept, or blanked with the text that they were made of.
 */
export interface Episode {
  uuid: string
  name: string
  /** message, text, json */
  source: string
  sourceDescription: string
  content: string
  /** Facts that it led to, as Graphiti noted them; bulk ingestion leaves it empty, so that nothing may rest on it alone. */
  entityEdges: string[]
  createdAt: Date
  validAt: Date
  metadata: Record<string, unknown>
}
export interface Entity {
  uuid: string
  name: string
  /** Without `Entity`, which all have. */
  labels: string[]
  summary: string
  attributes: Record<string, unknown>
  createdAt: Date
}
/** `(source)-[:RELATES_TO]->(target)` */
export interface Fact {
  uuid: string
  source: string
  target: string
  name: string
  fact: string
  /** What it came from; the first is what its wording came from. */
  episodes: string[]
  attributes: Record<string, unknown>
  createdAt: Date
  validAt: Date | null
  invalidAt: Date | null
  expiredAt: Date | null
  referenceTime: Date | null
}
export interface Community {
  uuid: string
  name: string
  summary: string
  members: string[]
}
export interface Saga {
  uuid: string
  name: string
  summary: string
  firstEpisode: string | null
  lastEpisode: string | null
  /** Up to when its summary was made. */
  summarizedTo: Date | null
  episodes: string[]
}
export interface Mentioning {
  episode: string
  entity: string
}
/** Episodes of a group, everything that they touch, and as much of what surrounds it as a judgement needs. */
export interface Neighbourhood {
  group: string
  /** Those of the episodes asked for that there are. */
  episodes: Episode[]
  /** Mentioned by one of them. */
  entities: Entity[]
  /** Of these entities: how many episodes other than those asked for mention each; absent: none. */
  otherMentions: ReadonlyMap<string, number>
  /** Facts that name one of the episodes, and all facts at one of the entities that is mentioned nowhere else or may go as personal. */
  facts: Fact[]
  /** Facts of the group whose `invalidAt` or `expiredAt` lies where one of the episodes may have set it: candidates alone. */
  ended: Fact[]
  /** That have one of the entities as a member. */
  communities: Community[]
  /** That have one of the episodes, or point at one. */
  sagas: Saga[]
  /** `NEXT_EPISODE` to or from one of the episodes. */
  next: { from: string; to: string }[]
}

/** What becomes of a neighbourhood; what is not named stays as it is. Ids. */
export interface GraphChange {
  deleteEpisodes: string[]
  deleteEntities: string[]
  deleteFacts: string[]
  /** Sources come off; `isBlanked`: the wording, its embedding and its attributes too, because it came from an erased source. */
  changeFacts: {
    uuid: string
    episodes: string[]
    isBlanked: boolean
    validity?: { invalidAt: Date | null; expiredAt: Date | null }
  }[]
  /** Summary, its embedding and, where they were built on an erased source, attributes. */
  blankEntities: string[]
  blankCommunities: string[]
  /** Also resets pointers and watermark. */
  changeSagas: { uuid: string; firstEpisode: string | null; lastEpisode: string | null }[]
  /** In place of the links of the deleted episodes. */
  link: { from: string; to: string }[]
  /** Names that are looked for in what stays in the group; `redact`: taken out there. */
  names: string[]
  redact: boolean
}
/** Where a name stands in what stays. */
export interface NamePlace {
  kind: 'fact' | 'entity' | 'episode' | 'community' | 'saga'
  id: string
  field: string
}
export interface GraphOutcome {
  episodesDeleted: number
  entitiesDeleted: number
  /** Left, without their link to the deleted episodes. */
  entitiesOrphaned: number
  factsDeleted: number
  factsChanged: number
  /** Summaries, communities and sagas that were blanked or reset. */
  blanked: number
  mentions: NamePlace[]
}
/** One port, two implementations: tables of our database, and Neo4j. Both pass lib/stores/graph/suite. */
export interface GraphStore {
  provider: 'postgresql' | 'neo4j'
  state(): Promise<StoreState>
  /** Without locks: for a plan. */
  read(group: string, episodes: readonly string[], tx: Transaction): Promise<Neighbourhood>
  /**
   * In one transaction: locks the mentioned entities in the order of their uuid, reads, asks `judge`, which is pure, and does what it says;
   * every `entityEdges` that names a deleted fact loses it. A key that was used before gives its former outcome and does nothing.
   */
  change(
    group: string,
    episodes: readonly string[],
    key: string,
    judge: (found: Neighbourhood) => GraphChange,
    tx: Transaction,
  ): Promise<GraphOutcome>
  /** Forgets the outcomes under keys that begin so. */
  forget(keyPrefix: string): Promise<void>
  /** Those of the uuids that are episodes, with the group of each: of any group, so that a foreign one is recognised. */
  groupsOf(episodes: readonly string[], tx: Transaction): Promise<ReadonlyMap<string, string>>
  /** Episodes of a group, some at once in the order of their uuid, after one: for a search where no pointer exists. */
  episodes(group: string, after: string, most: number, tx: Transaction): Promise<Episode[]>
  /** How much in the group still names these episodes, in any node, edge or property, found by scanning the group: 0 when nothing does. */
  residue(group: string, episodes: readonly string[]): Promise<number>
  /** Everything of a group, in portions; gives how much went this time, 0 when nothing is left. */
  dropGroup(group: string, most: number, tx: Transaction): Promise<number>
  countGroup(group: string, tx: Transaction): Promise<number>
  close(): Promise<void>
}

/** A graph as Graphiti would have written it: what tests, the demo and measurements plant. */
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

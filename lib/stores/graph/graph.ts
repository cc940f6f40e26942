import type { Transaction } from '#lib/kernel/context.ts'
import type { StoreState } from '../store-state.ts'
import type { Listed, ListedKind } from './listing.ts'

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
/** A community as one judges it: its members among the entities of the neighbourhood, and how many it has beside them, up to {@link mostCounted}. */
export interface Gathered {
  uuid: string
  name: string
  summary: string
  members: string[]
  others: number
}
/** A saga as one judges it: of its episodes some, and how many it has beside those that were asked for, up to {@link mostCounted}. */
export interface Told extends Saga {
  others: number
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
  /** Mentioned by one of them; also the ends of facts that name one of them, where no episode mentions them and no fact of another does. */
  entities: Entity[]
  /** Of these entities: how many episodes other than those asked for mention each, counted up to {@link mostCounted}; absent: none. */
  otherMentions: ReadonlyMap<string, number>
  /** That name one of the episodes, or name none and stand in the `entityEdges` of one. What else stands at an entity goes with it unread: at a company that may be a million facts. */
  facts: Fact[]
  /** Which of the episodes mentions which of the entities. */
  mentions: Mentioning[]
  /**
   * Facts of the group whose validity one of the episodes may have ended: those asked for as ended; those that the episodes' `entityEdges`
   * name beside their own (Graphiti notes what it ended there); those whose `expiredAt` lies in the {@link endedWithin} after an episode's
   * `createdAt`. At most {@link mostEnded} of the last kind.
   */
  ended: Fact[]
  /** That have one of the entities as a member, or a community that has. */
  communities: Gathered[]
  /** That have one of the episodes, or point at one. Of their episodes: those asked for, and their neighbours along `next`. */
  sagas: Told[]
  /** `NEXT_EPISODE` to or from one of the episodes. */
  next: { from: string; to: string }[]
}

/** What becomes of a neighbourhood; what is not named stays as it is. Ids. */
export interface GraphChange {
  deleteEpisodes: string[]
  /** With every fact at them, and every link. */
  deleteEntities: string[]
  deleteFacts: string[]
  /** Episodes whose content changes: the erased words are cut out. */
  editEpisodes: { uuid: string; content: string }[]
  /** Of episodes that remain. */
  removeMentions: Mentioning[]
  /**
   * The episodes of `without` come off their sources, and their attributes go: Graphiti writes those anew with every source. `isBlanked`: the
   * wording came from an erased source, so `fact` becomes empty, `name` `RELATES_TO`, its embedding and `referenceTime` go.
   */
  changeFacts: { uuid: string; isBlanked: boolean; without: string[] }[]
  /** After everything else. Records that no longer exist are skipped. */
  editTexts: TextEdit[]
  /** Neither end by an erased episode any more: `invalidAt` and `expiredAt` go. */
  restoreFacts: string[]
  /** Summary and attributes become empty; the name stays, and so does its embedding. */
  blankEntities: string[]
  /** Name and summary become empty, and the embedding goes. */
  blankCommunities: string[]
  /** Whose last members go. */
  deleteCommunities: string[]
  /** Whose last episodes go. */
  deleteSagas: string[]
  /** Summary becomes empty, watermarks go, pointers are set. */
  changeSagas: { uuid: string; firstEpisode: string | null; lastEpisode: string | null }[]
  /** In place of the links of the deleted episodes. */
  link: { from: string; to: string }[]
  /**
   * Names that are looked for in what stays in the group, whole words, whatever their case, through an index; `redact`: {@link redacted}
   * stands there instead, and an embedding of what was changed goes.
   */
  names: string[]
  redact: boolean
  /** What it does not change, and what its numbers do not tell: given back with the outcome, also by a repetition. */
  told: {
    /** Of {@link deleteEntities}: because they are about a person, and because nothing else mentions them. */
    personal: number
    unreferenced: number
    /** Facts whose validity an erased episode may have ended, with no proof: they stay as they are. Ids. */
    unproven: string[]
    /** Further counts, by name. */
    counts: Record<string, number>
    /** Further ids, by name: for counts whose things another page may meet again. */
    met: Record<string, string[]>
    /** Ids that such counts no longer contain. */
    gone: string[]
  }
}
/** A text property of a node or relationship. `link`: a relationship that is no fact. `node`: one outside of Graphiti's model. */
export interface GraphText {
  kind: NamePlace['kind'] | 'link' | 'node'
  /** Its uuid; of a link or node, what the store calls it. */
  id: string
  /** `name`, `summary`, `fact`, `content`, `sourceDescription`, `metadata`, or `attributes.<key>`. */
  field: string
  text: string
}
/** `text`: what the property becomes; null removes it. The embedding of a changed text is removed. */
export interface TextEdit extends Omit<GraphText, 'text'> {
  text: string | null
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
  /** Those of them, and those that are left without their link to the deleted episodes. Ids. */
  deleted: string[]
  orphaned: string[]
  factsDeleted: number
  factsChanged: number
  /** Summaries, communities and sagas that were blanked or reset. */
  blanked: number
  /** Episodes whose content changed. */
  episodesCut: number
  /** Texts of {@link GraphChange.editTexts} that changed. */
  textsEdited: number
  mentions: NamePlace[]
  told: GraphChange['told']
}
/** One port, two implementations: tables of our database, and Neo4j. Both pass lib/stores/graph/suite. */
export interface GraphStore {
  provider: 'postgresql' | 'neo4j'
  state(): Promise<StoreState>
  /** Without locks: for a plan. */
  read(group: string, episodes: readonly string[], tx: Transaction, ended?: readonly string[]): Promise<Neighbourhood>
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
    ended?: readonly string[],
  ): Promise<GraphOutcome>
  /** Forgets the outcomes under keys that begin so. */
  forget(keyPrefix: string): Promise<void>
  /** Those of the uuids that are episodes, with the group of each: of any group, so that a foreign one is recognised. */
  groupsOf(episodes: readonly string[], tx: Transaction): Promise<ReadonlyMap<string, string>>
  /** How many facts stand at each of the entities, by entity; for a plan. */
  factsAt(group: string, entities: readonly string[], tx: Transaction): Promise<ReadonlyMap<string, number>>
  /** Everything of one kind in a group, some at once in the order of their uuids, after one: for an export. */
  list(group: string, kind: ListedKind, after: string, most: number, tx: Transaction): Promise<Listed[]>
  /** Episodes of a group, some at once in the order of their uuid, after one: for a search where no pointer exists. */
  episodes(group: string, after: string, most: number, tx: Transaction): Promise<Episode[]>
  /**
   * Episodes of a group that may name one of the ids in their name, source description or metadata, or whose content may have one of the
   * texts; rather too many than too few, through an index.
   */
  search(
    group: string,
    sought: { ids: readonly string[]; texts: readonly string[] },
    tx: Transaction,
  ): Promise<Episode[]>
  /** Those of the uuids that are episodes of the group, without what surrounds them. */
  episodesById(group: string, episodes: readonly string[], tx: Transaction): Promise<Episode[]>
  /**
   * Every text of the group, some at a time: each property of each node and relationship that is a string or contains strings, except ids,
   * labels, timestamps and embeddings. Reads records, and no full-text index. Yields each property as it is stored. `mayMatter` is asked
   * about each of them, or about several at once, separated by punctuation; texts that do not matter are left out.
   */
  texts(group: string, tx: Transaction, mayMatter?: (text: string) => boolean): Promise<AsyncIterable<GraphText[]>>
  /** Texts of records that may contain one of the phrases, through full-text indexes: rather too many than too few. */
  textsWith(group: string, phrases: readonly string[], tx: Transaction): Promise<GraphText[]>
  /** Entities that no episode mentions and that have no fact: a partial ingestion leaves them. */
  bareEntities(group: string, tx: Transaction): Promise<{ uuid: string; name: string }[]>
  /**
   * Generated texts of the episodes that were written after one of these while it was in the model's context: the next {@link contextWindow}
   * by `validAt` and by `createdAt`. Their entities' and facts' texts.
   */
  exposedTexts(group: string, episodes: readonly string[], tx: Transaction): Promise<GraphText[]>
  /**
   * How much in the group still names these episodes, in any node, edge or property, found by other ways than erasing takes: 0 when nothing
   * does. `asIds`: those whose ids may be words, or another thing's; they count where an episode's id stands, and in no text.
   */
  residue(group: string, episodes: readonly string[], asIds?: readonly string[]): Promise<number>
  /** Everything of a group, in portions; gives how much went this time, 0 when nothing is left. */
  dropGroup(group: string, most: number, tx: Transaction): Promise<number>
  countGroup(group: string, tx: Transaction): Promise<number>
  close(): Promise<void>
}

/** Episodes that Graphiti gives to the model before a new one (graphiti-core, `RELEVANT_SCHEMA_LIMIT`). */
export const contextWindow = 10
/** How long after an episode's `createdAt` its processing may have ended facts, in milliseconds. */
export const endedWithin = 3_600_000
export const mostEnded = 1_000
export const mostCounted = 100
/** What stands where a name was taken out. */
export const redacted = '[erased]'

import type { Transaction } from '#lib/kernel/context.ts'
import type { StoreState } from '../store-state.ts'
import type { ListedElement, ListedKind } from './listing.ts'

/**
 * A temporal knowledge graph in Graphiti's model (graphiti-core, `nodes.py`, `edges.py`). Episodes mention entities. Facts relate
 * entities and list the episodes that they came from. Communities group entities; sagas group episodes. Every record belongs to a group.
 * Embeddings are never read: they are retained, or removed together with the text that they represent.
 */
export interface Episode {
  uuid: string
  name: string
  /** message, text, json */
  source: string
  sourceDescription: string
  content: string
  /** Facts that came from it, as Graphiti recorded them. Bulk ingestion leaves this empty, so it must never be the only evidence. */
  entityEdges: string[]
  createdAt: Date
  validAt: Date
  metadata: Record<string, unknown>
}
export interface Entity {
  uuid: string
  name: string
  /** Without `Entity`, a label of every entity. */
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
  /** The episodes that it came from; the wording came from the first. */
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
  /** The time up to which its summary covers episodes. */
  summarizedTo: Date | null
  episodes: string[]
}
/**
 * A community with what a judgement needs: its members among the neighbourhood's entities, and how many other members it has, counted up
 * to {@link maxCounted}; by a change, up to one.
 */
export interface CommunityNeighbour {
  uuid: string
  name: string
  summary: string
  members: string[]
  others: number
}
/**
 * A saga with what a judgement needs: some of its episodes, and how many it has besides the requested ones, counted up to {@link
 * maxCounted}; by a change, up to one.
 */
export interface SagaNeighbour extends Saga {
  others: number
}
export interface Mentioning {
  episode: string
  entity: string
}
/** Episodes of a group, everything connected to them, and as much of the surroundings as a judgement needs. */
export interface Neighbourhood {
  group: string
  /** The requested episodes that exist. */
  episodes: Episode[]
  /**
   * Entities that one of the episodes mentions. Also the ends of facts that list one of the episodes, if no episode mentions them and no
   * other fact uses them.
   */
  entities: Entity[]
  /** How many other episodes mention each of these entities, counted up to {@link maxCounted}, by a change up to one; absent: none. */
  otherMentions: ReadonlyMap<string, number>
  /**
   * Facts that list one of the episodes, or that list none and are in the `entityEdges` of one. Other facts at an entity are deleted
   * with it without being read: a company may have a million facts.
   */
  facts: Fact[]
  /** Which of the episodes mentions which of the entities. */
  mentions: Mentioning[]
  /**
   * Facts of the group whose validity one of the episodes may have ended: those passed as `ended`; those in the episodes' `entityEdges`
   * besides their own (Graphiti records there what it ended); those whose `expiredAt` is within {@link endedWithin} after an episode's
   * `createdAt`. At most {@link maxEnded} of the last kind.
   */
  ended: Fact[]
  /** Communities with one of the entities, or with such a community, as a member. */
  communities: CommunityNeighbour[]
  /** Sagas that contain one of the episodes, or point to one. Of their episodes: the requested ones, and their neighbours along `next`. */
  sagas: SagaNeighbour[]
  /** `NEXT_EPISODE` to or from one of the episodes. */
  next: { from: string; to: string }[]
}

/** The change to a neighbourhood, as ids. Records that are not listed stay unchanged. */
export interface GraphChange {
  deleteEpisodes: string[]
  /** Including all facts and links of these entities. */
  deleteEntities: string[]
  deleteFacts: string[]
  /** Episodes whose content changes because erased words are removed. */
  editEpisodes: { uuid: string; content: string }[]
  /** For episodes that remain. */
  removeMentions: Mentioning[]
  /**
   * Removes the episodes in `without` from the facts' sources, and their attributes: Graphiti rewrites those with every source.
   * `isBlanked`: the wording came from an erased source, so `fact` becomes empty, `name` becomes `RELATES_TO`, and the embedding and
   * `referenceTime` are removed.
   */
  changeFacts: { uuid: string; isBlanked: boolean; without: string[] }[]
  /** Applied last. Records that no longer exist are skipped. */
  editTexts: TextEdit[]
  /** Facts whose end came from an erased episode: `invalidAt` and `expiredAt` are removed. */
  restoreFacts: string[]
  /** Summary and attributes become empty; the name and its embedding remain. */
  blankEntities: string[]
  /** Name and summary become empty, and the embedding is removed. */
  blankCommunities: string[]
  /** Communities that lose their last members. */
  deleteCommunities: string[]
  /** Sagas that lose their last episodes. */
  deleteSagas: string[]
  /** The summary becomes empty, watermarks are removed, and the pointers are set. */
  changeSagas: { uuid: string; firstEpisode: string | null; lastEpisode: string | null }[]
  /** Replaces the links of the deleted episodes. */
  link: { from: string; to: string }[]
  /**
   * Names to look for in the remaining records of the group: whole words in any case, through an index. With `redact`, {@link redacted}
   * replaces them, and the embedding of a changed text is removed.
   */
  names: string[]
  redact: boolean
  /**
   * Information that does not affect the graph and that the counts do not contain. It is returned with the outcome, also on a
   * repetition.
   */
  told: {
    /** Of {@link deleteEntities}: those about a person, and those that nothing else mentions. */
    personal: number
    unreferenced: number
    /** Ids of facts whose validity an erased episode may have ended, without proof. They stay unchanged. */
    unproven: string[]
    /** Further counts, by name. */
    counts: Record<string, number>
    /** Further ids, by name: for counts of records that another page may meet again. */
    met: Record<string, string[]>
    /** Ids that such counts no longer include. */
    gone: string[]
  }
}
/** A text property of a node or relationship. `link`: a relationship that is not a fact. `node`: a node outside Graphiti's model. */
export interface GraphText {
  kind: NameLocation['kind'] | 'link' | 'node'
  /** Its uuid; for a link or node, the store's internal id. */
  id: string
  /** `name`, `summary`, `fact`, `content`, `sourceDescription`, `metadata`, or `attributes.<key>`. */
  field: string
  text: string
}
/** `text`: the new value of the property; null removes it. An attribute that is not a string is removed. The embedding of a changed text is removed. */
export interface TextEdit extends Omit<GraphText, 'text'> {
  text: string | null
}
/** Where a name occurs in the remaining records. */
export interface NameLocation {
  kind: 'fact' | 'entity' | 'episode' | 'community' | 'saga'
  id: string
  field: string
}
export interface GraphOutcome {
  episodesDeleted: number
  entitiesDeleted: number
  /** Ids of the deleted entities, and of those that remain without their link to the deleted episodes. */
  deleted: string[]
  orphaned: string[]
  factsDeleted: number
  factsChanged: number
  /** Summaries, communities and sagas that were emptied or reset. */
  blanked: number
  /** Episodes whose content changed. */
  episodesCut: number
  /** Texts of {@link GraphChange.editTexts} that changed. */
  textsEdited: number
  mentions: NameLocation[]
  told: GraphChange['told']
}
/** What Graphiti and this installation write themselves: generated ids, and the labels and types of Graphiti. */
const known =
  /^([a-z]{2,8}_[0-9A-Za-z]{22}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|Episodic|Entity|Community|Saga|RELATES_TO|MENTIONS|HAS_MEMBER|HAS_EPISODE|NEXT_EPISODE)$/
/** Of the identifiers of a record, those that an application may have chosen. */
export const identifiersOf = (all: readonly (string | null | undefined)[]): string[] => [
  ...new Set(all.flatMap((one) => (one && !known.test(one) ? [one] : []))),
]
/** Records of a graph with their texts. `id`: the store's internal id. */
export interface GraphPage {
  elements: {
    id: string
    kind: 'node' | 'link'
    group: string | null
    texts: GraphText[]
    /** The identifiers that an application chose: group, uuid, labels, type. */
    identifiers: string[]
    /** Its `created_at`, if it has one. */
    writtenAt: Date | undefined
  }[]
  next: string | null
}
/** A port with two implementations: tables of our database, and Neo4j. Both pass lib/stores/graph/suite. */
export interface GraphStore {
  provider: 'postgresql' | 'neo4j'
  state(): Promise<StoreState>
  /** For a plan: takes no locks. */
  read(group: string, episodes: readonly string[], tx: Transaction, ended?: readonly string[]): Promise<Neighbourhood>
  /**
   * Runs one transaction: locks the mentioned entities in the order of their uuid, reads the neighbourhood, calls `judge` (a pure
   * function) and applies its change. Deleted facts are removed from every `entityEdges`. If the key was used before, it changes nothing
   * and returns the former outcome.
   */
  change(
    group: string,
    episodes: readonly string[],
    key: string,
    decide: (found: Neighbourhood) => GraphChange,
    tx: Transaction,
    ended?: readonly string[],
  ): Promise<GraphOutcome>
  /** Where these names occur in a group, as a change finds them: for a preview, which changes nothing. */
  namesIn(group: string, names: readonly string[], tx: Transaction): Promise<NameLocation[]>
  /** Deletes the outcomes stored under keys with this prefix. */
  forget(keyPrefix: string): Promise<void>
  /** Those of the uuids that are episodes, with their groups. It includes other groups, so that a foreign episode is recognised. */
  groupsOf(episodes: readonly string[], tx: Transaction): Promise<ReadonlyMap<string, string>>
  /** The number of facts at each entity, for a plan. */
  factsAt(group: string, entities: readonly string[], tx: Transaction): Promise<ReadonlyMap<string, number>>
  /** A page of all records of one kind in a group, ordered by uuid, after `after`: for an export. */
  list(group: string, kind: ListedKind, after: string, max: number, tx: Transaction): Promise<ListedElement[]>
  /** A page of the group's episodes, ordered by uuid, after `after`: for a search without pointers. */
  episodes(group: string, after: string, max: number, tx: Transaction): Promise<Episode[]>
  /**
   * Episodes of a group that may contain one of the ids in their name, source description or metadata, or one of the texts in their
   * content. Uses an index and may return false positives, but misses none.
   */
  search(
    group: string,
    sought: { ids: readonly string[]; texts: readonly string[] },
    tx: Transaction,
  ): Promise<Episode[]>
  /** Those of the uuids that are episodes of the group, without their neighbourhood. */
  episodesById(group: string, episodes: readonly string[], tx: Transaction): Promise<Episode[]>
  /**
   * Yields every text of the group in portions: each property of each node and relationship that is a string or contains strings, except
   * ids, labels, timestamps and embeddings. Reads the records themselves, not a full-text index, and yields each property as stored.
   * `mayMatter` is called with one text, or with the JSON of several; texts for which it returns false are omitted. `since`: episodes and
   * facts that were created before are omitted. Texts of other records change long after their creation, so they are always read.
   */
  texts(
    group: string,
    tx: Transaction,
    mayMatter?: (text: string) => boolean,
    since?: Date,
  ): Promise<AsyncIterable<GraphText[]>>
  /** A page of all nodes and relationships, of whichever group, also of records without a group: for a complete reading. `until`: the
   * cursor of a later page, where it ends. */
  page(after: string | null, tx: Transaction, until?: string): Promise<GraphPage>
  /**
   * Replaces texts of records without a group for which `cut` returns another text. Returns how many records changed. Embeddings of a changed
   * record are removed.
   */
  cutUngrouped(
    kind: GraphPage['elements'][number]['kind'],
    ids: readonly string[],
    cut: (text: string) => string | undefined,
  ): Promise<number>
  /** Texts of records that may contain one of the phrases, through full-text indexes. May return false positives. */
  textsWith(group: string, phrases: readonly string[], tx: Transaction): Promise<GraphText[]>
  /** Entities without mentions and facts, left by an incomplete ingestion. */
  bareEntities(group: string, tx: Transaction): Promise<{ uuid: string; name: string }[]>
  /**
   * Texts that a model generated from the episodes that followed one of these within its context window: the next {@link contextWindow}
   * by `validAt` and by `createdAt`. Returns the texts of their entities and facts.
   */
  exposedTexts(group: string, episodes: readonly string[], tx: Transaction): Promise<GraphText[]>
  /**
   * How many nodes, edges and properties of the group still contain these episodes' ids, found by other queries than erasure uses; 0
   * when none does. `asIds`: ids that may be ordinary words or the id of another record. They count only in properties for episode ids,
   * not in texts.
   */
  residue(group: string, episodes: readonly string[], asIds?: readonly string[]): Promise<number>
  /** Deletes everything of a group in portions of at most `max`. Returns how many records were deleted; 0 when nothing remains. */
  dropGroup(group: string, max: number, tx: Transaction): Promise<number>
  countGroup(group: string, tx: Transaction): Promise<number>
  close(): Promise<void>
}

/** The number of previous episodes that Graphiti passes to the model for a new one (graphiti-core, `RELEVANT_SCHEMA_LIMIT`). */
export const contextWindow = 10
/** How long after an episode's `createdAt` its processing may have ended facts, in milliseconds. */
export const endedWithin = 3_600_000
export const maxEnded = 1_000
export const maxCounted = 100
/** Replaces a removed name. */
export const redacted = '[erased]'

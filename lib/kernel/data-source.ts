import type { Transaction } from './context.ts'
import type { ErasureScope, Subject } from './erasure-scope.ts'

/** The id of one item to erase. Ledger and job queue see nothing else of the item. */
export type ItemId = string

/** The time limit in milliseconds of a transaction that searches a store which may contain any amount of unrelated data. */
export const longestSearch = 600_000
/** Whether a data source plans, erases and verifies with the words of the run. It may read all texts of a person. */
export const needsWords = ({ isShared, comparesWords }: Pick<DataSource, 'isShared' | 'comparesWords'>): boolean =>
  isShared === true || comparesWords === true
/** The transaction options for work with a data source. */
export const timeFor = (dataSource: Pick<DataSource, 'isShared' | 'comparesWords'>): { longest?: number } =>
  needsWords(dataSource) ? { longest: longestSearch } : {}

/** A run of erased words in another text: UTF-16 offsets (`end` exclusive) and the run's fingerprint. */
export interface ErasedRunMatch {
  run: number
  start: number
  end: number
  /** Where it was found, if the text had to be decoded: the number of decoded layers, and offsets in the text without them. */
  view?: { depth: number; start: number; end: number } | undefined
  /** Only files of the erased sources have this run. It counts only in places that name their projects: elsewhere, others may have the file. */
  isOfFile?: true
}
/**
 * The words that a run erases, as keyed fingerprints. They exist until the last verification, even after the texts are deleted. They can
 * find the words in other texts but cannot be read.
 */
export interface ErasedWords {
  readonly isEmpty: boolean
  /** Runs of erased texts: six words, 24 characters of a script without spaces, or a whole short text of at least 20 characters. */
  runsIn(text: string): ErasedRunMatch[]
  /** Names, email addresses and telephone numbers of an erased person, of any length. */
  namesIn(text: string): ErasedRunMatch[]
  /** Words that may be a name of the erased person and are too uncertain to remove: single words, initials, cases. Only counted. */
  uncertainIn?(text: string): ErasedRunMatch[]
  /** Whether they have runs that only files have. Undefined: perhaps. */
  readonly hasFiles?: boolean
  /** Whether the runs of the file with this key are among these words, unless others explain them. */
  hasFile?(key: string): boolean
}

/** What a text contains of one erasure, as fingerprints. */
export interface FoundRuns {
  /** Runs of words, email addresses and telephone numbers. */
  runs: Set<number>
  names: Set<number>
  /** Words with a capital that may be a name of the erased person, or of somebody else. */
  uncertain: Set<number>
}

/** Options of an erasure. */
export interface ErasureOptions {
  /**
   * `<run>:<holder>:<page>…`, distinct for every page of every plan. A store outside the database records by this key what it erased, so
   * that a repetition counts the same.
   */
  key: string
  /** Names of the erased person are also removed from other authors' texts. */
  redacts: boolean
  /** Only for runs over projects. */
  words?: ErasedWords
  /** Adds erased texts that only their store has, such as a thread's own version of a message. */
  addWords?(texts: readonly string[]): Promise<void>
  /** How often verification found residue in this run and sent it back. From 1 on, search every text instead of an index. */
  round?: number
  /** The projects of the erased words. The items of a page may not name them, and the rows that do may no longer exist. */
  projects?: readonly string[]
  /**
   * In a repeated round, all items of the step: the rows that tell whose a place is may no longer exist, and the items of a page do not have
   * all ids, projects and organizations.
   */
  all?(): Promise<readonly ItemId[]>
  /**
   * None of its items existed at planning, so missing items are not counted. On all other pages every item counts, because a crash may
   * have occurred between two commits.
   */
  isWatched?: boolean
  now: Date
}
/** What an erasure would do with one record of a store, and why: for the dry run, whose reader may see everything. */
export interface PlannedRecord {
  store: string
  /** `episode`, `fact`, `entity`, `community`, `saga`, `thread`, `key`, `object`, `row` … */
  kind: string
  id: string
  /** The name that people use; content. */
  name: string | null
  verdict: 'deleted' | 'kept' | 'changed' | 'untouched'
  /** `pii`, `unreferenced`, `orphaned`, `source`, `shared`, `foreign_group` … */
  reason: string
  /** Ids, labels and counts that justify the decision: `label:Person`, `pattern:email`, `episodes:2`. */
  evidence: string[]
  /** How it was found: `pointer` (provenance), `thread`, `group`, `text`, `row`. */
  found: string
}
export interface Explained {
  verdicts: PlannedRecord[]
  /**
   * The store does not respond, or a store that held data is switched off: the list shows what is known without it and may be
   * incomplete.
   */
  isPartial: boolean
}

/** What a data source would erase: distinct items, in the same order for the same data. */
export interface Planned {
  items: ItemId[]
  /**
   * Items to look for although nothing exists there yet: late writes may bypass every fence. They are not counted. Verification and the
   * search a day later look for them and erase what they find.
   */
  watched?: ItemId[]
  /**
   * How many items remain because a legal hold covers the record, by the id of the hold. The engine itself handles holds on the subject.
   */
  held: Record<string, number>
  /** Further counts of the items by name, which `erase` will return. */
  results?: Readonly<Record<string, number>>
}

/** Items that need a decision. Plans store them. */
export interface Decisions {
  /** Called for a planned item under legal hold. Returns the item to plan instead, and further counts. Nothing of it is erased. */
  underHold(item: ItemId): { item: ItemId; results: Record<string, number> }
  /** Called first when a run plans again. Returns an item that a hold stopped as undecided, and other items unchanged. */
  resumed(item: ItemId): ItemId
  /**
   * Those of these items whose records are under legal hold, each with the id of the hold. The engine itself handles holds on the
   * subject.
   */
  heldBy(items: readonly ItemId[], tx: Transaction, now: Date): Promise<ReadonlyMap<ItemId, string>>
}

type ErasedAmong = (ids: readonly string[]) => Promise<string[]>
/** A place that a complete reading has read: a thread, an item, a key, an object, a node. */
export interface ReadPlace {
  /** Identifies the place for counts and for an admin. A hash where the name may contain personal data. */
  id: string
  /** The texts of the place. Neighboring texts are lines of one text. */
  texts: readonly string[]
  /** When these texts were written, by the store's own time, version or id; undefined if it records none. Called when words are found. */
  writtenAt?(): Promise<Date | undefined>
  /**
   * When the last of its texts was written, if the place has further texts that it does not list here. By default, {@link writtenAt}. Null:
   * its texts change without a time.
   */
  lastWrittenAt?(): Promise<Date | null | undefined>
  /**
   * The items by which the data source erases words of these projects in the place; none if the place belongs to others. `erasedAmong`
   * returns those of some ids that the erasure deleted, because no row names their places any more.
   */
  itemsOf(projects: readonly string[], tx: Transaction, erasedAmong?: ErasedAmong): Promise<ItemId[]>
  /** The items by which it erases names in this place and in no other one. By default, {@link itemsOf}. */
  itemsOfNames?(projects: readonly string[], tx: Transaction): Promise<ItemId[]>
  /** Whether it belongs to other projects than these, by ids. A name there may be somebody else's. */
  isOfOthers(projects: readonly string[], tx: Transaction): Promise<boolean>
  /** Some of its values cannot be read. They may contain anything. */
  isUnread?: boolean
  /** Its texts are identifiers of an application: nothing here changes them. What is found in them is counted as left. */
  isFixed?: boolean
  /** Its current texts. Only for a store that may not return the same places for the same cursor. */
  again?(): Promise<Pick<ReadPlace, 'texts' | 'isUnread'>>
}
/** A page of a complete reading. */
export interface ReadPage {
  /** Where the next page begins; null after the last page. */
  next: string | null
  /** Number of values of the page that cannot be read, by reason. */
  unread: Readonly<Partial<Record<UnreadReason, number>>>
}
/** Why a value cannot be read: encrypted or of an unknown format, binary, or larger than the bound. */
export const unreadReasons = ['format', 'binary', 'large'] as const
export type UnreadReason = (typeof unreadReasons)[number]

/** What a data source stores about a subject, for the inventory ("what we hold"). */
export interface Holding {
  count: number
  /** When the oldest record was stored. */
  since: Date | null
  /** When the last record expires; null if nothing expires. */
  until: Date | null
}

/**
 * When a data source is erased: derived data first, the rows needed to find other data later, and the account last. Within a stage, the
 * sources of one store run one after the other, in the order in which they are listed.
 */
export const stages = ['derived', 'content', 'agent', 'account'] as const
export type ErasurePhase = (typeof stages)[number]

/**
 * A personal data source: the part of a domain that is responsible for its personal data. Erasure, export and inventory use data sources
 * only, never domains. Verified residue is the proof of erasure; counts are informative.
 */
export interface DataSource {
  /** `<domain>.<what>` */
  name: string
  /** The store of its data, by the name in the receipt: `postgresql`, `files`, `graph`, `cache`, `objects`, `checkpoints`. */
  store: string
  /** Other applications write to its store and bypass the fences: it is searched again a day after the erasure. */
  isShared?: true
  /** It removes erased words from texts of others in our own database: like a shared store, it erases and verifies with the words of the run. */
  comparesWords?: true
  /**
   * The maximum number of items per transaction: fewer if a page of the usual size would take too long, more if each page searches the
   * whole store.
   */
  pageSize?: number
  stage: ErasurePhase
  /** The description of its data in the receipt. */
  what: string
  /** The description in the inventory, if the receipt's describes what happens to the data. */
  held?: string
  /** For the inventory: why we store the data, and for how long. */
  purpose: string
  kept: string
  /** For the inventory: the lawful basis, if it differs from the one under which the subject was registered. */
  basis?: string
  /** The tables it is responsible for. A test reports tables that no data source covers. */
  tables: readonly string[]
  /** What it stores about a subject. */
  inventory(subject: Subject, now: Date): Promise<Holding>
  /** What `erase` will process. It only reads and can be called without erasing. */
  plan(scope: ErasureScope, tx: Transaction, now: Date): Promise<Planned>
  /**
   * Every single record that `erase` would change or leave, for a dry run of a part. It only reads. @throws `unavailable` if nothing can
   * be determined
   */
  explain?(scope: ErasureScope, tx: Transaction, now: Date): Promise<Explained>
  /**
   * In how many places of texts of others an erasure of the subject would remove a name, and in how many it would leave one. It only
   * reads. Undefined if a name of the subject is too new for a preview. @throws `unavailable` if its store does not answer
   */
  namesAhead?(
    scope: ErasureScope,
    tx: Transaction,
    options: Pick<ErasureOptions, 'redacts' | 'now'>,
  ): Promise<{ removed: number; kept: number } | undefined>
  /**
   * Erases some of the planned items, at most one page per call. Safe to repeat. Returns how many items were erased. @throws `unavailable` if its store does not respond or is switched off: that never counts as success
   */
  erase(
    scope: ErasureScope,
    items: readonly ItemId[],
    tx: Transaction,
    options?: ErasureOptions,
  ): Promise<number | Erased>
  decisions?: Decisions
  /** What an item of a finished page counts as: `found` if it remains, `nothing` if another step or a hold has it. By default, `erased`. */
  countsAs?(item: ItemId): 'erased' | 'found' | 'nothing'
  /**
   * How much of the scope or of the planned items remains, found by other queries than those of `erase`; 0 when everything is erased.
   * Records under legal hold do not count. `projects`: those of the erased words, if other pages name them.
   */
  residue(
    scope: ErasureScope,
    items: readonly ItemId[],
    now: Date,
    words?: ErasedWords,
    projects?: readonly string[],
  ): Promise<number>
  /** The projects that items name, for the pages of the same erasure that name none. */
  projectsIn?(items: readonly ItemId[]): string[]
  /**
   * What an erasure cannot search in its store, for the receipt: encrypted, compressed or binary values, embeddings. `results`: the
   * further counts of the run's step.
   */
  notSearched?(results: Readonly<Record<string, number>>): { what: string; count: number | null }[]
  /** What remains of the erased items where nobody can erase it, for the receipt. */
  leftBehind?(count: number, results?: Readonly<Record<string, number>>): { what: string; ground: string }[]
  /**
   * What it retains about a subject on purpose while a legal hold keeps the erasure open, for the receipt. It is deleted when the hold
   * ends.
   */
  whileHeld?(subject: Subject): Promise<{ what: string; ground: string }[]>
  /**
   * Finds late writes by the words of the erased texts, as items, right before the rows that lead to them are deleted. Returns only what
   * exists. It only reads. @throws `unavailable` if its store does not respond
   */
  late?(scope: ErasureScope, tx: Transaction, now: Date): Promise<ItemId[]>
  /**
   * Passes a page of the texts of its store, of any owner, to `visit`, in an order that concurrent writes do not change. A complete
   * reading calls it from the first page (null) to the last one. It only reads, and a page takes a bounded amount of memory. `until`: the
   * cursor of a later page, where it ends. With it, a reading reads exactly the range of a page again, although others stored more in it: then
   * several pages may be necessary. @throws `unavailable` if its store does not respond or is switched off
   */
  read?(after: string | null, visit: (place: ReadPlace) => Promise<void>, until?: string): Promise<ReadPage>
  /**
   * Passes the existing places with these ids to `visit`. Only for a store whose cursors lose their meaning, so that a range cannot be read
   * again: a reading never calls `read` with `until` there.
   */
  readPlaces?(ids: readonly string[], visit: (place: ReadPlace) => Promise<void>): Promise<void>
  /**
   * Those items of a former erasure whose names (a key, a thread, a group: chosen by others) an existing record now uses. That record
   * owns the data under the name, so a later search leaves it.
   */
  reused?(items: readonly ItemId[], tx: Transaction, now: Date): Promise<ItemId[]>
  /**
   * Called when a run is over and none of its pages will be repeated: the store may delete its records of them. Keys begin with the
   * run's id.
   */
  forget?(runId: string): Promise<void>
  /**
   * Of the items to be erased, the ids that exist now and must never be used again, and whether others could have copied the named
   * content. A replay treats these ids as stored, so the list must not contain others.
   */
  identities?(items: readonly ItemId[], tx: Transaction): Promise<{ id: string; wasPublic: boolean }[]>
}

/**
 * A retained record: data about a subject that remains whatever is erased, as proof or because the law requires it. No data source is
 * responsible for it; the inventory lists it.
 */
export interface RetainedRecord {
  /** `<domain>.<what>` */
  name: string
  store: string
  /** Texts for the inventory, like those of a {@link DataSource}: what it is, why it remains, on which ground, and until when. */
  what: string
  purpose: string
  basis: string
  kept: string
  tables: readonly string[]
  /** Its records name an admin who changed something. The receipt lists this, without a number. */
  isAdminAct?: true
  /** Null if it is not counted. */
  inventory(subject: Subject, now: Date): Promise<Holding | null>
}

/** Where the name of an erased person remains in another author's text: the location, never the words. */
export interface Mention {
  store: string
  /** `fact`, `summary`, `episode`, `message`, `document` … */
  kind: string
  id: string
  field: string
  isRedacted: boolean
}
/**
 * Ids of what a page met, and of what it deleted. `isOfParts`: the ids are texts of records ({@link idOfPart}); a deleted record also
 * removes its texts.
 */
interface Tally {
  met: readonly string[]
  gone: readonly string[]
  isOfParts?: boolean
}
/** A tally of ids that a page met and did not delete as records. */
export const tallyOf = (met: Iterable<string>): Tally => ({ met: [...met], gone: [] })
export const idOfPart = (record: string, part: string): string => `${record}\n${part}`
/** The result of a page, for which a single count is not enough. */
export interface Erased {
  count: number
  /**
   * Further counts by name: `entitiesDeleted`, `entitiesOrphaned`, `threads` … For each store, the receipt shows derived texts that were
   * cut, deleted, judged again as if the erased texts had never existed, or retained because another author wrote the words
   * (`derivedCut`, `derivedDeleted`, `derivedDecidedAgain`, `derivedRetained`). It also shows texts that a model generated while an
   * erased episode was in its context, with and without erased words (`exposedMatched`, `exposedUnmatched`), and items whose rows remain
   * without data of the subject (`pseudonymized`).
   */
  results: Record<string, number>
  /**
   * By the name in `results`, for counts of things that several pages may meet: what this page met, and what no longer counts. A run
   * counts each thing once.
   */
  tallies?: Record<string, Tally>
  mentions: Mention[]
  /** How many items remain, because somebody decided so or because another step erases them. */
  retained?: number
  /** For a second search: threads that cannot be rewritten. What was found in them remains. */
  unreadable?: readonly string[]
}
export const erasedOf = (erased: number | Erased): Erased =>
  typeof erased === 'number' ? { count: erased, results: {}, mentions: [] } : erased
/** How many items were erased. */
export const countOf = (erased: number | Erased): number => erasedOf(erased).count

/** The result of a page of records, some of which remain without data of the subject. */
export const erasedRows = ({ deleted, pseudonymized }: { deleted: number; pseudonymized: number }): Erased => ({
  count: deleted + pseudonymized,
  results: pseudonymized > 0 ? { pseudonymized } : {},
  mentions: [],
})

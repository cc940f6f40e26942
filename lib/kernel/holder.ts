import type { Transaction } from './context.ts'

/**
 * Whom a privacy request is about: a person with the agents they own, an agent alone, or a participant of a project alone. Which agents and
 * participations belong to a person is settled when the fence is raised.
 */
export interface Subject {
  account: string | null
  agents: readonly string[]
  /** Participations in projects: those that the account claimed, or the one that the request is about. */
  participants?: readonly string[]
}
export const partKinds = ['project', 'conversation', 'message', 'document'] as const
export type PartKind = (typeof partKinds)[number]
/** A part of a project, or the whole of it. Ids; the conversation where it lies in one or is one. */
export interface Part {
  kind: PartKind
  id: string
  project: string
  conversation: string | null
}
/** What an erasure is about. A domain answers for the scopes that it knows and holds nothing of the others. */
export type Scope = { unit: string } | { skill: string } | { subject: Subject } | { part: Part }

/** provided: what the subject provided (portability, GDPR art. 20); all: derived data too (access, art. 15). */
export type Basis = 'provided' | 'all'

/** Who reads an export, until when its records were stored, and on which basis. */
export interface ExportReader {
  basis: Basis
  /** As the audit log names it. */
  id: string
  /** The agents whose private rows it may see: itself, or those that a person owns. */
  agents: readonly string[]
  organisationId: string | undefined
  isAdmin: boolean
  /** What was stored later is left out. */
  until: Date
}
/** Some records, each as JSON text in a line of its own (RFC 8259 escapes line breaks in strings); no line break at the end. */
export interface ExportPage {
  lines: string
  count: number
}
/** What exports some of what is held on an agent: one part of the document. */
export interface Exporter {
  /** Its name in the document: `knowledge_units`, `skills`, `votes` … */
  part: string
  /** The bases on which it is given out. */
  bases: readonly Basis[]
  /** The tables whose rows it gives out; a test finds a table that nobody does. */
  tables: readonly string[]
  /** Oldest first. Between two pages it holds no connection; who stops reading calls `return`. */
  pages(agentId: string, reader: ExportReader): AsyncIterable<ExportPage>
}

/** What exports some of what is held on a person, beside what is held on the agents that they own: one part of their document. */
export interface PersonExporter extends Omit<Exporter, 'pages'> {
  pages(accountId: string, reader: ExportReader): AsyncIterable<ExportPage>
}

/** How much of what a domain holds is kept how long, in days from when it was stored; null: for ever. */
export interface Periods {
  network: number | null
  org: number | null
  private: number | null
}
/** What a domain lets go by the clock: rows with a visibility, an author, and the time when they were stored. */
export interface Expiring {
  /** `knowledge.units`, …: under this name the deletion log counts it. */
  name: string
  /** What the audit log calls one of them: `knowledge`, … */
  resourceType: string
  /** What one of them is to the deletion log. */
  scope: 'unit' | 'skill'
  /** How many by visibility expired at that time, those that a hold covers apart. */
  due(periods: Periods, now: Date): Promise<Counts>
  /** How many expired at that time and stay because a hold covers them. Reads what is held alone, however much expired. */
  held(periods: Periods, now: Date): Promise<number>
  /**
   * Removes some, oldest first, and never what a hold covers: two members of a WITH list, to which the sweep joins the audit and
   * deletion rows. `due (stored_at)` is what it chose, `gone (id)` what went. $1 is the visibility, $2 and $3 the times between which,
   * both inclusive, it was stored, $4 the present, $5 how many at most.
   */
  removal: string
}
export interface Counts {
  network: number
  org: number
  private: number
  /** Left because a legal hold covers them. */
  held: number
}

/** One item that erase will touch; `id` is all that the ledger and the job queue ever see of it. */
export type ItemId = string

/** Milliseconds that a transaction may take in which a store is searched that may hold any amount of others' data. */
export const longestSearch = 600_000
/** How long a transaction may take with a holder. */
export const timeFor = ({ isShared }: Pick<DataHolder, 'isShared'>): { longest?: number } =>
  isShared ? { longest: longestSearch } : {}

/** A run of erased words in another text: UTF-16 offsets, `end` exclusive, and the run's fingerprint. */
export interface RunMatch {
  run: number
  start: number
  end: number
}
/**
 * The words that a run erases, as keyed fingerprints: they exist until the last verification, also when the texts are gone. They find words
 * in other texts and cannot be read.
 */
export interface ErasedWords {
  readonly isEmpty: boolean
  /** Runs of erased texts: six words, 24 characters of a script without spaces, or a whole short text of at least 20 characters. */
  runsIn(text: string): RunMatch[]
  /** Names, email addresses and telephone numbers of an erased person, at any length. */
  namesIn(text: string): RunMatch[]
}

/** How an erasure wants it done. */
export interface Manner {
  /** `<run>:<holder>:<page>…`, another one for every page of every plan: what a store outside the database remembers of a page that it erased, so that a repetition counts the same. */
  key: string
  /** Names of whom it erases are taken out of what others wrote, too. */
  redacts: boolean
  /** Of a run over projects. */
  words?: ErasedWords
  /** Adds texts of the erased that only their store knows: a thread's own wording of a message. */
  addWords?(texts: readonly string[]): Promise<void>
  /** How often verification found residue in this run and sent it back. From 1 on, search every text instead of an index. */
  round?: number
  /** None of its items was there when it was planned, so what is not met counts nothing; of any other page all counts, for a crash may have come between two commits. */
  isWatched?: boolean
  now: Date
}
/** Where the name of an erased person stands in what others wrote, and stays: the place, never the words. */
export interface Mention {
  store: string
  /** `fact`, `summary`, `episode`, `message`, `document` … */
  kind: string
  id: string
  field: string
  isRedacted: boolean
}
/** `isOfParts`: it counts texts of records, by {@link idOfPart}; a record that is gone takes its texts with it. */
export interface Tally {
  met: readonly string[]
  gone: readonly string[]
  isOfParts?: boolean
}
export const idOfPart = (record: string, part: string): string => `${record}\n${part}`
/** What a page came to, where the number of items that went is not all there is to say. */
export interface Erased {
  count: number
  /**
   * Further counts by name: `entitiesDeleted`, `entitiesOrphaned`, `threads` … The receipt shows for each store derived texts that were cut,
   * deleted, judged again as if the erased texts had never existed, or retained because another author wrote the words (`derivedCut`,
   * `derivedDeleted`, `derivedJudgedAgain`, `derivedRetained`); and texts that were generated while an erased episode was in the model's
   * context, with and without erased words in them (`exposedMatched`, `exposedUnmatched`).
   */
  results: Record<string, number>
  /** Of counts whose things another page may meet again, by the name in `results`: what this page met, and what no longer counts. A run counts each once. */
  tallies?: Record<string, Tally>
  mentions: Mention[]
  /** Of the items, how many remain: somebody decided so, or another step erases them. */
  retained?: number
  /** Of a second search: threads that cannot be rewritten. What was found there remains. */
  unreadable?: readonly string[]
}
export const erasedOf = (erased: number | Erased): Erased =>
  typeof erased === 'number' ? { count: erased, results: {}, mentions: [] } : erased
/** How many items went. */
export const countOf = (erased: number | Erased): number => erasedOf(erased).count
/** What would become of one thing in a store, and why: for the dry run, which its reader may see whole. */
export interface Verdict {
  store: string
  /** `episode`, `fact`, `entity`, `community`, `saga`, `thread`, `key`, `object`, `row` … */
  kind: string
  id: string
  /** As people call it; content. */
  name: string | null
  verdict: 'deleted' | 'kept' | 'changed' | 'untouched'
  /** `pii`, `unreferenced`, `orphaned`, `source`, `shared`, `foreign_group` … */
  reason: string
  /** Ids, labels and counts that the verdict rests on: `label:Person`, `pattern:email`, `episodes:2`. */
  evidence: string[]
  /** How it was found: `pointer` (provenance), `thread`, `group`, `text`, `row`. */
  found: string
}
export interface Explained {
  verdicts: Verdict[]
  /** The store does not answer, or one that kept data is switched off: this is what is known without asking it, and there may be more. */
  isPartial: boolean
}

/** What a holder would erase: each item once, sorted. */
export interface Planned {
  items: ItemId[]
  /**
   * What to look for where nothing is yet: others may write it once more, past every fence. It counts nothing; the verification and the
   * search a day later look for it, and what they find is erased.
   */
  watched?: ItemId[]
  /** How many stay because a legal hold covers the record, by the id of the hold; holds on the subject itself are the engine's to mind. */
  held: Record<string, number>
}

/** Items about which somebody has to decide. Plans keep them. */
export interface Decisions {
  /** What a hold makes of an item that is not carried out yet, with further counts: nothing of it is erased. */
  underHold(item: ItemId): { item: ItemId; results: Record<string, number> }
  /** What the next plan makes of an item that a hold stopped. Other items stay as they are. */
  resumed(item: ItemId): ItemId
  /** Of these items, those whose records a hold covers, each with the id of the hold. Holds on the subject itself are known to the engine. */
  heldBy(items: readonly ItemId[], tx: Transaction, now: Date): Promise<ReadonlyMap<ItemId, string>>
}

/** What a holder has of a subject, for the inventory ("what we hold"). */
export interface Holding {
  count: number
  /** When the oldest of it was stored. */
  since: Date | null
  /** When the last of it goes by itself; null where no term runs. */
  until: Date | null
}

/**
 * When a holder's turn comes: what was derived goes first, the rows that find the rest go last, and the account is the last of all.
 * Within a stage the holders of one store go one after the other, in the order in which they are listed.
 */
export const stages = ['derived', 'content', 'agent', 'account'] as const
export type Stage = (typeof stages)[number]

/**
 * The piece of one domain that answers for its personal data. Erasure, export and inventory know holders alone, never domains.
 * Residue is the proof, the count is a courtesy.
 */
export interface DataHolder {
  /** `<domain>.<what>` */
  name: string
  /** The store that holds it, as the receipt names it: `postgresql`, `files`, `graph`, `cache`, `objects`, `checkpoints`. */
  store: string
  /** Others write to its store too, past every fence: it is searched again a day after the erasure. */
  isShared?: true
  /** Items that one transaction erases at most: fewer where a page of the usual size would take too long, more where each page searches everything. */
  pageSize?: number
  stage: Stage
  /** In words, for the receipt. */
  what: string
  /** In words, for the inventory, where the receipt's tell what becomes of it. */
  held?: string
  /** Of the inventory, in words: why we have it, and how long it is kept. */
  purpose: string
  kept: string
  /** Of the inventory, in words: the lawful basis, where it is another than the one that the subject was registered on. */
  basis?: string
  /** The tables it answers for; a test finds a table that nobody answers for. */
  tables: readonly string[]
  /** What there is of a subject. */
  inventory(subject: Subject, now: Date): Promise<Holding>
  /** What erase will touch. Reads; safe to ask without erasing. */
  plan(scope: Scope, tx: Transaction, now: Date): Promise<Planned>
  /** Every single thing that erase would touch or leave, for a dry run of a part. Reads alone; may throw `unavailable`, where nothing can be told. */
  explain?(scope: Scope, tx: Transaction, now: Date): Promise<Explained>
  /**
   * Erases some of what the plan names, one page at most at once where the scope is a subject or a part; safe to repeat. Returns how many
   * went. Throws `unavailable` when its store does not answer or is switched off: that is never a success.
   */
  erase(scope: Scope, items: readonly ItemId[], tx: Transaction, manner?: Manner): Promise<number | Erased>
  decisions?: Decisions
  /** What an item of a finished page counts as: `found` where it remains, `nothing` where another step or a hold has it. Without this, `erased`. */
  countsAs?(item: ItemId): 'erased' | 'found' | 'nothing'
  /** What is left of the scope or of the items that were to go, found by other queries than erase's; 0 when it is gone. What a hold covers does not count. */
  residue(scope: Scope, items: readonly ItemId[], now: Date, words?: ErasedWords): Promise<number>
  /**
   * What of its store an erasure cannot search, in words for the receipt: encrypted, compressed or binary values, embeddings. `results`: the
   * further counts of the run's step.
   */
  notSearched?(results: Readonly<Record<string, number>>): { what: string; count: number | null }[]
  /** What of so many erased items stays where nobody can erase it, in words for the receipt. */
  leftBehind?(count: number, results?: Readonly<Record<string, number>>): { what: string; ground: string } | undefined
  /** What it keeps of a subject on purpose as long as a legal hold keeps the erasure open, in words for the receipt; it ends with the hold. */
  whileHeld?(subject: Subject): Promise<{ what: string; ground: string }[]>
  /**
   * Right before the rows go by which it is known: what others wrote since it was planned, found by the words of what goes, as items. Only what is
   * there. Reads alone; throws `unavailable` when its store does not answer.
   */
  late?(scope: Scope, tx: Transaction, now: Date): Promise<ItemId[]>
  /**
   * Of items of a former erasure those whose names (a key, a thread, a group: others choose them) something that stands has by now: what is
   * there is its own, and a later search leaves it.
   */
  reused?(items: readonly ItemId[], tx: Transaction, now: Date): Promise<ItemId[]>
  /** The run is over, and nothing of it will be repeated: what the store remembers of its pages may go. Keys begin with the run's id. */
  forget?(runId: string): Promise<void>
  /**
   * Of items that are about to go, those that are there: the ids that nobody may use again, and whether others could have copied what they
   * name. Whoever replays an erasure takes what it names for stored, so it never names what is not.
   */
  identities?(items: readonly ItemId[], tx: Transaction): Promise<{ id: string; wasPublic: boolean }[]>
}

/** What stays of a subject whatever is erased, as proof or because the law wants it. No holder answers for it; the inventory names it. */
export interface Kept {
  /** `<domain>.<what>` */
  name: string
  store: string
  /** In words, as of a {@link DataHolder}: what it is, why it stays, on which ground, and until when. */
  what: string
  purpose: string
  basis: string
  kept: string
  tables: readonly string[]
  /** Null where it is not counted. */
  inventory(subject: Subject, now: Date): Promise<Holding | null>
}

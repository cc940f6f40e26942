import type { Transaction } from '#lib/kernel/context.ts'
import type { RunMatch } from '#lib/kernel/holder.ts'
import type { StoreState } from '../store-state.ts'
import type { ThreadCursor, ThreadPage } from './exporting.ts'
import type { Memory, MemoryChange, MemoryCursor, MemoryPage } from './memory-pages.ts'

export type { Memory, MemoryChange, MemoryCursor }

/** Finds words of the erased texts in other texts: six in a row, 24 characters in scripts without spaces. */
export interface WordSearch {
  runsIn(text: string): readonly RunMatch[]
  /** The same with further erased texts: the wording of a thread may differ from ours. */
  including(texts: readonly string[]): WordSearch
  /** Runs that texts of remaining authors contain, too: they do not count. Called only where a run was found. */
  explained(): Promise<ReadonlySet<number>>
  /** Of these ids of messages, those whose messages remain. */
  remaining(ids: readonly string[]): Promise<ReadonlySet<string>>
}

/** Messages that go: LangGraph's ids of them, and their words. */
export interface Wanted {
  ids: readonly string[]
  /** Texts shorter than {@link leastText} find nothing: too many others say the same. */
  texts: readonly string[]
  /** Ids among them that provenance reports, of messages that may be the application's own: only a person's wording counts as erased. */
  reported?: ReadonlySet<string>
  words?: WordSearch
}
export interface WantedIn extends Wanted {
  thread: string
}
/**
 * What goes of the long-term store, which all applications share: items that hold an id nobody else can have, and of those that hold the
 * other ids or the words, which anybody may have chosen, the ones that also name what they are tied to.
 */
export interface Remembered extends Wanted {
  /** Ids that we made: whatever holds one is about it. */
  sure: readonly string[]
  /** Threads, conversation and project that it belongs to: generated ones count anywhere in an item, others in its namespace and key. */
  ties: readonly string[]
  /** An item that names a tie and contains these words goes, too. */
  words?: WordSearch
}
/** Characters that a text must have to be searched for. */
export const leastText = 20
/** Characters, a digit among them, that an id must have to be recognised outside the `id` of a message: `1` or `HumanMessage` may mean anything there. */
export const leastId = 12

/** A message of a thread that goes with what was asked for. */
export interface FoundMessage {
  /** Null where its writer gave it none. */
  id: string | null
  /** `tools`: it called a tool for one that goes, or is what the tool said. */
  found: 'id' | 'text' | 'tools'
  /** Where it was found by its words: these, without white space around them. */
  text: string | null
}
export interface FoundInThread {
  messages: FoundMessage[]
  /** Of the ids and texts (without white space around them), those that stand anywhere in the thread. */
  standing: ReadonlySet<string>
  /** Whether erased words are in the thread that no remaining author wrote. */
  hasWords: boolean
  /** Whether a row cannot be read, so that rewriting the thread will fail. */
  isUnreadable: boolean
  /** Values that cannot be searched for words: encrypted or binary ones, and extensions that LangGraph does not define. */
  notSearched: number
}
export interface Rewritten {
  /** Rows of the thread that were changed. */
  rows: number
  /** Messages that went, those among them that go with a call of a tool. */
  messages: number
  /** The thread's own wording of messages that went, where it is not among the texts. */
  wording: readonly string[]
  /** Ids of messages of remaining authors that contain words of what went. They are unchanged. */
  mentions: readonly string[]
  notSearched: number
}

/**
 * LangGraph's checkpoints as `@langchain/langgraph-checkpoint-postgres` and its Python sister write them: `checkpoints`,
 * `checkpoint_blobs`, `checkpoint_writes`, and the long-term `store`. Two places: a schema of our own database, where everything takes
 * part in the caller's transaction, and another database, where each call is a transaction of its own.
 */
export interface CheckpointStore {
  provider: 'postgresql'
  state(): Promise<StoreState>
  /** What of a thread would go. Without locks: for a plan. */
  find(thread: string, wanted: Wanted, tx: Transaction): Promise<FoundInThread>
  /** Threads, of all there are and whoever's they are, in which one of these ids stands; ids shorter than {@link leastId} are not looked for. */
  naming(ids: readonly string[], tx: Transaction): Promise<{ thread: string; id: string }[]>
  /** Those of the threads of which there is a row. */
  present(threads: readonly string[], tx: Transaction): Promise<string[]>
  /** Some rows of a thread with what is in them, after a cursor: for an export. */
  page(thread: string, after: ThreadCursor | undefined, tx: Transaction): Promise<ThreadPage>
  /** How many items of the long-term store would go. */
  memories(wanted: Remembered, tx: Transaction): Promise<number>
  /**
   * In one transaction, in every namespace and past state of the thread: messages with these ids or words are gone, calls of tools with
   * what the tools said; what was made of them is emptied; their words and ids are cut out wherever else they stand. Keys and versions
   * stay. Throws `conflict`, which names the thread (its extension `thread`, too) and changes nothing, where a row cannot be rewritten
   * safely.
   */
  rewrite(thread: string, wanted: Wanted, tx: Transaction): Promise<Rewritten>
  /** Deletes items of the long-term store, with their vectors. Gives how many. */
  forget(wanted: Remembered, tx: Transaction): Promise<number>
  /**
   * Some items of the long-term stores in the order of their keys, whoever's they are. `words`, in small letters: items in which none of them
   * stands may be left out.
   */
  memoryPage(
    query: { after?: MemoryCursor | undefined; words?: readonly string[] | undefined },
    tx?: Transaction,
  ): Promise<MemoryPage>
  /** Changes and deletes items that nobody has changed since they were read. Gives what was done. */
  changeMemories(changes: readonly MemoryChange[], tx: Transaction): Promise<MemoryChange[]>
  /** The whole thread. Gives how many rows went. */
  drop(thread: string, tx: Transaction): Promise<number>
  /**
   * Rows in which ids or texts still stand, in any column, of the thread that each is wanted in; and items of the long-term store that
   * would go. Found by the database's own search in text and bytes.
   */
  residue(wanted: readonly WantedIn[], remembered: readonly Remembered[]): Promise<number>
  close(): Promise<void>
}

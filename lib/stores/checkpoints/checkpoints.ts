import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, UnreadReason } from '#lib/kernel/data-source.ts'
import type { StoreState } from '../store-state.ts'
import type { ThreadCursor, ThreadPage } from './exporting.ts'
import type { Memory, MemoryChange, MemoryCursor, MemoryPage } from './memory-pages.ts'

export type { Memory, MemoryChange, MemoryCursor }

/** Finds words of the erased texts in other texts: six in a row, or 24 characters in scripts without spaces. */
export interface TextSearch {
  runsIn(text: string): readonly ErasedRunMatch[]
  /** Whether a sequence of words is only a name. Then only the name is removed, and not the text that was derived later. */
  isName?(run: number): boolean
  /** The same search with further erased texts: the wording in a thread may differ from ours. */
  including(texts: readonly string[]): TextSearch
  /** Runs that texts of remaining authors also contain, so that they do not count. Called only if a run was found. */
  explained(): Promise<ReadonlySet<number>>
  /** The ids among these whose messages remain. */
  remaining(ids: readonly string[]): Promise<ReadonlySet<string>>
}

/** The messages to erase: their ids in LangGraph, and their words. */
export interface ThreadSearchTerms {
  ids: readonly string[]
  /** Texts shorter than {@link leastText} are not searched: too many other messages contain them. */
  texts: readonly string[]
  /**
   * Ids among them that come from provenance reports, of messages that may be the application's own: only a person's wording counts as
   * erased.
   */
  reported?: ReadonlySet<string>
  words?: TextSearch
  /** Others own the thread: channels with summaries lose the erased words, but are not emptied. */
  keepsDerived?: boolean
}
export interface WantedIn extends ThreadSearchTerms {
  thread: string
}
/**
 * What to erase in the long-term store, which all applications share. An item with an id that we generated (`sure`) needs no tie: nobody else
 * can have chosen that id. An item with another id, or with the words, is erased only if it also names a thread, conversation
 * or project of the data (`ties`), because others may use the same id or words.
 */
export interface Remembered extends ThreadSearchTerms {
  /** Ids that we generated. */
  sure: readonly string[]
  /**
   * Threads, conversation and project that the data belongs to. Generated ids count anywhere in an item, others in its namespace and
   * key.
   */
  ties: readonly string[]
  /** An item that contains a tie and these words is also erased. */
  words?: TextSearch
  /** Whether something may be erased in an item at all, by its namespace and key. Asked only for items that the search finds. */
  mayErase?(item: Pick<Memory, 'namespace' | 'key'>): Promise<boolean>
}
/** The minimum number of characters of a text that is searched. */
export const leastText = 20
/**
 * The minimum number of characters, including a digit, of an id that is recognised outside the `id` of a message: `1` or `HumanMessage`
 * may mean anything there.
 */
export const leastId = 12

/** A message of a thread that would be erased. */
export interface FoundMessage {
  /** Null if its writer gave it none. */
  id: string | null
  /** `tools`: it is a tool call for an erased message, or the result of one. */
  found: 'id' | 'text' | 'tools'
  /** If it was found by its words: the words, without surrounding white space. */
  text: string | null
}
export interface FoundInThread {
  messages: FoundMessage[]
  /** Those of the ids and texts (without surrounding white space) that occur anywhere in the thread. */
  standing: ReadonlySet<string>
  /** Whether the thread contains erased words that no remaining author wrote. */
  hasWords: boolean
  /** Whether a row cannot be read, so that rewriting the thread will fail. */
  isUnreadable: boolean
  /** How many values cannot be searched for words: encrypted or binary ones, and extensions that LangGraph does not define. */
  notSearched: number
}
export interface Rewritten {
  /** Rows of the thread that were changed. */
  rows: number
  /** Messages that were removed, including tool calls and results. */
  messages: number
  /** The thread's own wording of removed messages, if it is not among the texts. */
  removedTexts: readonly string[]
  /** Ids of remaining authors' messages that contain erased words. They are unchanged. */
  mentions: readonly string[]
  notSearched: number
}

/** The texts of one row of a thread. */
interface ReadRow {
  thread: string
  texts: string[]
  /** Some of its values cannot be read. */
  isUnread: boolean
  /** From the id of its checkpoint, or of the first checkpoint that uses its version, if that id contains a time. */
  writtenAt(): Promise<Date | undefined>
  /** When the last checkpoint of its thread was written. */
  lastWrittenAt(): Promise<Date | undefined>
}
export interface CheckpointPage {
  rows: ReadRow[]
  memories: Memory[]
  unread: Partial<Record<UnreadReason, number>>
  next: string | null
}

/**
 * LangGraph's checkpoints as written by `@langchain/langgraph-checkpoint-postgres` and the Python library: `checkpoints`,
 * `checkpoint_blobs`, `checkpoint_writes`, and the long-term `store`. They are in a schema of our own database, where everything is part
 * of the caller's transaction, or in another database, where each call is a separate transaction.
 */
export interface CheckpointStore {
  provider: 'postgresql'
  state(): Promise<StoreState>
  /** Returns what would be erased in a thread. For a plan, so it takes no locks. */
  find(thread: string, wanted: ThreadSearchTerms, tx: Transaction): Promise<FoundInThread>
  /** All threads of any owner that contain one of these ids. Ids shorter than {@link leastId} are not searched. */
  naming(ids: readonly string[], tx: Transaction): Promise<{ thread: string; id: string }[]>
  /** The threads among these that have at least one row. */
  present(threads: readonly string[], tx: Transaction): Promise<string[]>
  /** The threads of any owner that were written since a time, the latest first. */
  writtenSince(since: Date, tx: Transaction): Promise<string[]>
  /** Passes the texts of every row of these threads to `visit`. Returns the size of the rows in bytes. */
  readThreads(
    threads: readonly string[],
    visit: (thread: string, texts: readonly string[]) => void,
    tx: Transaction,
  ): Promise<number>
  /** A page of a thread's rows with their contents, after a cursor: for an export. */
  page(thread: string, after: ThreadCursor | undefined, tx: Transaction): Promise<ThreadPage>
  /** How many items of the long-term store would be erased. */
  memories(wanted: Remembered, tx: Transaction): Promise<number>
  /**
   * Rewrites every namespace and past state of the thread in one transaction. Removes messages with these ids or words, and tool calls
   * with their results. Empties data derived from them, and cuts their words and ids from all other values. Keys and versions remain.
   * @throws `conflict` if a row cannot be rewritten safely; nothing is changed, and the message and the extension `thread` name the
   * thread
   */
  rewrite(thread: string, wanted: ThreadSearchTerms, tx: Transaction): Promise<Rewritten>
  /** Deletes the items of the long-term store that one of the searches finds, with their vectors. Returns how many. */
  forget(wanted: readonly Remembered[], tx: Transaction): Promise<number>
  /** A page of items of the long-term stores of any owner, also of those that can only be read, in the order of their keys. */
  memoryPage(after: MemoryCursor | undefined, tx?: Transaction): Promise<MemoryPage>
  /** Changes and deletes those items that nobody has changed since they were read. Returns the changes that were made. */
  changeMemories(changes: readonly MemoryChange[], tx: Transaction): Promise<MemoryChange[]>
  /** A page of the rows of all threads of any owner, and of the long-term stores, in the order of their keys: for a complete reading. `until`:
   * the cursor of a later page, where it ends. */
  readPage(after: string | null, until?: string): Promise<CheckpointPage>
  /** Deletes the whole thread. Returns how many rows were deleted. */
  drop(thread: string, tx: Transaction): Promise<number>
  /**
   * How many rows of each thread still contain the ids or texts to erase there, in any column, and how many items of the long-term store
   * would be erased. Uses the database's own search in text and bytes.
   */
  residue(wanted: readonly WantedIn[], remembered: readonly Remembered[]): Promise<number>
  close(): Promise<void>
}

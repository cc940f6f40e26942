import type { WriterKind } from '#lib/domains/projects/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'

/** Where data derived from a message or document is stored, as recorded or reported. */
export interface StoredPointer {
  store: 'checkpoints' | 'graph' | 'cache' | 'objects' | 'outside'
  /** A message id in checkpoints, an episode's uuid in the graph, a key in the cache and in object stores. */
  ref: string
  /** The thread in checkpoints or the group in the graph, if the writer named one. */
  place: string
  /** In the graph: facts whose validity the episode ended. */
  ended: string[]
}
/** A message or document that is being erased, with the data needed to find data derived from it. */
export interface Source {
  kind: 'message' | 'document'
  id: string
  project: string
  /** The group of its project in a graph. */
  group: string
  conversation: string | null
  /** LangGraph threads of its conversation. */
  threads: string[]
  createdAt: Date
  /** The position of a message among all messages, in the order of storage. Null for documents and old messages. */
  ordinal: number | null
  /** Who wrote it. */
  author: { kind: WriterKind; id: string; name: string | null }
  /** A message's current and earlier texts, or a document's chunks. Only for searching; never stored. */
  texts: string[]
  /** Object keys of its bytes or of its attachments. */
  objects: string[]
  /** Its files whose words are compared: attachments, and documents of which the database has no text. */
  files: FileWords[]
  pointers: StoredPointer[]
}
/** The parts of a file's text, without what files of others also say. */
export interface FileWords {
  key: string
  parts: string[]
}
/** A project or conversations that are erased completely, with all their contents. */
export interface WholeContainer {
  project: string
  /** Null: only these conversations of the project are erased. */
  group: string | null
  conversations: string[]
  threads: string[]
}

export interface PersonNames {
  certain: string[]
  /** Single words, companies, and names that another account or another participant of the projects has too. */
  uncertain: string[]
}

/** The sources that a scope covers, without those under legal hold. Data sources of derived stores read them while the rows exist. */
export interface Sources {
  /** Returns the sources that a scope selects, in batches ordered by id. */
  of(scope: ErasureScope, tx: Transaction, now: Date): AsyncIterable<Source[]>
  /** Returns only the ids of the sources that a scope selects. */
  ids(scope: ErasureScope, tx: Transaction, now: Date): Promise<Set<string>>
  /** Projects and conversations that are erased completely. */
  whole(scope: ErasureScope, tx: Transaction, now: Date): Promise<WholeContainer[]>
  /** The names of the erased person, and their email addresses; empty for a part of a project, and after the erasure. */
  names(scope: ErasureScope, tx: Transaction, projects: ReadonlySet<string>): Promise<PersonNames>
  /** Number of sources under legal hold, by hold. */
  held(scope: ErasureScope, tx: Transaction, now: Date): Promise<Record<string, number>>
}

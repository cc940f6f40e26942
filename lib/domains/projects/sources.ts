import type { Transaction } from '#lib/kernel/context.ts'
import type { Scope } from '#lib/kernel/holder.ts'
import type { WriterKind } from './rules.ts'

/** Where something came of a message or document, as it was written down or reported. */
export interface Pointer {
  store: 'checkpoints' | 'graph' | 'cache' | 'objects' | 'outside'
  /** In checkpoints a message's id, in the graph an episode's uuid, in the cache and among objects a key. */
  ref: string
  /** In checkpoints the thread, in the graph the group, where the writer named one. */
  place: string
  /** In the graph: facts whose validity the episode ended. */
  ended: string[]
}
/** One message or document that goes, with what finds what came of it. */
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
  /** Who wrote it. */
  author: { kind: WriterKind; id: string; name: string | null }
  /** Its words: of a message what it says and said before, of a document its chunks. Content: for searching alone, kept nowhere. */
  texts: string[]
  /** Of its bytes, or its attachments'. */
  objects: string[]
  pointers: Pointer[]
}
/** What goes whole with a project or conversation, whatever lies in it. */
export interface Whole {
  project: string
  /** Null: of the project only these conversations go. */
  group: string | null
  conversations: string[]
  threads: string[]
}

/** What of projects a scope covers and no hold keeps. Asked by the holders of derived stores while the rows are there. */
export interface Sources {
  /** In the order of their ids, some at a time. */
  of(scope: Scope, tx: Transaction, now: Date): AsyncIterable<Source[]>
  /** Of a project or conversation; else empty. */
  whole(scope: Scope, tx: Transaction, now: Date): Promise<Whole[]>
  /** How many sources a hold keeps, by hold. */
  held(scope: Scope, tx: Transaction, now: Date): Promise<Record<string, number>>
}

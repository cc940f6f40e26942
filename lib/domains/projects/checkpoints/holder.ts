import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Erased, Scope, Subject, Verdict } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { CheckpointStore, Wanted } from '#lib/stores/checkpoints/checkpoints.ts'
import type { WhatIsMissing } from '#lib/stores/known-store.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import type { Sources } from '../sources.ts'
import { parseItem } from './items.ts'
import { planning, type ThreadPlan } from './planning.ts'

export const checkpointsHolderName = 'checkpoints.messages'

export interface CheckpointsHolderParts {
  db: Database
  store: CheckpointStore
  sources: Sources
  whatIsMissing: WhatIsMissing
}
const isAbout = (scope: Scope): boolean => 'part' in scope || 'subject' in scope
/** Of a second search: whom it was about is forgotten, and nothing is planned. */
const isNobody = (scope: Scope): boolean =>
  'subject' in scope && scope.subject.account === null && scope.subject.agents.length === 0

/** The words of messages and documents that still have their rows. */
async function textsOf(tx: Transaction, sources: readonly string[]): Promise<Map<string, string[]>> {
  const rows = await queryWithin<{ id: string; text: string }>(
    tx,
    'checkpoints-texts',
    `SELECT id, content AS text FROM messages WHERE id = ANY($1::text[])
     UNION ALL SELECT message_id, content FROM message_edits WHERE message_id = ANY($1::text[])
     UNION ALL SELECT document_id, content FROM document_chunks WHERE document_id = ANY($1::text[])`,
    [sources],
  )
  const texts = new Map<string, string[]>()
  for (const { id, text } of rows) texts.set(id, [...(texts.get(id) ?? []), text])
  return texts
}

/** Items by thread, in their order; null is the long-term store. */
function byThread(items: readonly string[]) {
  const threads = new Map<string | null, { isWhole: boolean; ids: Set<string>; sources: Set<string> }>()
  for (const { thread, message, source } of items.map(parseItem)) {
    const known = threads.get(thread) ?? { isWhole: false, ids: new Set(), sources: new Set() }
    threads.set(thread, known)
    if (message === null) known.isWhole = true
    else known.ids.add(message)
    if (source !== null) known.ids.add(source)
    if (source !== null) known.sources.add(source)
  }
  return [...threads].sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1))
}

const verdictOf = ({ thread, isWhole, isShared, isUnreadable, messages, found }: ThreadPlan): Verdict => ({
  store: 'checkpoints',
  kind: thread === null ? 'memory' : 'thread',
  id: thread ?? 'store',
  name: null,
  verdict: isWhole || thread === null ? 'deleted' : isShared ? 'kept' : 'changed',
  reason: isUnreadable ? 'unreadable' : isShared ? 'shared' : isWhole ? 'whole' : 'source',
  evidence: messages > 0 ? [`${thread === null ? 'items' : 'messages'}:${messages}`] : [],
  found: found.join(', ') || 'thread',
})

/**
 * What LangGraph applications keep of messages, in every state of their threads and in their long-term store. The count is of messages
 * and whole threads; tool calls and what the tools said go with them.
 */
export function checkpointsHolder({ db, store, sources, whatIsMissing }: CheckpointsHolderParts): DataHolder {
  const planned = planning({ store, sources })
  const refuseIfMissing = async (tx?: Transaction): Promise<void> => {
    if ((await whatIsMissing(tx)).length > 0)
      throw new Problem(
        'unavailable',
        'A checkpoint store that kept data is switched off: what it holds of this is not erased. Connect it again, or retire it.',
      )
  }
  async function threadsOf({ account, agents }: Subject) {
    return db.query<{ thread: string; since: Date }>(
      'checkpoints-held',
      `SELECT thread, min(m.created_at) AS since FROM messages m JOIN conversations c ON c.id = m.conversation_id, unnest(c.threads) thread
       WHERE (m.author_kind = 'account' AND m.author_id = $1) OR (m.author_kind = 'agent' AND m.author_id = ANY($2::text[])) GROUP BY 1`,
      [account, agents],
    )
  }
  return {
    name: checkpointsHolderName,
    store: 'checkpoints',
    isShared: true,
    pageSize: 100,
    stage: 'derived',
    what: 'messages in LangGraph checkpoints and in its long-term store, with the tool calls that they led to',
    held: 'LangGraph threads of the conversations that you wrote in',
    purpose: 'letting an application go on with a conversation where it stopped',
    kept: 'as long as the messages that they came of',
    tables: ['langgraph.checkpoints', 'langgraph.checkpoint_blobs', 'langgraph.checkpoint_writes', 'langgraph.store'],
    async inventory(subject) {
      const named = await threadsOf(subject)
      if (named.length === 0) return { count: 0, since: null, until: null }
      const threads = named.map(({ thread }) => thread)
      // Of a store that does not answer, what may be there counts as there.
      const there = await db
        .transaction((tx) => store.present(threads, tx))
        .catch((error: unknown) => {
          if (Problem.is(error) && error.code === 'unavailable') return threads
          throw error
        })
      const dates = named.filter(({ thread }) => there.includes(thread)).map(({ since }) => since.getTime())
      return { count: dates.length, since: dates.length > 0 ? new Date(Math.min(...dates)) : null, until: null }
    },
    async plan(scope, tx, now) {
      if (!isAbout(scope)) return { items: [], held: {} }
      const items = new Set<string>()
      const missing = await whatIsMissing(tx)
      for await (const thread of planned(scope, tx, now, false)) for (const item of thread.items) items.add(item)
      if (missing.length > 0)
        for await (const thread of planned(scope, tx, now, true)) for (const item of thread.items) items.add(item)
      return { items: [...items].sort(), held: await sources.held(scope, tx, now) }
    },
    async explain(scope, tx, now) {
      if (!isAbout(scope)) return []
      const verdicts = new Map<string, Verdict>()
      for await (const thread of planned(scope, tx, now, false)) {
        const verdict = verdictOf(thread)
        const known = verdicts.get(verdict.id)
        // A thread that others share is kept, but for the messages that go.
        if (!known || known.verdict === 'kept') verdicts.set(verdict.id, verdict)
      }
      return [...verdicts.values()]
    },
    async erase(scope, items, tx): Promise<number | Erased> {
      if (!isAbout(scope) || items.length === 0) return 0
      await refuseIfMissing(tx)
      const threads = byThread(items)
      const texts = await textsOf(tx, [...new Set(threads.flatMap(([, { sources: ids }]) => [...ids]))])
      let gone = 0
      for (const [thread, { isWhole, ids, sources: of }] of threads) {
        if (thread !== null && isWhole) {
          if ((await store.drop(thread, tx)) > 0) gone++
          continue
        }
        const wanted: Wanted = { ids: [...ids], texts: [...of].flatMap((id) => texts.get(id) ?? []) }
        const { messages, rows, memories } = await store.rewrite(thread, wanted, tx)
        gone += Math.max(messages, Math.min(rows, 1)) + memories
      }
      // As planned, so that a page that is repeated after a crash counts the same; a second search has no plan, and counts what it met.
      const count = isNobody(scope) ? gone : items.length
      const named = threads.filter(([thread]) => thread !== null)
      const messages = items.map(parseItem).filter(({ thread, message }) => thread !== null && message !== null)
      return {
        count,
        results: isNobody(scope) ? { messages: gone } : { threads: named.length, messages: messages.length },
        mentions: [],
      }
    },
    async residue(scope, items) {
      const part = 'part' in scope && scope.part.kind === 'message' ? scope.part : undefined
      if (items.length === 0 && !part) return 0
      if (items.length > 0) await refuseIfMissing()
      let count = 0
      const rest = new Map<string | null, Set<string>>()
      if (part) rest.set(part.conversation, new Set([part.id]))
      const wholes: string[] = []
      for (const [thread, { isWhole, ids }] of byThread(items)) {
        if (thread !== null && isWhole) wholes.push(thread)
        else rest.set(thread, ids.union(rest.get(thread) ?? new Set()))
      }
      if (wholes.length > 0) count += (await db.transaction((tx) => store.present(wholes, tx))).length
      const sought = [...new Set([...rest.values()].flatMap((ids) => [...ids]))]
      const texts =
        sought.length === 0 ? new Map<string, string[]>() : await db.transaction((tx) => textsOf(tx, sought))
      if (rest.size > 0)
        count += await store.residue(
          [...rest].map(([thread, ids]) => ({
            thread,
            ids: [...ids],
            texts: [...ids].flatMap((id) => texts.get(id) ?? []),
          })),
        )
      return count
    },
  }
}

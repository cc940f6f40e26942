import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { isAbout, isNobody } from './erased-sources.ts'
import { type CheckpointsSourceDeps, checkpointsDataSourceName, eraseCheckpoints } from './erasing.ts'
import { parseItem } from './items.ts'
import { plannedThreads, type ThreadPlan } from './planning.ts'
import { checkpointReader } from './reading.ts'
import { threadsOfSubject } from './repository.ts'
import { residueOfCheckpoints } from './residue.ts'
import { projectsOf } from './thread-search.ts'

const verdictOf = ({ thread, isWhole, isShared, isUnreadable, messages, found }: ThreadPlan): PlannedRecord => ({
  store: 'checkpoints',
  kind: thread === null ? 'memory' : 'thread',
  id: thread ?? 'store',
  name: null,
  verdict: isWhole || thread === null ? 'deleted' : isShared || isUnreadable ? 'kept' : 'changed',
  reason: isUnreadable ? 'unreadable' : isShared ? 'shared' : isWhole ? 'whole' : 'source',
  evidence: messages > 0 ? [`${thread === null ? 'items' : 'messages'}:${messages}`] : [],
  found: found.join(', ') || 'thread',
})

/** Plans as {@link plannedThreads} does. If the store does not answer, plans from pointers and conversations. */
async function planOf(
  deps: CheckpointsSourceDeps,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<{ threads: ThreadPlan[]; isAway: boolean }> {
  try {
    return { threads: await Array.fromAsync(plannedThreads(deps, scope, tx, now, false)), isAway: false }
  } catch (error) {
    if (!Problem.is(error, 'unavailable')) throw error
    return { threads: await Array.fromAsync(plannedThreads(deps, scope, tx, now, true)), isAway: true }
  }
}

/**
 * Personal data source for messages in LangGraph: in every checkpoint of their threads and in the long-term store. Counts messages and
 * whole threads. Tool calls and their results are erased with the messages.
 */
export function checkpointsDataSource(deps: CheckpointsSourceDeps): DataSource {
  const { db, store, sources, whatIsMissing } = deps
  return {
    name: checkpointsDataSourceName,
    store: 'checkpoints',
    isShared: true,
    pageSize: 100,
    stage: 'derived',
    what: 'messages in LangGraph checkpoints and in its long-term store, with their tool calls',
    held: 'LangGraph threads of the conversations that you wrote in',
    purpose: 'letting an application resume a conversation',
    kept: 'as long as the messages of the thread',
    tables: ['langgraph.checkpoints', 'langgraph.checkpoint_blobs', 'langgraph.checkpoint_writes', 'langgraph.store'],
    async inventory(subject) {
      const named = await threadsOfSubject(db, writersOf(subject))
      if (named.length === 0) return { count: 0, since: null, until: null }
      const threads = named.map(({ thread }) => thread)
      // If the store does not answer, assume that all named threads exist.
      const there = await db
        .transaction((tx) => store.present(threads, tx))
        .catch((error: unknown) => {
          if (Problem.is(error, 'unavailable')) return threads
          throw error
        })
      const dates = named.filter(({ thread }) => there.includes(thread)).map(({ since }) => since.getTime())
      return { count: dates.length, since: dates.length > 0 ? new Date(Math.min(...dates)) : null, until: null }
    },
    async plan(scope, tx, now) {
      if (!isAbout(scope) || isNobody(scope)) return { items: [], held: {} }
      const { threads: plans } = await planOf(deps, scope, tx, now)
      if ((await whatIsMissing(tx)).length > 0)
        plans.push(...(await Array.fromAsync(plannedThreads(deps, scope, tx, now, true))))
      const items = new Set(plans.flatMap((one) => one.items))
      const watched = new Set(plans.flatMap((one) => one.watched)).difference(items)
      return { items: [...items].sort(), watched: [...watched].sort(), held: await sources.held(scope, tx, now) }
    },
    async explain(scope, tx, now) {
      if (!isAbout(scope)) return { verdicts: [], isPartial: false }
      const verdicts = new Map<string, PlannedRecord>()
      const { threads, isAway } = await planOf(deps, scope, tx, now)
      for (const thread of threads) {
        if (thread.items.length === 0 && !thread.isShared) continue
        const verdict = verdictOf(thread)
        const known = verdicts.get(verdict.id)
        // A shared thread is kept. A decision about its erased messages takes precedence.
        if (!known || known.verdict === 'kept') verdicts.set(verdict.id, verdict)
      }
      return { verdicts: [...verdicts.values()], isPartial: isAway || (await whatIsMissing(tx)).length > 0 }
    },
    erase: (scope, items, tx, options) => eraseCheckpoints(deps, scope, items, tx, options),
    countsAs: (item) => (parseItem(item).mark === 'moved' ? 'nothing' : 'erased'),
    notSearched: ({ threadsNotSearched = 0, memoriesLeft = 0, memoriesOutside = 0 }) => [
      ...(threadsNotSearched > 0
        ? [
            {
              what: receiptText('notSearched', 'threads'),
              count: threadsNotSearched,
            },
          ]
        : []),
      ...(memoriesLeft > 0
        ? [
            {
              what: receiptText('notSearched', 'otherProjects'),
              count: memoriesLeft,
            },
          ]
        : []),
      // Other organizations own these items, so nobody reads whether they contain the words.
      ...(memoriesOutside > 0
        ? [
            {
              what: receiptText('notSearched', 'outsideItems'),
              count: null,
            },
          ]
        : []),
    ],
    async late(scope, tx, now) {
      const plans = await Array.fromAsync(plannedThreads(deps, scope, tx, now, false))
      return [...new Set(plans.flatMap((one) => one.items))].sort()
    },
    async reused(items, tx) {
      const wholes = items.filter((item) => parseItem(item).thread !== null && parseItem(item).message === null)
      const threads = wholes.map((item) => parseItem(item).thread ?? '')
      const theirs = await projectsOf(tx, threads)
      return wholes.filter((item) => theirs.has(parseItem(item).thread ?? ''))
    },
    residue: (scope, items, now, words) => residueOfCheckpoints(deps, scope, items, now, words),
    read: checkpointReader(deps),
  }
}

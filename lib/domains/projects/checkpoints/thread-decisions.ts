import { itemsBeginning } from '#lib/domains/erasure/queries.ts'
import { replaceItems } from '#lib/domains/erasure/writes.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { RunView, SubjectErasures } from '#lib/kernel/erasure-run.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { guardRecord, mutation, read } from '#lib/kernel/use-case.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { answersForPart, ownsProject } from '../erasing/parts.ts'
import { decideThread, dropThread, listUndecidedThreads } from './contract.ts'
import { threadsDataSourceName } from './erasing.ts'
import { decidedThread, heldThread, itemsOfThread, parseItem, retainedThread, undecidedThread } from './items.ts'
import { authorsInThreads, holdsOfThreads } from './repository.ts'

type Decision = 'delete' | 'retain'
type InTransaction = Pick<Context, 'actor'> & { tx: Transaction; now: Date }

const decided = (items: readonly string[]): string[] =>
  items.map(parseItem).flatMap(({ thread, isDecided }) => (thread !== null && isDecided ? [thread] : []))

/** The threads under legal hold, with the hold's id: a hold on the project, or on an author of messages in its conversations. */
async function threadHolds(
  tx: Transaction,
  threads: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, string>> {
  if (threads.length === 0) return new Map()
  const rows = await holdsOfThreads(tx, { threads, now })
  return new Map(rows.map(({ thread, hold }) => [thread, hold]))
}

/**
 * Threads that cannot be rewritten: encrypted, pickled or malformed. The step for messages moves them here. This step runs last, so that no
 * other step waits for the decision to delete the whole thread or to retain it and report it on the receipt.
 */
export const threadsDataSource = ({ db, store }: { db: Database; store: CheckpointStore }): DataSource => ({
  name: threadsDataSourceName,
  store: 'checkpoints',
  stage: 'account',
  what: 'LangGraph threads that cannot be rewritten, because they are encrypted, pickled or malformed',
  purpose: 'letting an application resume a conversation',
  kept: 'as long as the messages of the thread',
  tables: [],
  // The data source for messages counts these threads.
  inventory: async () => ({ count: 0, since: null, until: null }),
  plan: async () => ({ items: [], held: {} }),
  decisions: {
    // Do not ask again because of the hold: a decision to retain complies with it.
    underHold(item) {
      const { thread, mark } = parseItem(item)
      if (mark === 'retained') return { item, results: { threadsRetained: 1 } }
      return { item: heldThread(thread ?? ''), results: {} }
    },
    resumed(item) {
      const { thread, mark } = parseItem(item)
      return mark === 'held' ? undecidedThread(thread ?? '') : item
    },
    async heldBy(items, tx, now) {
      const threads = items.map((item) => parseItem(item).thread ?? '')
      const holds = await threadHolds(tx, threads, now)
      return new Map(
        items.flatMap((item) => {
          const hold = holds.get(parseItem(item).thread ?? '')
          return hold === undefined ? [] : [[item, hold]]
        }),
      )
    },
  },
  countsAs(item) {
    const { mark } = parseItem(item)
    return mark === 'retained' ? 'found' : mark === 'held' ? 'nothing' : 'erased'
  },
  async erase(_scope, items, tx) {
    const undecided = items.map(parseItem).find(({ mark }) => mark === 'undecided')
    if (undecided)
      throw new Problem('conflict', {
        detail: 'A thread cannot be rewritten. Decide whether to delete the whole thread or to retain it.',
        extensions: { thread: undecided.thread, needsDecision: true },
      })
    const threads = decided(items)
    if (items.length === 0) return 0
    for (const thread of threads) await store.drop(thread, tx)
    const retained = items.length - threads.length
    const results = {
      ...(threads.length > 0 && { threads: threads.length }),
      ...(retained > 0 && { threadsRetained: retained }),
    }
    return { count: threads.length, results, mentions: [], retained }
  },
  residue: async (_scope, items) => {
    const threads = decided(items)
    return threads.length === 0 ? 0 : (await db.transaction((tx) => store.present(threads, tx))).length
  },
  leftBehind: (_count, { threadsRetained: count = 0 } = {}) =>
    count === 0
      ? []
      : [{ what: receiptText('retained', 'threads', { count }), ground: receiptText('grounds', 'decided') }],
})

/** Use cases for decisions about threads that cannot be rewritten. The decision is stored in the plan; the step carries it out. */
export function threadDecisions({
  db,
  erasures,
}: {
  db: Pick<Database, 'transaction'>
  erasures: Pick<SubjectErasures, 'byAudit' | 'lock' | 'retry' | 'run'>
}) {
  /**
   * The erasure, whether the caller may delete messages of others in it, and whether as an owner of the project.
   * @throws {Problem} `not_found` for a caller without rights
   */
  async function known(
    ctx: InTransaction,
    auditId: string,
  ): Promise<{ run: RunView; mayDelete: boolean; isOwner: boolean }> {
    const run = await erasures.byAudit(auditId, ctx.tx)
    const isOver =
      !!run &&
      (ctx.actor.can('erasures:admin') ||
        (run.part !== null && (await answersForPart(ctx, { ...run.part, kind: 'project' }))))
    if (!run || !(isOver || run.requestedBy === ctx.actor.id))
      throw new Problem('not_found', 'This erasure does not exist, or you do not have access to it.')
    return { run, mayDelete: isOver, isOwner: run.part !== null && (await ownsProject(ctx, run.part.project)) }
  }
  async function decide(ctx: InTransaction, run: RunView, threadId: string, decision: Decision): Promise<void> {
    await erasures.lock(ctx.tx, run.id)
    const which = { runId: run.id, holder: threadsDataSourceName, prefix: itemsOfThread(threadId) }
    const items = await itemsBeginning(ctx.tx, which)
    if (items.length === 0)
      throw new Problem('not_found', 'This erasure does not wait for a decision about this thread.')
    const isHeld = decision === 'delete' && (await threadHolds(ctx.tx, [threadId], ctx.now)).has(threadId)
    if (isHeld || items.some((item) => parseItem(item).mark === 'held'))
      throw new Problem('held', 'A legal hold covers this thread. It cannot be deleted until the hold ends.')
    const item = decision === 'delete' ? decidedThread(threadId) : retainedThread(threadId)
    if ((await replaceItems(ctx.tx, { ...which, item })) === 0)
      throw new Problem('wrong_state', 'The decision about this thread was already carried out.')
    // If the step has not started yet, it reads the decision when it starts.
    await erasures.retry(ctx.tx, run.id, threadsDataSourceName, ctx.now)
  }
  return {
    threads: read(listUndecidedThreads, (ctx, { params: { id } }) =>
      db.transaction(async (tx) => {
        const { run } = await known({ ...ctx, tx }, id)
        const items = await itemsBeginning(tx, { runId: run.id, holder: threadsDataSourceName, prefix: '' })
        const records = items.map(parseItem).flatMap(({ thread, isDecided, mark }) => {
          const decision = isDecided ? ('delete' as const) : mark === 'retained' ? ('retain' as const) : null
          return thread === null ? [] : [{ thread, decision }]
        })
        const names = records.map(({ thread }) => thread)
        const theirs = Map.groupBy(await authorsInThreads(tx, { threads: names, now: ctx.now }), ({ thread }) => thread)
        const data = records.map(({ thread, decision }) => ({
          thread_id: thread,
          decision,
          authors: (theirs.get(thread) ?? []).map(({ kind, id: author, messages }) => ({ kind, id: author, messages })),
        }))
        return { body: { data }, resourceId: id }
      }),
    ),
    decide: mutation(decideThread, async (ctx, { params: { id, threadId }, body: { decision } }) => {
      const { run, mayDelete, isOwner } = await known(ctx, id)
      const erasesOthers =
        decision === 'delete' && (await authorsInThreads(ctx.tx, { threads: [threadId], now: ctx.now })).length > 0
      // Managers and admins decide about threads of others, as by the operation for admins.
      guardRecord(ctx, 'erase-words', { isOwn: isOwner || !mayDelete || decision === 'retain' })
      if (erasesOthers && !mayDelete)
        throw new Problem(
          'forbidden',
          'Other authors have messages in this thread. An owner of the project or an admin can delete it; you can retain it.',
        )
      await decide(ctx, run, threadId, decision)
      return {
        body: { data: { audit_id: id, thread_id: threadId, decision } },
        resourceId: id,
        // Omit the thread's name: the application chose it, and the log is kept for years.
        details: { decision },
      }
    }),
    drop: mutation(dropThread, async (ctx, { params: { id, threadId } }) => {
      const { run } = await known(ctx, id)
      await decide(ctx, run, threadId, 'delete')
      return {
        body: { data: { audit_id: id, thread_id: threadId, items: 1 } },
        resourceId: id,
        details: { decision: 'delete' },
      }
    }),
  }
}

import type { DataSource } from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { threadsDataSourceName } from './erasing.ts'
import { heldThread, parseItem, undecidedThread } from './items.ts'
import { threadHolds } from './thread-holds.ts'

const decided = (items: readonly string[]): string[] =>
  items.map(parseItem).flatMap(({ thread, isDecided }) => (thread !== null && isDecided ? [thread] : []))

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

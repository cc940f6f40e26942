import { fingerprintsItems } from '#lib/domains/erasure/ledger/ledger-history.ts'
import { dataSourcesInOrder, nobody, participating, type RunScope } from '#lib/domains/erasure/runs/run-rules.ts'
import { runPartOf, stepsOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ItemsRow, RecordIntent } from '#lib/stores/ledger/ledger.ts'
import type { EngineDeps } from './dependencies.ts'
import { identitiesOf } from './erase.ts'
import { withPages } from './plan.ts'
import type { RunPlan } from './run-plan.ts'

/**
 * Returns the time of an intent. After a clock was set back, it is the time of the newest erased record, so that a
 * replay does not mistake the erased record for a later one.
 */
export const intentTime = (newest: Date | null | undefined, now: Date): string =>
  (newest && newest > now ? newest : now).toISOString()

/** Builds the intent of a unit or skill. It fits into one row, so one write to the disk is enough. */
export const recordIntent = ({
  plan,
  ...intent
}: Omit<RecordIntent, 'kind' | 'plan'> & { plan: ReadonlyMap<string, readonly string[]> }): RecordIntent => ({
  kind: 'intent',
  ...intent,
  plan: Object.fromEntries([...plan].filter(([, items]) => items.length > 0)),
})

async function intentOfRun(
  tx: Transaction,
  runId: string,
  free: RunScope | null,
  { subjects, parts, suppressions }: EngineDeps,
) {
  const run = await tx.erasureRun.findUniqueOrThrow({ where: { id: runId } })
  const heldBy = [...new Set((await stepsOf(tx, runId)).flatMap(({ held }) => Object.keys(held)))].sort()
  const redacts = run.redacts && { redacts: true }
  const part = runPartOf(run)
  if (part)
    return {
      receiptId: run.receiptId,
      wordsSince: run.wordsSince,
      newest: await parts.newest(tx, part),
      says: { scope: { part }, heldBy, ...redacts },
    }
  const { account, agents, participants } = free !== null && 'subject' in free ? free.subject : nobody
  const subject = { account, agents, ...participating(participants) }
  return {
    receiptId: run.receiptId,
    wordsSince: run.wordsSince,
    newest: await subjects.newest(tx, subject),
    says: {
      scope: { subject },
      hashes: await suppressions.ofRun(tx, runId),
      heldBy,
      ...(run.projects.length > 0 && { projects: run.projects }),
      ...redacts,
    },
  }
}

/** Pages that one transaction reads for the ledger, which writes them to the disk together. */
const pagesAtOnce = 20

/** Returns the next pages to erase, in the form that the ledger stores. */
async function pagesToNote(tx: Transaction, runId: string, dataSource: DataSource, after: number) {
  const pages = await tx.erasurePage.findMany({
    where: { runId, holder: dataSource.name, erasedAt: null, page: { gt: after } },
    orderBy: { page: 'asc' },
    take: pagesAtOnce,
  })
  const rows: Pick<ItemsRow, 'items' | 'identities'>[] = []
  for (const { items } of pages) {
    const known = await identitiesOf(tx, dataSource, items)
    const identities = Object.fromEntries(known.map(({ id, wasPublic }) => [id, wasPublic]))
    rows.push({ items, ...(known.length > 0 && { identities }) })
  }
  return { rows, last: pages.length < pagesAtOnce ? undefined : pages.at(-1)?.page }
}

/** Appends to the ledger, page by page, what a run is about to erase, including data outside the database. */
export async function writeIntent({ runId, free }: RunPlan, deps: EngineDeps): Promise<void> {
  const { db, ledger, dataSources, words, now } = deps
  const noted = await db.transaction((tx) => intentOfRun(tx, runId, free, deps))
  const { receiptId: id, newest, says, wordsSince } = noted
  await ledger.append({ kind: 'intent', id, at: intentTime(newest, now()), ...says })
  const stored = await words.storedFingerprints(db.prisma, runId)
  if (stored) await ledger.append(fingerprintsItems(id, stored.fingerprints, wordsSince))
  const toErase = await withPages(db, runId, { isErased: false })
  for (const { dataSource } of dataSourcesInOrder(dataSources)) {
    if (!toErase.has(dataSource.name)) continue
    for (let after: number | undefined = -1; after !== undefined; ) {
      const { rows, last } = await db.transaction((tx) => pagesToNote(tx, runId, dataSource, after ?? -1))
      await Promise.all(rows.map((row) => ledger.append({ kind: 'items', id, holder: dataSource.name, ...row })))
      after = last
    }
  }
}

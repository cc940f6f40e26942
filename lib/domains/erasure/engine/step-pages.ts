import { addedUp, dueSteps, longestRetry } from '#lib/domains/erasure/runs/run-rules.ts'
import { enqueueStep, lockedRun, scopeOf, stepOrderOf } from '#lib/domains/erasure/runs/runs.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureOptions } from '#lib/kernel/data-source.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { noteMentions } from './mentions.ts'
import { erasePage, identitiesOf } from './pages.ts'
import { planTargetOf } from './plans.ts'
import { firstOpenPage, lockStep, markPageErased } from './repository.ts'
import type { SubjectErasurePorts } from './subject-erasures.ts'
import { talliedUp } from './tallies.ts'
import { endWaits, isStillWaiting } from './waits.ts'

export interface StepDeps extends SubjectErasurePorts {
  db: Database
  ledger: Ledger
  dataSources: readonly DataSource[]
  now(): Date
}

/**
 * `later`: other runs already try its unavailable store; `page`: erased a page, more follow; `all`: no page remains;
 * `holds`: the holds changed since the plan; `over`: nothing to do.
 */
export type PageOutcome = 'later' | 'page' | 'all' | 'holds' | 'over'

/** The stores that a step needs: its own, and for stages that delete rows also the ledger and the stores of derived data. */
const storesOf = ({ store, stage }: DataSource, dataSources: readonly DataSource[]): string[] =>
  stage === 'derived' ? [store] : [store, 'ledger', ...dataSources.filter(({ late }) => late).map((one) => one.store)]

/** Erases the next page of a step in the given transaction, which also counts it. */
export async function eraseNextPage(
  deps: StepDeps,
  tx: Transaction,
  runId: string,
  dataSource: DataSource,
): Promise<PageOutcome> {
  const { dataSources, holds, now, interrupt } = deps
  const run = await lockedRun(tx, runId, { shared: true })
  if (run?.state !== 'erasing') return 'over'
  const [counted] = await lockStep(tx, { runId, holder: dataSource.name })
  // A job of an older plan may run before its step is due; it is enqueued again when the step is due.
  const isDue = dueSteps(await stepOrderOf(tx, runId)).some((one) => one.holder === dataSource.name)
  if (!isDue || !counted) return 'over'
  if (counted.fault === 'unavailable' && (await isStillWaiting(tx, runId, dataSource.store, now()))) {
    await enqueueStep(tx, runId, dataSource.name, { wait: longestRetry })
    return 'later'
  }
  const { fingerprint, free } = await planTargetOf(tx, scopeOf(run), holds, now())
  if (fingerprint !== run.holdsSeen) return 'holds'
  const [page] = await firstOpenPage(tx, { runId, holder: dataSource.name })
  if (!page) return 'all'
  // A plan under the same holds has no pages for a subject that they cover.
  if (free === null)
    throw new Error(`legal holds cover all of ${runId}, but ${dataSource.name} has a step that erases records`)
  const { items, isWatched } = page
  const key = `${runId}:${dataSource.name}:${page.page}:${run.planId}`
  const words = dataSource.isShared ? await deps.words.of(tx, runId) : undefined
  const options: ErasureOptions = {
    ...{ key, redacts: run.redacts, isWatched, round: run.rounds, now: now() },
    ...(words && { words, addWords: (texts: readonly string[]) => deps.words.add(tx, runId, texts) }),
  }
  const identities = await identitiesOf(tx, dataSource, items)
  const erased = await erasePage(tx, dataSource, {
    ...{ scope: free, items, identities, receiptId: run.receiptId, options },
  })
  const results = { ...erased.results, ...(await talliedUp(tx, runId, dataSource.name, erased)) }
  const { mentions } = erased
  await noteMentions(tx, runId, mentions)
  await markPageErased(tx, { runId, holder: dataSource.name, page: page.page, now: now() })
  await tx.erasureStep.update({
    where: { runId_holder: { runId, holder: dataSource.name } },
    data: {
      state: 'running',
      erased: { increment: isWatched ? 0 : items.length - (erased.retained ?? 0) },
      results: addedUp([counted.results, results]),
      startedAt: counted.startedAt ?? now(),
      fault: null,
    },
  })
  if (counted.fault !== null) await endWaits(tx, runId, storesOf(dataSource, dataSources))
  interrupt(`step.${dataSource.name}.inside`)
  return page.hasNext ? 'page' : 'all'
}

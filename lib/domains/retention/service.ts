import { setTimeout as delay } from 'node:timers/promises'
import { enqueue } from '#lib/jobs/queue.ts'
import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { listSweeps, readSweep, sweepRetention } from './contract.ts'
import { policyReader, retentionPolicy } from './policy.ts'
import { countSweeps, pageOfSweeps, type SweepRow, sweepById } from './repository.ts'
import { RetentionManager, type RetentionStores, type SweepOrder } from './retention-manager.ts'
import { periodsOf } from './rules.ts'
import { policyIn, presented } from './sweeps.ts'

export interface RetentionServiceDeps {
  stores: RetentionStores
  /** The periods of the environment. */
  environment: Periods
  requireApproval: RequireApproval
}

/** Milliseconds that a response waits for its sweep. */
const patience = 10_000
/** Milliseconds until the worker checks a requested sweep, and between further checks. */
const handOver = 30_000
export const resumeJob = 'retention.resume'
const mostCounted = 1_001

/** The worker continues the sweep if its process has died by then. */
const enqueueResume = (tx: Transaction, id: string): Promise<void> =>
  enqueue(tx, resumeJob, { sweepId: id }, { runAt: new Date(Date.now() + handOver), key: `${resumeJob}:${id}` })

/** Returns true when the promise settles within this many milliseconds. */
const isDoneWithin = (work: Promise<unknown>, milliseconds: number): Promise<boolean> =>
  Promise.race([
    work.then(
      () => true,
      () => true,
    ),
    delay(milliseconds, false, { ref: false }),
  ])

/** Use cases that read sweeps. */
const sweepHistory = ({ db }: RetentionStores) => ({
  sweeps: read(listSweeps, async (_ctx, { query: { cursor, limit } }) => {
    const after = parseCursor(cursor)
    const [records, [count]] = await Promise.all([
      pageOfSweeps(db, { after_at: after?.at ?? null, after_id: after?.id ?? null, limit: limit + 1 }),
      countSweeps(db, { limit: mostCounted }),
    ])
    const { shown, page } = pageOf(records, limit, count?.n ?? 0, ({ started_at, id }) => ({ at: started_at, id }))
    return {
      body: {
        data: shown.map(presented),
        ...page,
      },
      resourceId: 'list',
      details: { count: shown.length },
    }
  }),

  readSweep: read(readSweep, async (_ctx, { params: { id } }) => {
    const [row] = await sweepById(db, { id })
    if (!row) throw new Problem('not_found', 'This sweep does not exist.')
    return { body: { data: presented(row) }, resourceId: id }
  }),
})

/** Retention periods, and the sweeps that this process executes. */
export function retentionService({ stores, environment, requireApproval }: RetentionServiceDeps) {
  const { db } = stores
  const ending = new AbortController()
  const active = new Set<Promise<unknown>>()
  const policyNow = policyReader(stores, environment)
  const managerOf = ({ network, org, private: own }: Periods) =>
    new RetentionManager(stores, { networkDays: network, orgDays: org, privateDays: own })
  const sweepOf = async (id: string): Promise<SweepRow | undefined> => (await sweepById(db, { id }))[0]

  /** Executes a started sweep in this process. Closing the application waits for its current batch. */
  function carryOut(manager: RetentionManager, id: string, ip: string): Promise<unknown> {
    const carried = manager.carryOut(id, { ip, signal: ending.signal })
    active.add(carried)
    const done = () => active.delete(carried)
    carried.then(done, done)
    return carried
  }

  return {
    /** The periods in force with their source. */
    policyNow,
    ...retentionPolicy(stores, policyNow, requireApproval),
    ...sweepHistory(stores),

    sweep: mutation(sweepRetention, async (ctx) => {
      const { tx, now, actor, ip } = ctx
      await requireApproval(ctx, { operation: sweepRetention, input: {} })
      const manager = managerOf(periodsOf(await policyNow(tx)))
      const order: SweepOrder = { trigger: 'demand', requestedBy: actor.id, now }
      const id = await manager.begin(tx, order)
      const Location = `/v1/retention/sweeps/${id}`
      // If this process ends before the sweep, the worker continues the sweep.
      await enqueueResume(tx, id)
      const [row] = await sweepById(tx, { id })
      if (!row) throw new Error('The sweep that was started does not exist.')
      return {
        body: { data: presented(row) },
        status: 202,
        headers: { Location },
        resourceId: id,
        details: { trigger: order.trigger },
        afterCommit: async () => {
          const carried = carryOut(manager, id, ip)
          if (await isDoneWithin(carried, patience)) await carried
          else carried.catch((error: unknown) => logFault(error, { operationId: 'sweepRetention', sweepId: id }))
          const reached = (await sweepOf(id)) ?? row
          return {
            body: { data: presented(reached) },
            status: reached.finished_at === null ? 202 : 200,
            headers: { Location },
          }
        },
      }
    }),

    /** Runs the hourly sweep; does nothing while another one runs. */
    async sweepByClock(): Promise<void> {
      const manager = managerOf(periodsOf(await policyNow()))
      await manager
        .runSweep({ trigger: 'cron', requestedBy: 'system:retention.sweep' }, ending.signal)
        .catch((error: unknown) => {
          if (!Problem.is(error, 'conflict')) throw error
        })
    },
    /** Continues a sweep whose process has died; checks again later while the process lives. */
    async resume(id: string): Promise<void> {
      const row = await sweepOf(id)
      if (!row || row.finished_at !== null) return
      await carryOut(managerOf(policyIn(row)), id, '')
      if ((await sweepOf(id))?.finished_at === null) await db.transaction((tx) => enqueueResume(tx, id))
    },
    /** Ends the sweeps of this process after their current batch; another process or the next sweep continues. */
    async stop(): Promise<void> {
      ending.abort()
      await Promise.allSettled(active)
    },
  }
}
export type RetentionService = ReturnType<typeof retentionService>

import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Counts, Periods } from '#lib/kernel/data-source.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import {
  dryRunRetention,
  editRetention,
  listSweeps,
  readRetention,
  readSweep,
  resetRetention,
  sweepRetention,
} from './contract.ts'
import { RetentionManager, type RetentionStores, type SweepOrder } from './retention-manager.ts'
import { dayMs, periodsOf, presets, retainedVisibilities, retentionChangesOf, retentionPolicyOf } from './rules.ts'
import { policyIn, presented, type SweepRow, sweepColumns } from './sweeps.ts'

export interface RetentionServiceDeps {
  stores: RetentionStores
  /** The periods of the environment. */
  environment: Periods
}

/** Milliseconds that a response waits for its sweep. */
const patience = 10_000
/** Milliseconds until the worker checks a requested sweep, and between further checks. */
const handOver = 30_000
export const resumeJob = 'retention.resume'
const resourceId = 'installation'
const upcomingDays = [7, 30]
const countedTo = 1_001

export function retentionService({ stores, environment }: RetentionServiceDeps) {
  const { db } = stores
  const ending = new AbortController()
  const active = new Set<Promise<unknown>>()

  const policyNow = async (tx: Transaction = db.prisma) =>
    retentionPolicyOf(environment, await tx.retentionOverride.findMany())
  const managerOf = ({ network, org, private: own }: Periods) =>
    new RetentionManager(stores, { networkDays: network, orgDays: org, privateDays: own })

  const sweepOf = async (id: string): Promise<SweepRow | undefined> =>
    (await db.query<SweepRow>('sweep-read', `SELECT ${sweepColumns} FROM retention_sweeps WHERE id = $1`, [id]))[0]

  const policyBody = async (tx?: Transaction) => ({ data: { policy: await policyNow(tx), presets } })

  async function dueAt(periods: Periods, at: Date) {
    const sum: Counts = { network: 0, org: 0, private: 0, held: 0 }
    for (const one of stores.expiring) {
      const due = await one.due(periods, at)
      for (const key of [...retainedVisibilities, 'held'] as const) sum[key] += due[key]
    }
    return { ...sum, total: sum.network + sum.org + sum.private }
  }

  /** Executes a started sweep in this process. Closing the application waits for its current batch. */
  function carryOut(manager: RetentionManager, id: string, ip: string): Promise<unknown> {
    const carried = manager.carryOut(id, { ip, signal: ending.signal })
    active.add(carried)
    const done = () => active.delete(carried)
    carried.then(done, done)
    return carried
  }

  return {
    /** The current periods with their source. */
    policyNow,
    read: read(readRetention, async () => ({ body: await policyBody(), resourceId })),

    edit: mutation(editRetention, async ({ tx, now, actor }, { body }) => {
      const changes = retentionChangesOf(body)
      for (const visibility of retainedVisibilities) {
        const days = changes[visibility]
        if (days === undefined) continue
        const row = { days, setBy: actor.id, setAt: now }
        await tx.retentionOverride.upsert({ where: { visibility }, create: { visibility, ...row }, update: row })
      }
      return { body: await policyBody(tx), resourceId, details: { set: changes } }
    }),

    reset: mutation(resetRetention, async ({ tx }) => {
      const { count } = await tx.retentionOverride.deleteMany()
      return { body: await policyBody(tx), resourceId, details: { removed: count } }
    }),

    dryRun: read(dryRunRetention, async ({ now }, { body }) => {
      const periods = { ...periodsOf(await policyNow()), ...retentionChangesOf(body) }
      const due = await dueAt(periods, now)
      const upcoming = []
      for (const days of upcomingDays)
        upcoming.push({ within_days: days, ...(await dueAt(periods, new Date(now.getTime() + days * dayMs))) })
      return {
        body: { data: { policy: periods, at: now.toISOString(), would_delete: due, upcoming } },
        resourceId,
        details: { dryRun: true, count: due.total },
      }
    }),

    sweep: mutation(sweepRetention, async ({ tx, now, actor, ip }) => {
      const manager = managerOf(periodsOf(await policyNow(tx)))
      const order: SweepOrder = { trigger: 'demand', requestedBy: actor.id, now }
      const id = await manager.begin(tx, order)
      const Location = `/v1/retention/sweeps/${id}`
      // If this process ends before the sweep, the worker continues the sweep.
      await enqueue(
        tx,
        resumeJob,
        { sweepId: id },
        { runAt: new Date(Date.now() + handOver), key: `${resumeJob}:${id}` },
      )
      const [row] = await tx.$queryRawUnsafe<SweepRow[]>(
        `SELECT ${sweepColumns} FROM retention_sweeps WHERE id = $1`,
        id,
      )
      if (!row) throw new Error('a sweep that was begun is not there')
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

    sweeps: read(listSweeps, async (_ctx, { query: { cursor, limit } }) => {
      const after = parseCursor(cursor)
      const [records, [count]] = await Promise.all([
        db.query<SweepRow>(
          'sweeps-page',
          `SELECT ${sweepColumns} FROM retention_sweeps WHERE $1::timestamptz IS NULL OR (started_at, id) < ($1::timestamptz, $2)
           ORDER BY started_at DESC, id DESC LIMIT $3`,
          [after?.at ?? null, after?.id ?? null, limit + 1],
        ),
        db.query<{ n: number }>(
          'sweeps-count',
          'SELECT count(*)::int AS n FROM (SELECT FROM retention_sweeps LIMIT $1) AS counted',
          [countedTo],
        ),
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
      const row = await sweepOf(id)
      if (!row) throw new Problem('not_found', 'There is no such sweep.')
      return { body: { data: presented(row) }, resourceId: id }
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
      if ((await sweepOf(id))?.finished_at === null)
        await db.transaction((tx) =>
          enqueue(
            tx,
            resumeJob,
            { sweepId: id },
            { runAt: new Date(Date.now() + handOver), key: `${resumeJob}:${id}` },
          ),
        )
    },
    /** Ends the sweeps of this process after their current batch; another process or the next sweep continues. */
    async stop(): Promise<void> {
      ending.abort()
      await Promise.allSettled(active)
    },
  }
}
export type RetentionService = ReturnType<typeof retentionService>

/** Returns true when the promise settles within this many milliseconds. */
async function isDoneWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const settled = work.then(
    () => true,
    () => true,
  )
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, milliseconds, false)
  })
  const isDone = await Promise.race([settled, late])
  clearTimeout(timer)
  return isDone
}

import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import type { Env } from '#lib/config/env.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { reportWithdrawn } from '#lib/domains/accounts/writes.ts'
import { deletionRows } from '#lib/domains/erasure/writes.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { type Approvable, approvable, type RequireApproval } from '#lib/kernel/approval.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { Counts, Expiring, Periods } from '#lib/kernel/expiring.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { job } from '#lib/kernel/job.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardRetention, mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { adminChanges } from '#lib/stores/postgres/personal-tables.ts'
import {
  dryRunRetention,
  editRetention,
  listSweeps,
  readRetention,
  readSweep,
  resetRetention,
  sweepRetention,
} from './contract.ts'
import {
  countSweeps,
  lastSweep,
  lockPeriods,
  measureSweeps,
  pageOfSweeps,
  type SweepRow,
  sweepById,
} from './repository.ts'
import { policyIn, presented, RetentionManager, type RetentionStores, type SweepOrder } from './retention-manager.ts'
import {
  dayMs,
  isShorter,
  type PeriodInForce,
  periodsOf,
  presets,
  type RetainedVisibility,
  retainedVisibilities,
  retentionChangesOf,
  retentionPolicyOf,
  type Shortening,
  timeToCancel,
} from './rules.ts'

export interface RetentionServiceDeps {
  stores: RetentionStores
  /** The periods of the environment. */
  environment: Periods
  requireApproval: RequireApproval
}

type PeriodSettings = Pick<Env, 'KP_RETENTION_NETWORK_DAYS' | 'KP_RETENTION_ORG_DAYS' | 'KP_RETENTION_PRIVATE_DAYS'>
/** The periods of the environment. */
export const environmentPeriods = (env: PeriodSettings): Periods => ({
  network: env.KP_RETENTION_NETWORK_DAYS,
  org: env.KP_RETENTION_ORG_DAYS,
  private: env.KP_RETENTION_PRIVATE_DAYS,
})

/** Milliseconds that a response waits for its sweep. */
const patience = 10_000
/** Milliseconds until the worker checks a requested sweep, and between further checks. */
const handOver = 30_000
export const sweepJob = 'retention.sweep'
const resumeJob = 'retention.resume'
const maxCounted = 1_001

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
      countSweeps(db, { limit: maxCounted }),
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

const resourceId = 'installation'
const upcomingDays = [7, 30]
const longestPreview = 30
/** Number of records that a dry run lists. */
const maxListed = 100

/** Returns the periods in force with their source. */
type PolicyNow = (tx?: Transaction) => Promise<Record<RetainedVisibility, PeriodInForce>>

export const policyReader =
  ({ db, clock }: Pick<RetentionStores, 'db' | 'clock'>, environment: Periods): PolicyNow =>
  async (tx = db.prisma) => {
    const now = clock.now()
    const shortenings = await tx.retentionShortening.findMany()
    const withdrawn = await withdrawnShortenings(tx, shortenings, now)
    return retentionPolicyOf(
      environment,
      await tx.retentionOverride.findMany(),
      shortenings.filter((one) => !withdrawn.has(one)),
      now,
    )
  }

/**
 * The shortenings that never come into force: their time to cancel has ended, the account that set them is known to be no admin anymore, and no
 * sweep has applied them.
 */
async function withdrawnShortenings<S extends Pick<Shortening, 'startsAt' | 'setBy'>>(
  tx: Transaction,
  shortenings: readonly S[],
  now: Date,
): Promise<Set<S>> {
  const due = shortenings.filter(({ startsAt }) => startsAt <= now)
  if (due.length === 0) return new Set()
  const former = await accountDirectory.formerAdmins(
    tx,
    due.map(({ setBy }) => setBy),
  )
  const swept = await tx.retentionSweep.findFirst({ orderBy: { startedAt: 'desc' }, select: { startedAt: true } })
  const isApplied = ({ startsAt }: S) => swept !== null && swept.startedAt >= startsAt
  return new Set(due.filter((one) => former.has(one.setBy) && !isApplied(one)))
}

/**
 * Turns shortenings that are in force into overrides, so that the next change starts from them, and no later change of the admin's role ends
 * them. A shortening whose admin is known to have lost the role before a sweep applied it is withdrawn instead, and the admins are told.
 */
async function settleShortenings(
  { audit }: Pick<RetentionStores, 'audit'>,
  { tx, now }: { tx: Transaction; now: Date },
): Promise<void> {
  const shortenings = await tx.retentionShortening.findMany({ where: { startsAt: { lte: now } } })
  const withdrawn = await withdrawnShortenings(tx, shortenings, now)
  if (withdrawn.size > 0) await reportWithdrawn(tx, { order: 'retention' }, now)
  for (const one of shortenings) {
    const { visibility, days, isReset, setBy, setAt } = one
    if (withdrawn.has(one))
      await audit(tx, {
        action: 'update',
        actorId: `system:${sweepJob}`,
        resourceType: 'retention',
        resourceId,
        at: now,
        ip: '',
        details: { withdrawn: { [visibility]: days } },
      })
    else if (isReset) await tx.retentionOverride.deleteMany({ where: { visibility } })
    else {
      const row = { days, setBy, setAt }
      await tx.retentionOverride.upsert({ where: { visibility }, create: { visibility, ...row }, update: row })
    }
    await tx.retentionShortening.delete({ where: { visibility } })
  }
}

/** Sets a period. A shorter one waits until {@link timeToCancel} has passed; any other is in force now, and cancels one that waits. */
async function setPeriod(
  { tx, now, actor }: MutationContext,
  { days: before, next }: PeriodInForce,
  { visibility, days, isReset }: { visibility: RetainedVisibility; days: number | null; isReset: boolean },
): Promise<void> {
  const set = { setBy: actor.id, setAt: now }
  if (days !== null && isShorter(before, days)) {
    const startsAt = new Date(now.getTime() + timeToCancel)
    const row = { days, isReset, startsAt, ...set }
    // The same period again does not start its time again.
    if (next?.days === days) await tx.retentionShortening.update({ where: { visibility }, data: { isReset } })
    else await tx.retentionShortening.upsert({ where: { visibility }, create: { visibility, ...row }, update: row })
    return
  }
  await tx.retentionShortening.deleteMany({ where: { visibility } })
  if (isReset) await tx.retentionOverride.deleteMany({ where: { visibility } })
  else if (!next || days !== before)
    await tx.retentionOverride.upsert({
      where: { visibility },
      create: { visibility, days, ...set },
      update: { days, ...set },
    })
}

/** Counts the records that are due at a time under these periods. */
async function dueAt({ expiring }: RetentionStores, periods: Periods, at: Date) {
  const sum: Counts = { network: 0, org: 0, private: 0, held: 0 }
  for (const one of expiring) {
    const due = await one.due(periods, at)
    for (const key of [...retainedVisibilities, 'held'] as const) sum[key] += due[key]
  }
  return { ...sum, total: sum.network + sum.org + sum.private }
}
/** The first records that are due at a time under these periods, by the day on which they expire. */
async function recordsDueAt({ expiring }: RetentionStores, periods: Periods, at: Date) {
  const lists = await Promise.all(
    expiring.map(async (one) =>
      (await one.list(periods, at, maxListed)).map(({ id, visibility, agentId, storedAt }) => ({
        id,
        kind: one.scope,
        visibility,
        agent_id: agentId,
        stored_at: storedAt,
        expires_at: new Date(storedAt.getTime() + (periods[visibility] ?? 0) * dayMs),
      })),
    ),
  )
  return lists
    .flat()
    .sort((one, other) => one.expires_at.getTime() - other.expires_at.getTime())
    .slice(0, maxListed)
}

/** Use cases that read and change the retention periods, and that count what they would delete. */
function retentionPolicy({ stores, environment, requireApproval }: RetentionServiceDeps, policyNow: PolicyNow) {
  const policyBody = async (tx?: Transaction) => ({ data: { policy: await policyNow(tx), presets } })
  /** Changes periods; the guard decides about those that become shorter. */
  async function setPeriods(ctx: MutationContext, changes: Partial<Periods>, isReset: boolean): Promise<void> {
    await lockPeriods(ctx.tx, {})
    await settleShortenings(stores, ctx)
    const before = await policyNow(ctx.tx)
    const changed = retainedVisibilities.flatMap((visibility) => {
      const days = changes[visibility]
      return days === undefined ? [] : [{ visibility, days, isReset }]
    })
    guardRetention(
      ctx,
      changed.some(({ visibility, days }) => isShorter(before[visibility].days, days)),
    )
    for (const one of changed) await setPeriod(ctx, before[one.visibility], one)
  }
  /** Whether the change only cancels shorter periods that wait, by the days in force. One admin may do that alone. */
  async function onlyCancels(tx: Transaction, changes: Partial<Periods>): Promise<boolean> {
    const present = await policyNow(tx)
    const changed = retainedVisibilities.filter((visibility) => changes[visibility] !== undefined)
    return (
      changed.length > 0 &&
      changed.every((one) => changes[one] === present[one].days && present[one].next !== undefined)
    )
  }
  return {
    read: read(readRetention, async () => ({ body: await policyBody(), resourceId })),

    edit: mutation(editRetention, async (ctx, { body }) => {
      const changes = retentionChangesOf(body)
      if (!(await onlyCancels(ctx.tx, changes)))
        await requireApproval(ctx, { operation: editRetention, input: { body } })
      await setPeriods(ctx, changes, false)
      return { body: await policyBody(ctx.tx), resourceId, details: { set: changes } }
    }),

    reset: mutation(resetRetention, async (ctx) => {
      const { tx } = ctx
      await requireApproval(ctx, { operation: resetRetention, input: {} })
      const count = await tx.retentionOverride.count()
      await setPeriods(ctx, environment, true)
      return { body: await policyBody(tx), resourceId, details: { removed: count } }
    }),

    dryRun: read(dryRunRetention, async ({ now }, { body }) => {
      const periods = { ...periodsOf(await policyNow()), ...retentionChangesOf(body) }
      const due = await dueAt(stores, periods, now)
      const upcoming = []
      for (const days of upcomingDays)
        upcoming.push({ within_days: days, ...(await dueAt(stores, periods, new Date(now.getTime() + days * dayMs))) })
      const records = await recordsDueAt(stores, periods, new Date(now.getTime() + longestPreview * dayMs))
      return {
        body: { data: { policy: periods, at: now, would_delete: due, upcoming, records } },
        resourceId,
        details: { dryRun: true, count: due.total },
      }
    }),
  }
}

/** Retention periods, and the sweeps that this process executes. */
export function retentionService(deps: RetentionServiceDeps) {
  const { stores, environment, requireApproval } = deps
  const { db } = stores
  const ending = new AbortController()
  const active = new Set<Promise<unknown>>()
  const policyNow = policyReader(stores, environment)
  const managerOf = ({ network, org, private: own }: Periods) =>
    new RetentionManager(stores, { networkDays: network, orgDays: org, privateDays: own })
  const sweepOf = async (id: string): Promise<SweepRow | undefined> => (await sweepById(db, { id }))[0]

  /** Executes a started sweep in this process. Closing the application waits for its current batch. */
  function executeSweep(manager: RetentionManager, id: string, ip: string): Promise<unknown> {
    const carried = manager.executeSweep(id, { ip, signal: ending.signal })
    active.add(carried)
    const done = () => active.delete(carried)
    carried.then(done, done)
    return carried
  }

  return {
    /** The periods in force with their source. */
    policyNow,
    ...retentionPolicy(deps, policyNow),
    ...sweepHistory(stores),

    sweep: mutation(sweepRetention, async (ctx) => {
      const { tx, now, actor, ip } = ctx
      await requireApproval(ctx, { operation: sweepRetention, input: {} })
      await lockPeriods(tx, {})
      await settleShortenings(stores, ctx)
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
          const carried = executeSweep(manager, id, ip)
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
      await db.transaction(async (tx) => {
        await lockPeriods(tx, {})
        await settleShortenings(stores, { tx, now: stores.clock.now() })
      })
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
      await executeSweep(managerOf(policyIn(row)), id, '')
      if ((await sweepOf(id))?.finished_at === null) await db.transaction((tx) => enqueueResume(tx, id))
    },
    /** Ends the sweeps of this process after their current batch; another process or the next sweep continues. */
    async stop(): Promise<void> {
      ending.abort()
      await Promise.allSettled(active)
    },
  }
}
type RetentionService = ReturnType<typeof retentionService>

const now = ({ network, org, private: own }: Periods) => ({ network_now: network, org_now: org, private_now: own })
const next = ({ network, org, private: own }: Periods) => ({ network_next: network, org_next: org, private_next: own })

/** Actions that decide when data is deleted. */
export function retentionApprovables({
  env,
  ...stores
}: Parameters<typeof policyReader>[0] & { env: PeriodSettings }): readonly Approvable[] {
  const environment = environmentPeriods(env)
  const policyNow = policyReader(stores, environment)
  const periods = async (tx: Transaction) => periodsOf(await policyNow(tx))
  return [
    approvable(editRetention, async (tx, { body }) => {
      const before = await periods(tx)
      return { facts: { ...now(before), ...next({ ...before, ...retentionChangesOf(body) }) } }
    }),
    approvable(resetRetention, async (tx) => ({ facts: { ...now(await periods(tx)), ...next(environment) } })),
    approvable(sweepRetention, async (tx) => ({ facts: now(await periods(tx)) })),
  ]
}

const retentionJobs = (retention: RetentionService) => [
  job({ name: sweepJob, payload: z.unknown(), cron: '13 * * * *', run: () => retention.sweepByClock() }),
  job({
    name: resumeJob,
    payload: z.strictObject({ sweepId: z.string() }),
    run: (_ctx, { sweepId }) => retention.resume(sweepId),
  }),
]

/** Retained records: who set a retention period and who requested a sweep. */
const retainedSweepRecords = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'retention.periods',
    what: 'retention periods that you set',
    table: 'retention_overrides',
    by: ['set_by'],
    at: 'set_at',
  }),
  adminChanges(db, {
    name: 'retention.shortenings',
    what: 'shorter retention periods that you set and that are not in force yet',
    table: 'retention_shortenings',
    by: ['set_by'],
    at: 'set_at',
  }),
  adminChanges(db, {
    name: 'retention.sweeps',
    what: 'retention sweeps that you started',
    table: 'retention_sweeps',
    by: ['requested_by'],
    at: 'started_at',
  }),
]

export const retentionData = (db: Database): PersonalData => ({ retainedRecords: retainedSweepRecords(db) })

const hour = 3_600_000
/** Tolerance in milliseconds: the sweep is hourly, so records that are due for longer were missed. */
const slack = 2 * hour
const longestSilence = 24 * hour

/** Checks the storage limitation (GDPR art. 5(1)(e)) of records whose retention period an admin can set. */
const retentionEvidence = ({
  expiring,
  periods,
}: {
  expiring: readonly Pick<Expiring, 'due'>[]
  periods(): Promise<Periods>
}): EvidenceCheck[] => [
  {
    line: 'storage_limitation',
    name: 'retention.expired',
    page: '/admin/retention#force',
    async ask(_query, now) {
      const inForce = await periods()
      const sum: Counts = { network: 0, org: 0, private: 0, held: 0 }
      for (const one of expiring) {
        const due = await one.due(inForce, new Date(now.getTime() - slack))
        for (const key of ['network', 'org', 'private', 'held'] as const) sum[key] += due[key]
      }
      const expired = sum.network + sum.org + sum.private
      return {
        state: failsIf(expired > 0),
        // -1: unlimited. The console shows these periods on the retention page.
        numbers: {
          expired,
          held: sum.held,
          network: inForce.network ?? -1,
          org: inForce.org ?? -1,
          private: inForce.private ?? -1,
        },
      }
    },
  },
  {
    line: 'storage_limitation',
    name: 'retention.sweep',
    page: '/admin/retention#sweeps',
    async ask(query, now) {
      const [row] = await lastSweep(query, { since: new Date(now.getTime() - longestSilence) })
      const last = row?.last ?? null
      const silence = last === null ? Number.POSITIVE_INFINITY : now.getTime() - last.getTime()
      return {
        state: silence <= slack ? 'holds' : last !== null && silence > longestSilence ? 'fails' : 'attention',
        numbers: { interrupted: row?.interrupted ?? 0, late: silence <= slack ? 0 : 1 },
        times: { last },
      }
    },
  },
]

const day = 86_400_000

/** Metrics: when the last sweep ended, and totals of the sweeps of the last day. */
const retentionMeasures = (db: Database): Measuring => ({
  name: 'retention',
  async measure(now) {
    const [row] = await measureSweeps(db, { since: new Date(now.getTime() - day) })
    const gauge = (name: `kp_${string}`, help: string, value: number) =>
      ({ name, help, type: 'gauge', samples: [{ value }] }) as const
    return [
      ...(row?.finished_at
        ? [
            gauge(
              'kp_retention_last_sweep_timestamp_seconds',
              'End of the last completed retention sweep',
              row.finished_at.getTime() / 1000,
            ),
          ]
        : []),
      gauge('kp_retention_sweeps', 'Retention sweeps started within the last day', row?.sweeps ?? 0),
      gauge(
        'kp_retention_sweeps_interrupted',
        'Retention sweeps of the last day that were interrupted',
        row?.interrupted ?? 0,
      ),
      gauge(
        'kp_retention_deleted',
        'Units and skills deleted by the retention sweeps of the last day',
        row?.deleted ?? 0,
      ),
      gauge(
        'kp_retention_held',
        'Expired units and skills that the last sweep retained under a legal hold',
        row?.held ?? 0,
      ),
    ]
  },
})

/** Retention periods and the sweeps that apply them. */
export function retentionModule({
  db,
  clock,
  env,
  expiring,
  log,
  requireApproval,
}: Pick<RetentionStores, 'db' | 'clock' | 'expiring'> &
  Pick<Parameters<typeof retentionService>[0], 'requireApproval'> & {
    env: Parameters<typeof environmentPeriods>[0]
    log: { auditWithin: RetentionStores['audit'] }
  }) {
  const stores: RetentionStores = { db, clock, deletionRows, expiring, audit: log.auditWithin }
  const retention = retentionService({ stores, environment: environmentPeriods(env), requireApproval })
  const periods = async () => periodsOf(await retention.policyNow())
  return {
    useCases: { retention },
    jobs: retentionJobs(retention),
    checks: retentionEvidence({ expiring, periods }),
    measures: [retentionMeasures(db)],
    /** What a sweep needs. */
    stores,
    /** The periods in force, without those that are announced. */
    periods,
  }
}

import { z } from 'zod'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { agentNames, agentOf } from '#lib/domains/agents/queries.ts'
import { isStored, sharedTitles } from '#lib/domains/knowledge/queries.ts'
import { isProject, projectNames } from '#lib/domains/projects/queries.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { type Approvable, approvable, type RequireApproval } from '#lib/kernel/approval.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { createHold, listHolds, releaseHold } from './contract.ts'
import {
  heldVersionDataSource,
  heldVersionExporters,
  heldVersionPersonExporters,
  retainedHolds,
  type SealedVersionColumn,
} from './personal-data.ts'
import { deleteUncoveredVersions, lockChangesExclusively, lockHoldsExclusively, lockHoldsShared } from './repository.ts'
import { type HoldKind, holdKinds, holdsOfTokensPerDay, isInForce } from './rules.ts'

/** Ids of held targets, by kind. */
interface HeldIds {
  accounts: string[]
  agents: string[]
  projects: string[]
  /** Units and skills. */
  records: string[]
}

/** The current names of people, agents and projects, and titles of records that admins may see, by id. */
async function heldNames(tx: Transaction, ids: HeldIds): Promise<ReadonlyMap<string, string>> {
  const [accounts, agents, projects, records] = await Promise.all([
    accountDirectory.namesOf(tx, ids.accounts),
    agentNames(tx, ids.agents),
    projectNames(tx, ids.projects),
    sharedTitles(tx, ids.records),
  ])
  return new Map([...accounts, ...agents, ...projects, ...records])
}

/** Whether the target of a hold exists. */
async function exists(tx: Transaction, kind: HoldKind, id: string): Promise<boolean> {
  if (kind === 'account') return (await accountDirectory.byId(tx, id)) !== undefined
  if (kind === 'project') return isProject(tx, id)
  return kind === 'agent' ? (await agentOf(tx, id)) !== null : isStored(tx, kind, id)
}

export interface HoldsServiceDeps {
  db: Database
  /** Called in the transaction that releases a hold, so that waiting erasures continue. */
  onReleased(tx: Transaction): Promise<void>
  strict: boolean
  requireApproval: RequireApproval
}

interface HoldRow {
  id: string
  kind: string
  targetId: string
  reason: string
  createdBy: string
  createdAt: Date
  expiresAt: Date | null
  releasedAt: Date | null
  releasedBy: string | null
}
const countedTo = 1_001
const Kind = z.enum(holdKinds)

const person = 'user:'
/** The account behind an actor; undefined for tokens. */
const accountOf = (actor: string | null): string | undefined =>
  actor?.startsWith(person) ? actor.slice(person.length) : undefined

function idsIn(rows: readonly HoldRow[]): HeldIds {
  const targets = (kind: HoldKind) => rows.filter((row) => row.kind === kind).map(({ targetId }) => targetId)
  const actors = rows.flatMap(({ createdBy, releasedBy }) => [accountOf(createdBy), accountOf(releasedBy)])
  return {
    accounts: [...new Set([...targets('account'), ...actors.filter((id) => id !== undefined)])],
    agents: targets('agent'),
    projects: targets('project'),
    records: [...targets('unit'), ...targets('skill')],
  }
}

/** The answer to a POST is stored for repetition, so it has no names. */
const noNames: ReadonlyMap<string, string> = new Map()

const presented = (row: HoldRow, now: Date, names = noNames) => ({
  id: row.id,
  kind: Kind.parse(row.kind),
  target_id: row.targetId,
  reason: row.reason,
  active: isInForce(row, now),
  created_by: row.createdBy,
  created_at: row.createdAt,
  expires_at: row.expiresAt,
  released_at: row.releasedAt,
  released_by: row.releasedBy,
  target_name: names.get(row.targetId) ?? null,
  created_by_name: names.get(accountOf(row.createdBy) ?? '') ?? null,
  released_by_name: names.get(accountOf(row.releasedBy) ?? '') ?? null,
})

export const heldVersionsJob = 'holds.delete-versions'
const batch = 1_000
const day = 86_400_000

/** Deletes the versions that expired holds preserved. The release of a hold begins this job at once. */
function holdsJobs() {
  async function removeUncovered(ctx: Context, tx: Transaction): Promise<number> {
    await lockHoldsShared(tx, { now: ctx.now })
    const versionsDeleted = await deleteUncoveredVersions(tx, { now: ctx.now, max: batch })
    return notePurge(ctx, tx, {
      what: 'held versions of records that no legal hold covers any more',
      results: { versionsDeleted },
      resourceType: 'hold',
      resourceId: 'ended',
    })
  }
  return [
    job({
      name: heldVersionsJob,
      payload: z.unknown(),
      cron: '*/10 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeUncovered(ctx, tx))) === batch);
      },
    }),
  ]
}

/**
 * Bounds the holds that tokens create in a day: a leaked one could otherwise stop every erasure, and each hold is released in person. Exact
 * while holds are locked exclusively. @throws {Problem} `rate_limited`
 */
async function boundTokens(tx: Transaction, now: Date): Promise<void> {
  const since = new Date(now.getTime() - day)
  const [oldest] = await tx.legalHold.findMany({
    where: { createdAt: { gt: since }, NOT: { createdBy: { startsWith: person } } },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: holdsOfTokensPerDay - 1,
    take: 1,
    select: { createdAt: true },
  })
  if (!oldest) return
  const seconds = Math.max(1, Math.ceil((oldest.createdAt.getTime() + day - now.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `Tokens can create ${holdsOfTokensPerDay} legal holds per day. No hold was created. An admin creates further ones in the console, under Holds.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/**
 * Use cases for legal holds. Other domains read them through the view `holds_in_force`, under a shared advisory lock
 * named `legal_holds`.
 */
export function holdsService({ db, onReleased, requireApproval, strict }: HoldsServiceDeps) {
  return {
    create: mutation(createHold, async (ctx, { body }) => {
      const { tx, now, actor } = ctx
      if (body.expires_at && body.expires_at <= now) throw invalid(['expires_at'], 'must be in the future')
      const reason = plainTextPhrases(body.reason, 'reason', strict, 'No hold was created.')
      const requireTarget = async () => {
        if (!(await exists(tx, body.kind, body.target_id)))
          throw new Problem('not_found', `The ${body.kind} does not exist. Check the id. No hold was created.`)
      }
      // The locks below stop every change of records, so a request that is refused must not take them.
      await requireTarget()
      await requireApproval(ctx, { operation: createHold, input: { body } })
      // Waits for running erasures and sweeps, then for running changes: everything that exists afterwards is held.
      await lockHoldsExclusively(tx, {})
      await lockChangesExclusively(tx, {})
      if (actor.kind === 'agent') await boundTokens(tx, now)
      await requireTarget()
      const row = await tx.legalHold.create({
        data: {
          id: newId('hold'),
          kind: body.kind,
          targetId: body.target_id,
          reason,
          createdBy: actor.id,
          createdAt: now,
          expiresAt: body.expires_at ?? null,
        },
      })
      return {
        body: { data: presented(row, now) },
        resourceId: row.id,
        details: { kind: row.kind, target: row.targetId },
        headers: { Location: '/v1/holds' },
      }
    }),

    list: read(listHolds, async ({ now }, { query: { active, q, cursor, limit } }) => {
      const after = parseCursor(cursor)
      const inForce = { releasedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] }
      const named = q === undefined ? {} : { OR: [{ id: { startsWith: q } }, { targetId: { startsWith: q } }] }
      const which = { AND: [named, active === undefined ? {} : active ? inForce : { NOT: inForce }] }
      const older = after
        ? { OR: [{ createdAt: { lt: after.at } }, { createdAt: after.at, id: { lt: after.id } }] }
        : {}
      const [records, total] = await Promise.all([
        db.prisma.legalHold.findMany({
          where: { AND: [which, older] },
          orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
          take: limit + 1,
        }),
        db.prisma.legalHold.count({ where: which, take: countedTo }),
      ])
      const { shown, page } = pageOf(records, limit, total, ({ createdAt, id }) => ({ at: createdAt, id }))
      const names = await heldNames(db.prisma, idsIn(shown))
      return {
        body: { data: shown.map((row) => presented(row, now, names)), ...page },
        resourceId: 'list',
        details: { count: shown.length },
      }
    }),

    release: mutation(releaseHold, async (ctx, { params }) => {
      const { tx, now, actor } = ctx
      const { id } = params
      // Waits for transactions that finish under this hold; they continue with the remaining records.
      await lockHoldsExclusively(tx, {})
      // Releasing again changes nothing.
      if ((await tx.legalHold.count({ where: { id, releasedAt: null } })) > 0)
        await requireApproval(ctx, { operation: releaseHold, input: { params } })
      const { count } = await tx.legalHold.updateMany({
        where: { id, releasedAt: null },
        data: { releasedAt: now, releasedBy: actor.id },
      })
      const row = await tx.legalHold.findUnique({ where: { id } })
      if (!row) throw new Problem('not_found', 'This hold does not exist.')
      if (count > 0) {
        await enqueue(tx, heldVersionsJob, {}, { key: heldVersionsJob })
        await onReleased(tx)
      }
      return {
        body: { data: presented(row, now) },
        resourceId: id,
        details: { kind: row.kind, target: row.targetId, changed: count > 0 },
      }
    }),
  }
}

interface Held {
  kind: string
  targetId: string
  reason: string
  until: Date | null
}

/** Actions that change what erasures and sweeps may delete. */
export function holdApprovables(): readonly Approvable[] {
  async function described(tx: Transaction, { kind, targetId, reason, until }: Held) {
    const only = (one: string) => (kind === one ? [targetId] : [])
    // Facts of a proposal outlive the record, so they contain no title.
    const ids = { accounts: only('account'), agents: only('agent'), projects: only('project'), records: [] }
    const names = await heldNames(tx, ids)
    return {
      subjects: [...only('account'), ...only('agent')],
      facts: { kind, target: targetId, name: names.get(targetId) ?? null, reason, until: until?.toISOString() ?? null },
    }
  }
  return [
    approvable(createHold, (tx, { body: { kind, target_id: targetId, reason, expires_at: until = null } }) =>
      described(tx, { kind, targetId, reason, until }),
    ),
    approvable(releaseHold, async (tx, { params: { id } }) => {
      const row = await tx.legalHold.findUnique({ where: { id, releasedAt: null } })
      if (!row) throw new Problem('not_found', 'This hold does not exist, or it was released.')
      return described(tx, { ...row, until: row.expiresAt })
    }),
  ]
}

export const holdsData = ({
  db,
  sealed,
}: {
  db: Database
  /** The columns of all domains whose values are stored sealed. */
  sealed: readonly SealedVersionColumn[]
}): PersonalData => ({
  dataSources: [heldVersionDataSource(db, sealed)],
  exporters: heldVersionExporters({ db, sealed }),
  personExporters: heldVersionPersonExporters({ db, sealed }),
  retainedRecords: retainedHolds(db),
})

/** Legal holds. */
export const holdsModule = (deps: Parameters<typeof holdsService>[0]) => ({
  useCases: { holds: holdsService(deps) },
  jobs: holdsJobs(),
})

import { Readable } from 'node:stream'
import type { PreparedExport } from '#generated/prisma/client.ts'
import { localeOf } from '#lib/domains/accounts/queries.ts'
import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { agentOf, lawfulBases, profileOf, selfHostedAmong } from '#lib/domains/agents/queries.ts'
import { isAttributed } from '#lib/domains/knowledge/queries.ts'
import { agentCopyRequest } from '#lib/domains/privacy-requests/queries.ts'
import { participationsOf } from '#lib/domains/projects/queries.ts'
import { tierLimits } from '#lib/domains/tokens/rules.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { Holding } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { Basis } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardExport, mutation, read, stream } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { zipArchive } from './archive.ts'
import {
  type CopyProblem,
  deleteExport,
  downloadExport,
  exportAgent,
  type formats,
  listCopyProblems,
  listExports,
  prepareExport,
  readExport,
  readInventory,
} from './contract.ts'
import { type DocumentHead, type ExportPart, exportPartsOf, jsonDocument, ndjsonDocument } from './document.ts'
import type { Attempt } from './export-files.ts'
import { documentImport } from './import.ts'
import { exportJobs, exportUpkeep, preparation } from './jobs.ts'
import { exportExporters, exportFilesDataSource, exportPersonExporters, exportRunsDataSource } from './personal-data.ts'
import {
  accountOf,
  type ExportsDeps,
  exportNotFound,
  exportNotice,
  orderPreparation,
  ownExport,
  type PreparationOrder,
  type PreparedExports,
  viewOf,
} from './prepared.ts'
import type { IndexLanguage } from './readable-index.ts'
import { copiesWithProblem, lockExportsOf, lockOwnExport, summaryOfExports } from './repository.ts'
import { overdueBefore, rememberedFor, schemaVersion, utcDayOf } from './rules.ts'

const bases: Record<string, string> = {
  consent: 'consent (GDPR art. 6(1)(a))',
  contract: 'contract (GDPR art. 6(1)(b))',
  legitimate_interest: 'legitimate interest (GDPR art. 6(1)(f))',
}
const contract = 'contract (GDPR art. 6(1)(b)): the account that you have here'

async function subjectOf(db: Database, { actor }: Context, agentId: string | undefined): Promise<Subject> {
  if (agentId === undefined) {
    const { accountId, agents } = actor
    if (accountId === undefined) return { account: null, agents }
    return { account: accountId, agents, participants: await participationsOf(db.prisma, accountId) }
  }
  if (!actor.agents.includes(agentId))
    throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
  return { account: null, agents: [agentId] }
}
const times = ({ since, until }: Holding) => ({
  since,
  until,
})

/** Concurrent queries of one inventory: few, so that it does not use all database connections. */
const atOnce = 4
/** The results of the queries, in the order of the items. */
const inOrder = <T, R>(items: readonly T[], query: (item: T) => Promise<R>): Promise<R[]> =>
  Readable.from(items).map(query, { concurrency: atOnce }).toArray()

/** Lists what is stored about a subject. Queries every personal data source, so everything that can be erased is listed. */
const inventory = ({ db, dataSources, retainedRecords, placeOf }: ExportsDeps) =>
  read(readInventory, async (ctx, { query: { agent_id: agentId } }) => {
    const subject = await subjectOf(db, ctx, agentId)
    const registered = (await lawfulBases(db, subject.agents)).map((name) => bases[name] ?? name).sort()
    const ofContent = registered.length > 0 ? registered.join(', ') : contract
    const data = await inOrder(dataSources, async (dataSource) => {
      const { name, store, stage, held: what = dataSource.what, purpose, kept: term, basis } = dataSource
      const holding = await dataSource.inventory(subject, ctx.now)
      return {
        holder: name,
        store,
        what,
        count: holding.count,
        ...times(holding),
        purpose,
        basis: basis ?? (stage === 'account' ? contract : ofContent),
        kept: term,
        where: placeOf(store),
      }
    })
    const beside = await inOrder(retainedRecords, async (one) => {
      const { name, store, what, purpose, basis, kept: term } = one
      const holding = await one.inventory(subject, ctx.now)
      return {
        name,
        store,
        what,
        count: holding?.count ?? null,
        ...times(holding ?? { count: 0, since: null, until: null }),
        purpose,
        basis,
        kept: term,
        where: placeOf(store),
      }
    })
    return {
      resourceId: agentId ?? ctx.actor.accountId ?? ctx.actor.id,
      details: { holders: data.length },
      body: {
        data,
        kept_beside: beside,
        total: data.reduce((sum, { count }) => sum + count, 0),
        subject: {
          account_id: subject.account,
          agents: [...subject.agents],
          self_hosted: await selfHostedAmong(db, subject.agents),
        },
        as_of: ctx.now,
      },
    }
  })

const max = 100

/** The copies that the compliance checks count as failed or late, for admins and auditors. */
const copyProblemList = ({ db }: Pick<PreparedExports, 'db'>) =>
  read(listCopyProblems, async ({ now }, { query: { scope: basis, problem } }) => {
    const remembered = new Date(now.getTime() - rememberedFor)
    const rows = await copiesWithProblem(db, { basis, remembered, overdue: overdueBefore(now), limit: max }, problem)
    return {
      body: {
        data: rows.map(({ created_at, expires_at, total: _, ...row }) => ({
          ...row,
          created_at,
          expires_at,
        })),
        total: rows[0]?.total ?? 0,
      },
      resourceId: 'list',
      details: { count: rows.length },
    }
  })

/**
 * Whose quota an export counts against: an agent's, when it or its owner requested it; a person's, for the export of
 * all their data.
 */
type Payer = { agentId: string } | { accountId: string }
interface ExportOrder {
  subjectId: string
  subjectKind: 'account' | 'agent'
  /** Undefined when an admin requests the export, or when it answers a privacy request. */
  payer: (Payer & { exportsPerDay: number | null }) | undefined
  requestedBy: string
  format: string
  basis: string
  now: Date
}

/** Stored as the requester of exports that answer privacy requests; they count against the person's quota. */
const requestActor = 'system:privacy.request'

const ofPayer = (payer: Payer) =>
  'agentId' in payer
    ? { agentId: payer.agentId }
    : {
        subjectId: payer.accountId,
        subjectKind: 'account',
        agentId: null,
        requestedBy: { in: [`user:${payer.accountId}`, requestActor] },
      }

/** Returns the number of exports that were started on this UTC day. */
function exportsOfDay(tx: Transaction, payer: Payer, now: Date): Promise<number> {
  const { start, end } = utcDayOf(now)
  return tx.exportRun.count({ where: { ...ofPayer(payer), at: { gte: start, lt: end } } })
}

/**
 * Records the start of an export. Calls for one payer are serialized, so the limit is exact.
 * @throws Problem `quota_exceeded`, which does not count as a rejection by the rate limiter and revokes no token
 */
async function beginExport(tx: Transaction, order: ExportOrder): Promise<void> {
  const { subjectId, subjectKind, payer, requestedBy, format, basis, now } = order
  if (payer && payer.exportsPerDay !== null) {
    await lockExportsOf(tx, { payer: 'agentId' in payer ? payer.agentId : payer.accountId })
    const used = await exportsOfDay(tx, payer, now)
    if (used >= payer.exportsPerDay)
      throw new Problem('quota_exceeded', {
        detail: `You can start ${payer.exportsPerDay.toLocaleString('en')} exports per day (UTC). Try again after midnight UTC.`,
        headers: { 'Retry-After': String(Math.ceil((utcDayOf(now).end.getTime() - now.getTime()) / 1000)) },
        extensions: { limit: payer.exportsPerDay, used },
      })
  }
  const agentId = payer && 'agentId' in payer ? payer.agentId : null
  await tx.exportRun.create({
    data: { id: newId('exp'), subjectId, subjectKind, agentId, requestedBy, format, basis, at: now },
  })
}

/**
 * Returns the id of the export that answers a privacy request, creating it in the caller's transaction if none
 * exists. It counts against the daily quota but is never rejected by it.
 * @throws Problem `fenced` when the account is being erased
 */
async function prepareForRequest(
  tx: Transaction,
  { accountId, requestId, basis, now }: PreparationOrder & { requestId: string },
): Promise<string> {
  const there = await tx.preparedExport.findFirst({
    where: { accountId, requestId, basis, state: { in: ['queued', 'running', 'ready'] } },
    select: { id: true },
  })
  if (there) return there.id
  const requested = { subjectId: accountId, subjectKind: 'account', requestedBy: requestActor } as const
  await beginExport(tx, { ...requested, payer: undefined, format: 'zip', basis, now })
  return (await orderPreparation(tx, { accountId, requestId, basis, now })).id
}

const exportPreparation = ({ files }: PreparedExports) =>
  mutation(prepareExport, async (ctx, { body: { scope: basis } }) => {
    const accountId = accountOf(ctx)
    const { tx, now, actor } = ctx
    await files.check()
    const reply = (row: PreparedExport, details: Record<string, unknown>) => ({
      body: { data: viewOf(row) },
      resourceId: row.id,
      details: { scope: basis, ...details },
      headers: { Location: `/api/privacy/exports/${row.id}` },
    })
    // Serializes the exports of one person, so that the second of two concurrent calls joins the first.
    await lockExportsOf(tx, { payer: accountId })
    const joined = await tx.preparedExport.findFirst({
      where: { accountId, basis, requestId: null, state: { in: ['queued', 'running'] } },
    })
    if (joined) return reply(joined, { joined: true })
    const payer = { accountId, exportsPerDay: actor.quota.exportsPerDay }
    await beginExport(tx, {
      subjectId: accountId,
      subjectKind: 'account',
      payer,
      requestedBy: actor.id,
      format: 'zip',
      basis,
      now,
    })
    return reply(await orderPreparation(tx, { accountId, requestId: null, basis, now }), {})
  })

const exportList = ({ db }: PreparedExports) =>
  read(listExports, async (ctx, { query: { limit, cursor } }) => {
    const accountId = accountOf(ctx)
    const after = parseCursor(cursor)
    const rows = await db.prisma.preparedExport.findMany({
      where: {
        accountId,
        ...(after && { OR: [{ createdAt: { lt: after.at } }, { createdAt: after.at, id: { lt: after.id } }] }),
      },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit + 1,
    })
    const total = await db.prisma.preparedExport.count({ where: { accountId } })
    const { shown, page } = pageOf(rows, limit, total, ({ createdAt, id }) => ({ at: createdAt, id }))
    return {
      resourceId: 'query',
      details: { count: shown.length },
      body: {
        data: shown.map(viewOf),
        ...page,
        quota: {
          limit: ctx.actor.quota.exportsPerDay,
          used: await exportsOfDay(db.prisma, { accountId }, ctx.now),
          resets_at: utcDayOf(ctx.now).end,
        },
      },
    }
  })

const exportDeletion = (ports: PreparedExports) =>
  mutation(deleteExport, async (ctx, { params: { id } }) => {
    const accountId = accountOf(ctx)
    const [row] = await lockOwnExport(ctx.tx, { id, account: accountId })
    if (!row) throw exportNotFound()
    if (row.attempt !== null) await ports.files.check()
    const deleted = await ctx.tx.preparedExport.delete({ where: { id } })
    await exportNotice(ports, ctx.tx, deleted, 'gone', ctx.now)
    return {
      body: undefined,
      resourceId: id,
      // After a crash here, no row has the file, so the upkeep job deletes it.
      afterCommit: async () => {
        if (deleted.attempt !== null) await ports.files.remove({ id, attempt: deleted.attempt })
        return { body: undefined }
      },
    }
  })

/** Passes the pieces on while the export exists, which it checks once a second. */
async function* whileThere(
  db: Database,
  which: Attempt,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let asked = performance.now()
  for await (const piece of pieces) {
    if (performance.now() - asked > 1_000) {
      asked = performance.now()
      const there = await db.prisma.preparedExport.count({ where: { ...which, state: 'ready' } })
      if (there === 0) throw new Error('The export was deleted during its download.')
    }
    yield piece
  }
}

function refuseUnready({ state, fault }: PreparedExport, isDeleted: boolean): void {
  if (state === 'queued' || state === 'running')
    throw new Problem('wrong_state', 'The export is not ready yet. Try again in a moment.')
  if (state === 'failed') throw new Problem('expired', 'The export failed, so there is no file. Start another export.')
  if (isDeleted)
    throw new Problem(
      'expired',
      fault === 'erased'
        ? 'The file was deleted because data in it was erased. Start another export for the remaining data.'
        : 'The file expired after four hours. Start another export.',
    )
}
/** Records that the file was read to its end. */
const markDownloaded = (ports: PreparedExports, row: PreparedExport, now: Date): Promise<void> =>
  ports.db.transaction(async (tx) => {
    const { count } = await tx.preparedExport.updateMany({
      where: { id: row.id, downloadedAt: null },
      data: { downloadedAt: now },
    })
    if (count > 0) await exportNotice(ports, tx, row, 'fetched', now)
  })
async function* marksDownloaded(
  ports: PreparedExports,
  ctx: Context,
  row: PreparedExport,
  pieces: AsyncIterable<Uint8Array>,
) {
  yield* pieces
  await markDownloaded(ports, row, ctx.pipeline.clock.now())
}

/** Streams the file of a person's own export, and records a complete download. */
const exportDownload = (ports: PreparedExports) => {
  const { db, files } = ports
  return stream(downloadExport, async (ctx, { params: { id } }) => {
    const row = await ownExport(ports, ctx, id)
    // Checks the time, because the job that deletes files may be late.
    const isOver = row.expiresAt !== null && row.expiresAt <= ctx.now
    refuseUnready(row, isOver || row.state === 'expired' || row.attempt === null)
    const which = { id: row.id, attempt: row.attempt ?? '' }
    if (!(await files.exists(which)))
      throw new Problem('unavailable', {
        detail:
          'The file is not on this server. If several servers run this installation, they must share one folder of exports.',
        headers: { 'Retry-After': '60' },
      })
    return {
      body: marksDownloaded(ports, ctx, row, whileThere(db, which, files.read(which))),
      resourceId: row.id,
      details: { scope: row.basis },
      headers: {
        'Content-Type': 'application/zip',
        'Content-Disposition': `attachment; filename="export-${row.createdAt.toISOString().slice(0, 10)}.zip"`,
        'Content-Length': String(row.bytes ?? 0),
      },
    }
  })
}

/** Use cases of people for their own exports as files. */
function preparedExports(ports: PreparedExports) {
  return {
    prepare: prepareForRequest,
    prepareExport: exportPreparation(ports),
    listExports: exportList(ports),
    readExport: read(readExport, async (ctx, { params: { id } }) => {
      const row = await ownExport(ports, ctx, id)
      return { body: { data: viewOf(row) }, resourceId: row.id }
    }),
    downloadExport: exportDownload(ports),
    deleteExport: exportDeletion(ports),
  }
}

type Format = (typeof formats)[number]

const mediaTypes: Record<Format, string> = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  zip: 'application/zip',
}
const body = (
  format: Format,
  head: DocumentHead,
  parts: readonly ExportPart[],
  locale: IndexLanguage,
): AsyncIterable<string | Uint8Array> => {
  switch (format) {
    case 'json':
      return jsonDocument(head, parts)
    case 'ndjson':
      return ndjsonDocument(head, parts)
    case 'zip':
      return zipArchive(head, parts, { locale })
  }
}

/**
 * Returns the agent whose quota the export uses, if any. An admin can also export somebody who is not an agent but is
 * named by units.
 */
async function payerOf(db: Database, { actor }: Context, agentId: string) {
  const isOwn = actor.agents.includes(agentId)
  const agent = isOwn || actor.isAdmin ? await profileOf(db, agentId) : null
  const quota = agent ? tierLimits[agent.tier] : undefined
  if (!quota && !(actor.isAdmin && (await isAttributed(db, agentId))))
    throw new Problem('not_found', 'There is no such agent, or it is not yours to export.')
  return isOwn && quota ? { agentId, ...quota } : undefined
}

/** Sends the owner of the agent, if it has one, an email about the export. */
async function notifyOwner(tx: Transaction, agentId: string, now: Date): Promise<void> {
  const owner = (await agentOf(tx, agentId))?.ownerId
  if (owner) await enqueueNotice(tx, { kind: 'data-exported', accountId: owner, agentId, at: now })
}

const agentExport = ({ db, exporters }: Pick<ExportsDeps, 'db' | 'exporters'>) =>
  stream(exportAgent, async (ctx, { params: { agent_id: agentId }, query: { format, scope } }) => {
    const { actor, now } = ctx
    // Anonymous reading covers units of the network, never an export.
    if (actor.kind === 'anonymous') throw new Problem('token_missing')
    const payer = await payerOf(db, ctx, agentId)
    const isOwn = payer !== undefined
    const request = isOwn ? undefined : await agentCopyRequest(db, agentId, now)
    const seesPrivate = guardExport(ctx, { isOwn, isRequested: request !== undefined })
    await ctx.pipeline.transaction(async (tx) => {
      await beginExport(tx, {
        subjectId: agentId,
        subjectKind: 'agent',
        payer,
        requestedBy: actor.id,
        format,
        basis: scope,
        now,
      })
      if (!isOwn && seesPrivate) await notifyOwner(tx, agentId, now)
    })
    const { id, agents, organisationId, isAdmin } = actor
    const parts = exportPartsOf(exporters, agentId, {
      basis: scope,
      id,
      agents,
      organisationId,
      isAdmin,
      seesPrivate,
      until: now,
    })
    const mark: Pick<DocumentHead, 'exported_by' | 'private_content' | 'request_id'> = isOwn
      ? {}
      : {
          exported_by: id,
          private_content: seesPrivate ? 'included' : 'left_out',
          ...(request !== undefined && { request_id: request }),
        }
    const locale = actor.accountId === undefined ? 'en' : await localeOf(db, actor.accountId)
    const head = { agent_id: agentId, exported_at: now.toISOString(), schema_version: schemaVersion, scope, ...mark }
    return {
      body: body(format, head, parts, locale),
      resourceId: agentId,
      details: { format, scope, ...(!isOwn && { private_content: mark.private_content, request: request ?? null }) },
      headers: {
        'Content-Type': mediaTypes[format],
        'Content-Disposition': `attachment; filename="export-${agentId.replaceAll(/[^\w.-]/g, '_').slice(0, 64)}.${format}"`,
      },
    }
  })

/** Use cases that export an agent or a person, list what is stored about them, and import a document of another registry. */
const exportsService = (ports: ExportsDeps) => ({
  exportAgent: agentExport(ports),
  importDocument: documentImport(ports),
  readInventory: inventory(ports),
  ...preparedExports(ports),
  listCopyProblems: copyProblemList(ports),
})

interface Prepared {
  prepared: PreparedExports
}

export const exportsData = ({ prepared }: Prepared): PersonalData => ({
  dataSources: [exportFilesDataSource(prepared), exportRunsDataSource(prepared.db)],
  exporters: exportExporters(prepared.db),
  personExporters: exportPersonExporters(prepared.db),
})

const month = 30 * 86_400_000

/**
 * Checks the exports of one basis: their number within the last month, and the prepared copies that are still remembered: their median
 * duration, and that none failed or outlived its term.
 */
const copies = (line: 'access' | 'portability', basis: Basis): EvidenceCheck => ({
  line,
  name: `exports.${basis}`,
  page: '/admin/audit?resource_type=export',
  async ask(query, now) {
    const [row] = await summaryOfExports(query, {
      basis,
      since: new Date(now.getTime() - month),
      remembered: new Date(now.getTime() - rememberedFor),
      overdue: overdueBefore(now),
    })
    const { runs = 0, ready = 0, failed = 0, late = 0, seconds = null, last = null } = row ?? {}
    const page = (problem: CopyProblem) => `/admin/compliance/copies?scope=${basis}&problem=${problem}` as const
    return {
      state: late > 0 ? 'fails' : failed > 0 ? 'attention' : runs + ready === 0 ? 'not_applicable' : 'holds',
      numbers: { runs, ready, failed, late, seconds: seconds === null ? 0 : Math.ceil(seconds) },
      times: { last },
      problems: [
        { problem: 'exports.late', count: late, page: page('late') },
        { problem: 'exports.failed', count: failed, page: page('failed') },
      ],
    }
  },
})

const exportsEvidence = (): EvidenceCheck[] => [copies('access', 'all'), copies('portability', 'provided')]

/** Exports, imports and the inventory. */
export function exportsModule({ prepared, ...given }: Prepared & Omit<ExportsDeps, keyof PreparedExports>) {
  const deps: ExportsDeps = { ...given, ...prepared }
  return {
    useCases: { exports: exportsService(deps) },
    jobs: exportJobs(preparation(deps), exportUpkeep(deps)),
    checks: exportsEvidence(),
  }
}

import { z } from 'zod'
import { type Prisma, Prisma as PrismaValues } from '#generated/prisma/client.ts'
import type { PipelinePorts, StoredReply, Transaction } from '#lib/kernel/context.ts'
import { type DataSource, type Erased, erasedRows, type ItemId } from '#lib/kernel/data-source.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import {
  abandonedAfter,
  allowScans,
  claimKey,
  countItemsWithContent,
  countOwn,
  countShowing,
  deleteExpired,
  deleteOwn,
  erasedStatus,
  inventoryOfResponses,
  releaseKey,
  renewKey,
  replyRetention,
  responsesNaming,
  responsesToErase,
  withdrawItems,
  withdrawnStatus,
} from './repository.ts'

/** A response that names more units and skills is not stored. */
const maxIds = 2_000
const idForm = /(?=(kp:(?:trace|pattern|sop|skill):[A-Za-z0-9_-]{1,64}))/g
/** Ids of units and skills anywhere in a text; one may be contained in another. */
function idsIn(text: string): string[] {
  const ids = new Set<string>()
  for (const [, id] of text.matchAll(idForm)) if (id !== undefined && ids.add(id).size > maxIds) break
  return [...ids]
}

const json = (value: unknown): Prisma.InputJsonValue => JSON.parse(JSON.stringify(value))

/** Responses to POST requests with an Idempotency-Key. They are committed together with the work. */
export const idempotencyRecords: PipelinePorts['idempotency'] = {
  async claim(tx, { scope, key, requestHash }, now) {
    const claimed = await claimKey(tx, {
      scope,
      key,
      now,
      hash: requestHash,
      expired: new Date(now.getTime() - replyRetention),
      abandoned: new Date(now.getTime() - abandonedAfter),
    })
    if (claimed === 1) return undefined
    const record = await tx.idempotencyRecord.findUniqueOrThrow({ where: { scope_key: { scope, key } } })
    if (!Buffer.from(record.requestHash).equals(Buffer.from(requestHash)))
      throw new Problem(
        'idempotency_mismatch',
        'This Idempotency-Key belongs to a different request. Use a new key for a new request.',
      )
    if (record.status === erasedStatus)
      throw new Problem(
        'erased',
        'The resource that this request created was erased later, so the request is not repeated. Use a new Idempotency-Key to create it again.',
      )
    if (record.status === withdrawnStatus)
      throw new Problem(
        'conflict',
        'This request succeeded earlier, and the data in its response was corrected or erased later. The request was not repeated. Read the resource to get its current state.',
      )
    // Committed without a response: the work spans several transactions and is not complete.
    if (record.status === 0)
      throw new Problem('idempotency_in_progress', {
        detail: 'A request with this Idempotency-Key is still running. Try again in 10 seconds.',
        headers: { 'Retry-After': '10' },
      })
    const headers = Object.fromEntries(
      Object.entries(record.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    return { status: record.status, body: record.body ?? undefined, headers } satisfies StoredReply
  },
  async complete(tx, { scope, key, requestHash }, { status, body, headers, resourceId }) {
    const text = JSON.stringify([body, headers])
    const ids = idsIn(text)
    const retained =
      ids.length > maxIds
        ? { status: withdrawnStatus, body: PrismaValues.DbNull, headers: {} }
        : { status, body: body === undefined ? PrismaValues.DbNull : json(body), headers: json(headers), ids }
    await tx.idempotencyRecord.update({
      where: { scope_key: { scope, key } },
      data: { ...retained, resourceId, requestHash: Uint8Array.from(requestHash) },
    })
  },
  async renew(tx, { scope, key }, mine, now) {
    if ((await renewKey(tx, { scope, key, mine, now })) === 1) return
    throw new Problem(
      'conflict',
      'Another request with this Idempotency-Key has begun, because this one stored nothing for an hour. What was stored before remains.',
    )
  },
  async release(tx, { scope, key }, mine) {
    await releaseKey(tx, { scope, key, mine })
  },
}

/** The stored responses that an erasure selects: those of a subject, and those that name a single unit or skill. */
interface SelectedResponses {
  agents: readonly string[]
  accounts: readonly string[]
  records: readonly string[]
}
const accountsOf = ({ account }: Subject): string[] => (account === null ? [] : [account])
const responsesOf = (subject: Subject): Omit<SelectedResponses, 'records'> => ({
  agents: subject.agents,
  accounts: accountsOf(subject),
})
function selectedResponses(scope: ErasureScope): SelectedResponses {
  if ('subject' in scope) return { ...responsesOf(scope.subject), records: [] }
  const record = 'unit' in scope ? scope.unit : 'skill' in scope ? scope.skill : undefined
  return { agents: [], accounts: [], records: record === undefined ? [] : [record] }
}
const isOfSubject = ({ agents, accounts }: SelectedResponses): boolean => agents.length + accounts.length > 0

/** Scopes and keys of items. A key is a hash and contains no colon. */
function pairsOf(items: readonly ItemId[]): { scopes: string[]; keys: string[] } {
  const cuts = items.map((item) => item.lastIndexOf(':'))
  return {
    scopes: items.map((item, index) => item.slice(0, cuts[index])),
    keys: items.map((item, index) => item.slice((cuts[index] ?? 0) + 1)),
  }
}

/**
 * Deletes the subject's own responses. Others' responses lose their content but stay as markers for the 24 hours, so that a late retry
 * does not repeat the operation. Such a retry does not reveal that a record that the response named was erased.
 */
async function erase(selected: SelectedResponses, items: readonly ItemId[], tx: Transaction): Promise<Erased> {
  const { agents, accounts, records } = selected
  const pairs = pairsOf(items)
  const deleted = isOfSubject(selected) ? await deleteOwn(tx, { ...pairs, agents, accounts }) : 0
  return erasedRows({ deleted, pseudonymized: await withdrawItems(tx, { ...pairs, agents, records }) })
}

/** Searches the content of responses, not the columns that {@link erase} uses, and responses that no plan listed. */
const residueOf = (db: Database, selected: SelectedResponses, items: readonly ItemId[]): Promise<number> =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (query) => {
    const { agents, accounts, records } = selected
    const counted = [
      ...(isOfSubject(selected) ? await countOwn(query, { agents, accounts }) : []),
      ...(items.length > 0 ? await countItemsWithContent(query, pairsOf(items)) : []),
    ]
    for (const id of records) counted.push(...(await countShowing(query, { id })))
    return counted.reduce((total, { n }) => total + n, 0)
  })

/**
 * Stored responses contain response content, such as a contributed unit or skill, and ids. A response that names erased data is not
 * retained.
 */
const idempotencyDataSource = (db: Database): DataSource => ({
  name: 'idempotency.answers',
  store: 'postgresql',
  stage: 'derived',
  what: 'stored responses for repeated requests',
  purpose: 'returning the first response to a repeated request, so that nothing is done twice',
  kept: '24 hours',
  tables: ['idempotency_records'],
  async inventory(subject) {
    const [row] = await inventoryOfResponses(db, { ...responsesOf(subject), retention: replyRetention })
    return { count: row?.n ?? 0, since: row?.since ?? null, until: row?.until ?? null }
  },
  async plan(scope, tx) {
    const selected = selectedResponses(scope)
    const { agents, accounts, records } = selected
    const items: ItemId[] = []
    if (isOfSubject(selected)) {
      await allowScans(tx, {})
      for (const { id } of await responsesToErase(tx, { agents, accounts })) items.push(id)
    }
    if (records.length > 0) for (const { id } of await responsesNaming(tx, { ids: records })) items.push(id)
    return { items: items.sort(), held: {} }
  },
  erase: (scope, items, tx) => erase(selectedResponses(scope), items, tx),
  async residue(scope, items) {
    const selected = selectedResponses(scope)
    if (!isOfSubject(selected) && selected.records.length + items.length === 0) return 0
    return residueOf(db, selected, items)
  },
})

export const idempotencyData = (db: Database): PersonalData => ({ dataSources: [idempotencyDataSource(db)] })

/** Number of records per statement. */
const batch = 1_000

const idempotencyJobs = (db: Database) => [
  job({
    name: 'idempotency.purge',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      const before = new Date(ctx.now.getTime() - replyRetention)
      for (;;) {
        if ((await deleteExpired(db, { before, max: batch })) < batch) return
      }
    },
  }),
]

/** Stored answers to repeated requests. */
export const idempotencyModule = (db: Database) => ({ useCases: {}, jobs: idempotencyJobs(db) })

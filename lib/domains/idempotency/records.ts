import { z } from 'zod'
import { type Prisma, Prisma as PrismaValues } from '#generated/prisma/client.ts'
import type { PipelinePorts, StoredReply } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { idempotencyDataSource } from './personal-data.ts'
import { claimKey, deleteExpired } from './repository.ts'
import { abandonedAfter, erasedStatus, replyRetention, withdrawnStatus } from './rules.ts'

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
    const kept =
      ids.length > maxIds
        ? { status: withdrawnStatus, body: PrismaValues.DbNull, headers: {} }
        : { status, body: body === undefined ? PrismaValues.DbNull : json(body), headers: json(headers), ids }
    await tx.idempotencyRecord.update({
      where: { scope_key: { scope, key } },
      data: { ...kept, resourceId, requestHash: Uint8Array.from(requestHash) },
    })
  },
  async release(tx, { scope, key }) {
    await tx.idempotencyRecord.deleteMany({ where: { scope, key, status: 0 } })
  },
}

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
        if ((await deleteExpired(db, { before, most: batch })) < batch) return
      }
    },
  }),
]

/** Stored answers to repeated requests. */
export const idempotencyModule = (db: Database) => ({ useCases: {}, jobs: idempotencyJobs(db) })

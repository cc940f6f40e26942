import type { PipelinePorts, StoredReply, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Prisma, Prisma as PrismaValues } from '../../../generated/prisma/client.ts'

/** Retention of a response, in milliseconds. */
export const replyRetention = 24 * 3_600_000

/** Milliseconds after which a key without a response is free again: its process ended during work in several transactions. */
const abandonedAfter = 3_600_000

/** Status of a response whose resource was erased. */
export const erasedStatus = 410
/** Status of a response that was withdrawn, because its content was corrected or erased since. */
export const withdrawnStatus = 409

/** A response that names more units and skills is not stored. */
const mostIds = 2_000
const idForm = /(?=(kp:(?:trace|pattern|sop|skill):[A-Za-z0-9_-]{1,64}))/g
/** Ids of units and skills anywhere in a text; one may be contained in another. */
function idsIn(text: string): string[] {
  const ids = new Set<string>()
  for (const [, id] of text.matchAll(idForm)) if (id !== undefined && ids.add(id).size > mostIds) break
  return [...ids]
}

const json = (value: unknown): Prisma.InputJsonValue => JSON.parse(JSON.stringify(value))

/** Responses to POST requests with an Idempotency-Key. They are committed together with the work. */
export const idempotencyRecords: PipelinePorts['idempotency'] = {
  async claim(tx, { scope, key, requestHash }, now) {
    // The insert waits for a concurrent transaction with the same key and then sees its result.
    const inserted = await tx.$executeRaw`INSERT INTO idempotency_records (scope, key, request_hash, created_at)
      VALUES (${scope}, ${key}, ${requestHash}, ${now})
      ON CONFLICT (scope, key) DO UPDATE SET request_hash = excluded.request_hash, created_at = excluded.created_at, status = 0, body = NULL, headers = '{}', ids = '{}', resource_id = NULL
      WHERE idempotency_records.created_at < ${new Date(now.getTime() - replyRetention)}
        OR (idempotency_records.status = 0 AND idempotency_records.created_at < ${new Date(now.getTime() - abandonedAfter)})`
    if (inserted === 1) return undefined
    const record = await tx.idempotencyRecord.findUniqueOrThrow({ where: { scope_key: { scope, key } } })
    if (!Buffer.from(record.requestHash).equals(Buffer.from(requestHash)))
      throw new Problem(
        'idempotency_mismatch',
        'This Idempotency-Key already belongs to another request. Use a new key for a new request.',
      )
    if (record.status === erasedStatus)
      throw new Problem(
        'erased',
        'What this request made was erased since, so a late repetition does not make it again.',
      )
    if (record.status === withdrawnStatus)
      throw new Problem(
        'conflict',
        'This was carried out, and what its answer told of was corrected or erased since: read it as it is now. Nothing was made twice.',
      )
    // Committed without a response: the work spans several transactions and is not complete.
    if (record.status === 0)
      throw new Problem('idempotency_in_progress', {
        detail: 'A request with this Idempotency-Key is being carried out; ask again when it is done.',
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
      ids.length > mostIds
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

/**
 * Withdraws stored responses that show a resource after its content was corrected (GDPR art. 16): the content is deleted, but a marker
 * stays, so that a late retry does not repeat the operation. Responses that do not show the content stay.
 */
export const withdrawAnswers = (tx: Transaction, ...resourceIds: string[]): Promise<number> =>
  tx.$executeRaw`UPDATE idempotency_records SET status = ${withdrawnStatus}, body = NULL, headers = '{}', ids = '{}'
    WHERE resource_id = ANY(${resourceIds}::text[]) AND status <> ${erasedStatus}
      AND (body->'data'->'unit' IS NOT NULL OR body->'data'->'skill_md' IS NOT NULL)`

import type { GatePorts, StoredReply, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Prisma, Prisma as PrismaValues } from '../../../generated/prisma/client.ts'

/** How long an answer is kept, in milliseconds. */
export const keptFor = 24 * 3_600_000

/** How long work in several transactions keeps its key without an answer: its process ended in the middle, milliseconds. */
const abandonedAfter = 3_600_000

/** The status of an answer whose resource was erased. */
export const erasedStatus = 410
/** The status of an answer that is not kept any more: what it held or named was corrected or erased since. */
export const withdrawnStatus = 409

/** An answer that names more than this many units and skills is not kept. */
const mostIds = 2_000
const idForm = /(?=(kp:(?:trace|pattern|sop|skill):[A-Za-z0-9_-]{1,64}))/g
/** The ids of units and skills that stand anywhere in a text; one may lie within another. */
function idsIn(text: string): string[] {
  const ids = new Set<string>()
  for (const [, id] of text.matchAll(idForm)) if (id !== undefined && ids.add(id).size > mostIds) break
  return [...ids]
}

const json = (value: unknown): Prisma.InputJsonValue => JSON.parse(JSON.stringify(value))

/** The answers to POSTs that carried an Idempotency-Key. They commit with the work that they answer for. */
export const idempotencyRecords: GatePorts['idempotency'] = {
  async claim(tx, { scope, key, requestHash }, now) {
    // The insert waits while another transaction holds the same key, and then sees what that one decided.
    const inserted = await tx.$executeRaw`INSERT INTO idempotency_records (scope, key, request_hash, created_at)
      VALUES (${scope}, ${key}, ${requestHash}, ${now})
      ON CONFLICT (scope, key) DO UPDATE SET request_hash = excluded.request_hash, created_at = excluded.created_at, status = 0, body = NULL, headers = '{}', ids = '{}', resource_id = NULL
      WHERE idempotency_records.created_at < ${new Date(now.getTime() - keptFor)}
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
    // Committed without an answer: work in several transactions, and it is not done.
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
 * Takes the answers that show a resource out of use once its content was corrected (GDPR art. 16): their text goes, and that there was
 * one stays, so that a late repetition makes nothing twice. Answers about it that do not show it stay.
 */
export const withdrawAnswers = (tx: Transaction, ...resourceIds: string[]): Promise<number> =>
  tx.$executeRaw`UPDATE idempotency_records SET status = ${withdrawnStatus}, body = NULL, headers = '{}', ids = '{}'
    WHERE resource_id = ANY(${resourceIds}::text[]) AND status <> ${erasedStatus}
      AND (body->'data'->'unit' IS NOT NULL OR body->'data'->'skill_md' IS NOT NULL)`

import type { GatePorts, StoredReply } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Prisma, Prisma as PrismaValues } from '../../../generated/prisma/client.ts'

/** How long an answer is kept, in milliseconds. */
export const keptFor = 24 * 3_600_000

/** The status of an answer whose resource was erased. */
export const erasedStatus = 410

const json = (value: unknown): Prisma.InputJsonValue => JSON.parse(JSON.stringify(value))

/** The answers to POSTs that carried an Idempotency-Key. They commit with the work that they answer for. */
export const idempotencyRecords: GatePorts['idempotency'] = {
  async claim(tx, { scope, key, requestHash }, now) {
    // The insert waits while another transaction holds the same key, and then sees what that one decided.
    const inserted = await tx.$executeRaw`INSERT INTO idempotency_records (scope, key, request_hash, created_at)
      VALUES (${scope}, ${key}, ${requestHash}, ${now})
      ON CONFLICT (scope, key) DO UPDATE SET request_hash = excluded.request_hash, created_at = excluded.created_at, status = 0, body = NULL, headers = '{}', resource_id = NULL
      WHERE idempotency_records.created_at < ${new Date(now.getTime() - keptFor)}`
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
    const headers = Object.fromEntries(
      Object.entries(record.headers ?? {}).map(([name, value]) => [name, String(value)]),
    )
    return { status: record.status, body: record.body ?? undefined, headers } satisfies StoredReply
  },
  async complete(tx, { scope, key }, { status, body, headers, resourceId }) {
    await tx.idempotencyRecord.update({
      where: { scope_key: { scope, key } },
      data: { status, body: body === undefined ? PrismaValues.DbNull : json(body), headers: json(headers), resourceId },
    })
  },
}

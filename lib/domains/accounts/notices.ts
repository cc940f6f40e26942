import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'

/** A letter to a person, by ids: it is written when it is sent, in the language that they have then. */
export const Notice = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('token-revoked'),
    accountId: z.string(),
    keyPrefix: z.string(),
    at: z.iso.datetime(),
  }),
  z.strictObject({ kind: z.literal('password-reset'), accountId: z.string(), at: z.iso.datetime() }),
])
export type Notice = z.output<typeof Notice>
export const noticeJob = 'accounts.notify'

/** Puts a notice into the queue: it goes when the transaction commits, and only then. */
export const enqueueNotice = (tx: Transaction, notice: Notice): Promise<void> =>
  enqueue(tx, noticeJob, notice, { maxAttempts: 12 })

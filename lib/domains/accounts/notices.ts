import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { storeRefusals } from '#lib/kernel/store-refusal.ts'

const plain = { accountId: z.string(), at: z.iso.datetime() }

/** A letter to a person, by ids: it is written when it is sent, in the language that they have then. */
export const Notice = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('token-revoked'), keyPrefix: z.string(), ...plain }),
  /** An admin made a token for an agent of the person. */
  z.strictObject({ kind: z.literal('token-issued'), keyPrefix: z.string(), ...plain }),
  /** The organization uses most of its storage quota. */
  z.strictObject({ kind: z.literal('storage-warning'), percent: z.int(), ...plain }),
  /** The operator gave the account a one-time password. */
  z.strictObject({ kind: z.literal('password-reset'), ...plain }),
  z.strictObject({ kind: z.literal('invitation'), ...plain }),
  z.strictObject({ kind: z.literal('reset-link'), by: z.enum(['admin', 'anybody']), ...plain }),
  z.strictObject({ kind: z.literal('password-set'), ...plain }),
  z.strictObject({ kind: z.literal('identity-linked'), ...plain }),
  /** To an admin: erasures wait for a store that does not answer. */
  z.strictObject({
    kind: z.literal('store-unavailable'),
    store: z.string(),
    runs: z.number().int().positive(),
    since: z.iso.datetime(),
    ...plain,
  }),
  /** To an admin: a store answers, and refuses erasures. */
  z.strictObject({
    kind: z.literal('store-refuses'),
    store: z.string(),
    runs: z.number().int().positive(),
    since: z.iso.datetime(),
    refusal: z.enum(storeRefusals),
    ...plain,
  }),
])
export type Notice = z.output<typeof Notice>
export const noticeJob = 'accounts.notify'

/** Puts a notice into the queue: it goes when the transaction commits, and only then. */
export const enqueueNotice = (tx: Transaction, notice: Notice): Promise<void> =>
  enqueue(tx, noticeJob, notice, { maxAttempts: 12 })

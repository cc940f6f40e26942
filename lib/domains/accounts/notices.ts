import { z } from 'zod'
import { storeRefusals } from '#lib/kernel/store-refusal.ts'

const plain = { accountId: z.string(), at: z.iso.datetime() }

/** A notice to a person, which contains only ids. The email is written when it is sent, in the person's current language. */
export const AccountNotice = z.discriminatedUnion('kind', [
  /** The rate limiter revoked a token of one of the person's agents, and `descendants` tokens that were created with it. */
  z.strictObject({
    kind: z.literal('token-revoked'),
    keyPrefix: z.string(),
    descendants: z.int().positive().exactOptional(),
    ...plain,
  }),
  /** An admin issued a token for an agent of the person. */
  z.strictObject({ kind: z.literal('token-issued'), keyPrefix: z.string(), ...plain }),
  /** An admin exported the data of an agent of the person, with its private content. */
  z.strictObject({ kind: z.literal('data-exported'), agentId: z.string(), ...plain }),
  /** The organization has used most of its storage quota. */
  z.strictObject({ kind: z.literal('storage-warning'), percent: z.int(), ...plain }),
  /** The operator set a one-time password. */
  z.strictObject({ kind: z.literal('password-reset'), ...plain }),
  z.strictObject({ kind: z.literal('invitation'), ...plain }),
  z.strictObject({ kind: z.literal('reset-link'), by: z.enum(['admin', 'anybody']), ...plain }),
  z.strictObject({ kind: z.literal('password-set'), ...plain }),
  z.strictObject({ kind: z.literal('identity-linked'), ...plain }),
  /** A second factor was added or removed, or an admin removed all of them. */
  z.strictObject({
    kind: z.literal('second-factor'),
    change: z.enum(['added', 'removed', 'removed-by-admin', 'codes-renewed']),
    ...plain,
  }),
  /** An admin asks for a second factor, which is or becomes required. */
  z.strictObject({ kind: z.literal('second-factor-reminder'), requiredFrom: z.iso.datetime(), ...plain }),
  /** To an admin: another admin proposed an action that needs an approval. */
  z.strictObject({ kind: z.literal('approval-requested'), ...plain }),
  /** To the admin who proposed an action: another admin decided. */
  z.strictObject({ kind: z.literal('approval-decided'), decision: z.enum(['approved', 'rejected']), ...plain }),
  /** To an admin: erasures wait for a store that does not answer. */
  z.strictObject({
    kind: z.literal('store-unavailable'),
    store: z.string(),
    runs: z.number().int().positive(),
    since: z.iso.datetime(),
    ...plain,
  }),
  /** To an admin: a store answers but rejects requests of erasures. */
  z.strictObject({
    kind: z.literal('store-refuses'),
    store: z.string(),
    runs: z.number().int().positive(),
    since: z.iso.datetime(),
    refusal: z.enum(storeRefusals),
    ...plain,
  }),
])
export type AccountNotice = z.output<typeof AccountNotice>
export const noticeJob = 'accounts.notify'

import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type IdentityView, listIdentities, unlinkIdentity } from './contract.ts'
import { isFenced, lockAccount } from './links.ts'
import { enqueueNotice } from './notices.ts'
import { accountOf } from './own-account.ts'
import type { Unsuppress } from './rectification.ts'
import { normaliseEmail } from './rules.ts'

/** What an identity provider says of somebody (OpenID Connect Core §5.1). */
export interface Identified {
  issuer: string
  /** Unique at the issuer, and never given to anybody else. */
  subject: string
  email: string | undefined
  /** The provider checked that the address is theirs. */
  isEmailVerified: boolean
}
/** uninvited: nobody here has this address, or its account is linked to somebody else at the provider. */
export type IdentityRefusal = 'unverified' | 'uninvited'

interface Linked {
  accountId: string
  isNew: boolean
}

/**
 * Whose account it is. By issuer and subject alone; the address counts once, when nobody is linked yet, and only where the provider
 * vouches for it. An account that another subject of the issuer has stays theirs: providers give addresses to other people.
 */
export async function accountOfIdentity(
  tx: Transaction,
  { issuer, subject, email, isEmailVerified }: Identified,
  now: Date,
): Promise<Linked | IdentityRefusal> {
  const known = await tx.accountIdentity.findUnique({
    where: { issuer_subject: { issuer, subject } },
    select: { accountId: true },
  })
  if (known) return { ...known, isNew: false }
  if (email === undefined || !isEmailVerified) return 'unverified'
  const found = await tx.account.findUnique({ where: { email: normaliseEmail(email) }, select: { id: true } })
  if (!found) return 'uninvited'
  await lockAccount(tx, found.id)
  const [account, others] = [
    // Again, under the lock: the address may have become somebody else's.
    await tx.account.findUnique({
      where: { id: found.id, email: normaliseEmail(email) },
      select: { deactivatedAt: true },
    }),
    await tx.accountIdentity.findMany({ where: { accountId: found.id, issuer }, select: { subject: true } }),
  ]
  // Of two that link at once the second comes here.
  if (others.some((other) => other.subject === subject)) return { accountId: found.id, isNew: false }
  if (!account || others.length > 0) return 'uninvited'
  // Who may not come in is not linked either; signing in says why.
  if (account.deactivatedAt || (await isFenced(tx, found.id))) return { accountId: found.id, isNew: false }
  await tx.accountIdentity.create({ data: { issuer, subject, accountId: found.id, linkedAt: now } })
  return { accountId: found.id, isNew: true }
}

/** Names it without telling what the provider calls the person. */
const idOf = (issuer: string, subject: string): string =>
  `idn_${createHash('sha256').update(`${issuer}\n${subject}`).digest('base64url').slice(0, 22)}`

/** A link is told to the account's owner; it is the person's own wish to be here, so an erased address is welcome again. */
export async function noteLinked(tx: Transaction, accountId: string, unsuppress: Unsuppress, now: Date): Promise<void> {
  const { email } = await tx.account.findUniqueOrThrow({ where: { id: accountId }, select: { email: true } })
  await unsuppress(tx, 'email', email)
  await enqueueNotice(tx, { kind: 'identity-linked', accountId, at: now.toISOString() })
}

/** What a person sees and undoes of it. */
export const ownIdentities = (db: Database) => ({
  identities: read(listIdentities, async (ctx) => {
    const rows = await db.prisma.accountIdentity.findMany({
      where: { accountId: accountOf(ctx) },
      orderBy: [{ linkedAt: 'asc' }, { issuer: 'asc' }],
    })
    const data = rows.map(
      ({ issuer, subject, linkedAt }): IdentityView => ({
        identity_id: idOf(issuer, subject),
        issuer,
        linked_at: linkedAt.toISOString(),
      }),
    )
    return { resourceId: accountOf(ctx), body: { data } }
  }),

  unlinkIdentity: mutation(unlinkIdentity, async (ctx, { params: { id } }) => {
    const accountId = accountOf(ctx)
    await lockAccount(ctx.tx, accountId)
    const rows = await ctx.tx.accountIdentity.findMany({ where: { accountId } })
    const row = rows.find(({ issuer, subject }) => idOf(issuer, subject) === id)
    if (!row) throw new Problem('not_found', 'No sign-in with this id is linked to your account.')
    const account = await ctx.tx.account.findUnique({ where: { id: accountId }, select: { passwordHash: true } })
    if (!account?.passwordHash)
      throw new Problem(
        'wrong_state',
        'Without a password you could not sign in any more. Set one first, by a link in a letter; nothing was changed.',
      )
    const { issuer, subject } = row
    await ctx.tx.accountIdentity.delete({ where: { issuer_subject: { issuer, subject } } })
    return { resourceId: accountId, body: undefined, details: { changed: ['identities'] } }
  }),
})

import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type IdentityView, listIdentities, unlinkIdentity } from './contract.ts'
import { isFenced, lockAccount } from './links.ts'
import { enqueueNotice } from './notices.ts'
import { accountOf } from './own-account.ts'
import { isPassword } from './passwords.ts'
import type { Unsuppress } from './rectification.ts'
import { normaliseEmail, passwordChecksPerMinute } from './rules.ts'
import { endSessions } from './standing.ts'
import { countTry, type Tries } from './tries.ts'

/** What an identity provider says of somebody (OpenID Connect Core §5.1). */
export interface Identified {
  issuer: string
  /** Unique at the issuer, and never given to anybody else. */
  subject: string
  email: string | undefined
  /** The provider checked that the address is theirs. */
  isEmailVerified: boolean
}
/**
 * uninvited: nobody here has this address, or its account is, or was, linked to somebody else at the provider. unlinked: the owner took this
 * sign-in away. unaccepted: the account was made by an invitation whose link nobody used yet.
 */
export type IdentityRefusal = 'unverified' | 'uninvited' | 'unlinked' | 'unaccepted'

const identityFields = { issuer: true, subject: true, unlinkedAt: true } as const

interface Linked {
  accountId: string
  isNew: boolean
}

/**
 * Whose account it is. By issuer and subject alone; the address counts once, when nobody is linked yet, and only where the provider
 * vouches for it. An account that another subject of the issuer has, or had, stays theirs: providers give addresses to other people. What
 * was unlinked stays unlinked. Who was only invited opens the letter's link first: it shows that the mailbox is theirs to this installation,
 * and not to the provider alone.
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
  if (known) {
    // Under the lock: unlinking either ends the session that is opened now, too, or comes first and prevents it.
    await lockAccount(tx, known.accountId)
    const linked = await tx.accountIdentity.count({
      where: { issuer, subject, accountId: known.accountId, unlinkedAt: null },
    })
    return linked > 0 ? { ...known, isNew: false } : 'unlinked'
  }
  if (email === undefined || !isEmailVerified) return 'unverified'
  const found = await tx.account.findUnique({ where: { email: normaliseEmail(email) }, select: { id: true } })
  if (!found)
    return (await tx.account.count({ where: { invitedEmail: normaliseEmail(email) } })) > 0 ? 'unaccepted' : 'uninvited'
  await lockAccount(tx, found.id)
  const [account, others] = [
    // Again, under the lock: the address may have become somebody else's.
    await tx.account.findUnique({
      where: { id: found.id, email: normaliseEmail(email) },
      select: { deactivatedAt: true, passwordHash: true },
    }),
    await tx.accountIdentity.findMany({ where: { accountId: found.id }, select: identityFields }),
  ]
  const here = others.filter((other) => other.issuer === issuer)
  // Of two that link at once the second comes here.
  const own = here.find((other) => other.subject === subject)
  if (own) return own.unlinkedAt === null ? { accountId: found.id, isNew: false } : 'unlinked'
  if (!account || here.length > 0) return 'uninvited'
  // Who may not come in is not linked either; signing in says why.
  if (account.deactivatedAt || (await isFenced(tx, found.id))) return { accountId: found.id, isNew: false }
  if (account.passwordHash === null && !others.some(({ unlinkedAt }) => unlinkedAt === null)) return 'unaccepted'
  await tx.accountIdentity.create({ data: { issuer, subject, accountId: found.id, linkedAt: now } })
  await tx.account.update({ where: { id: found.id }, data: { emailVerifiedAt: now } })
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

/** From now on none of the account's sign-ins with an identity provider lets anybody in, and none is linked again by itself. */
export const unlinkAll = (tx: Transaction, accountId: string, now: Date) =>
  tx.accountIdentity.updateMany({ where: { accountId, unlinkedAt: null }, data: { unlinkedAt: now } })

/** What a person sees and undoes of it. */
export const ownIdentities = (db: Database, { tries }: { tries: Tries }) => ({
  identities: read(listIdentities, async (ctx) => {
    const rows = await db.prisma.accountIdentity.findMany({
      where: { accountId: accountOf(ctx), unlinkedAt: null },
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

  unlinkIdentity: mutation(unlinkIdentity, async (ctx, { params: { id }, body }) => {
    const accountId = accountOf(ctx)
    await countTry(tries, [{ key: `password:${accountId}`, limit: passwordChecksPerMinute }], ctx.now)
    await lockAccount(ctx.tx, accountId)
    const rows = await ctx.tx.accountIdentity.findMany({ where: { accountId, unlinkedAt: null } })
    const row = rows.find(({ issuer, subject }) => idOf(issuer, subject) === id)
    if (!row) throw new Problem('not_found', 'No sign-in with this id is linked to your account.')
    const account = await ctx.tx.account.findUnique({ where: { id: accountId }, select: { passwordHash: true } })
    if (!account?.passwordHash)
      throw new Problem(
        'wrong_state',
        'Without a password you could not sign in any more. Set one first, by a link in a letter; nothing was changed.',
      )
    if (!(await isPassword(account.passwordHash, body.password)))
      throw invalid(['password'], 'is not the password of this account')
    const { issuer, subject } = row
    // The row stays: without it the provider's next word for the address would link it again.
    await ctx.tx.accountIdentity.update({
      where: { issuer_subject: { issuer, subject } },
      data: { unlinkedAt: ctx.now },
    })
    const ended = await endSessions(ctx.tx, accountId, ctx.now, ctx.actor.sessionId)
    return {
      resourceId: accountId,
      body: { data: { sessions_ended: ended } },
      details: { changed: ['identities'], sessions_ended: ended },
    }
  }),
})

import { createHash } from 'node:crypto'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endSessions } from './account-status.ts'
import { listIdentities, unlinkIdentity } from './contract.ts'
import { isFenced, lockAccount } from './links.ts'
import { accountOf, requireOwnProof } from './own-account.ts'
import type { AccountsDeps, Unsuppress } from './ports.ts'
import { normaliseEmail } from './rules.ts'
import { enqueueNotice } from './writes.ts'

/** Claims of an identity provider about a person (OpenID Connect Core §5.1). */
export interface Identified {
  issuer: string
  /** Unique at the issuer and never reassigned. */
  subject: string
  email: string | undefined
  /** True when the provider verified the address. */
  isEmailVerified: boolean
  /** True when the provider reported that it asked for one factor. */
  isOneFactor: boolean
}
/**
 * uninvited: no account has this address, or the account is or was linked to another subject of the issuer. unlinked:
 * the owner unlinked this sign-in. unaccepted: nobody has used the link of the invitation yet.
 */
export type IdentityRefusal = 'unverified' | 'uninvited' | 'unlinked' | 'unaccepted'

const identityFields = { issuer: true, subject: true, unlinkedAt: true } as const

interface Linked {
  accountId: string
  isNew: boolean
}

/**
 * Returns the account of an identity, which is found by issuer and subject. The address is used only for the first
 * link, and only if the provider verified it.
 * An account that is or was linked to another subject of the issuer is not linked, because providers reassign
 * addresses. An unlinked identity stays unlinked. An invited person must use the emailed link first, which proves the
 * mailbox to this installation.
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
    // Checked under the lock: a concurrent unlinking either ends the new session or prevents it.
    await lockAccount(tx, known.accountId)
    const linked = await tx.accountIdentity.count({
      where: { issuer, subject, accountId: known.accountId, unlinkedAt: null },
    })
    return linked > 0 ? { ...known, isNew: false } : 'unlinked'
  }
  if (email === undefined || !isEmailVerified) return 'unverified'
  const record = await tx.account.findUnique({ where: { email: normaliseEmail(email) }, select: { id: true } })
  if (!record)
    return (await tx.account.count({ where: { invitedEmail: normaliseEmail(email) } })) > 0 ? 'unaccepted' : 'uninvited'
  await lockAccount(tx, record.id)
  const [account, others] = [
    // Checked again under the lock: the address may have changed accounts.
    await tx.account.findUnique({
      where: { id: record.id, email: normaliseEmail(email) },
      select: { deactivatedAt: true, passwordHash: true },
    }),
    await tx.accountIdentity.findMany({ where: { accountId: record.id }, select: identityFields }),
  ]
  const here = others.filter((other) => other.issuer === issuer)
  // When two calls link concurrently, the second one returns here.
  const own = here.find((other) => other.subject === subject)
  if (own) return own.unlinkedAt === null ? { accountId: record.id, isNew: false } : 'unlinked'
  if (!account || here.length > 0) return 'uninvited'
  // A person who cannot sign in is not linked; the sign-in reports the reason.
  if (account.deactivatedAt || (await isFenced(tx, record.id))) return { accountId: record.id, isNew: false }
  if (account.passwordHash === null && !others.some(({ unlinkedAt }) => unlinkedAt === null)) return 'unaccepted'
  await tx.accountIdentity.create({ data: { issuer, subject, accountId: record.id, linkedAt: now } })
  await tx.account.update({ where: { id: record.id }, data: { emailVerifiedAt: now } })
  return { accountId: record.id, isNew: true }
}

/** Id of a linked identity that does not reveal the provider's subject. */
const idOf = (issuer: string, subject: string): string =>
  `idn_${createHash('sha256').update(`${issuer}\n${subject}`).digest('base64url').slice(0, 22)}`

/**
 * Notifies the account's owner about a new link. Removes the address from the suppression list, because linking shows
 * the person's own wish.
 */
export async function noteLinked(tx: Transaction, accountId: string, unsuppress: Unsuppress, now: Date): Promise<void> {
  const { email } = await tx.account.findUniqueOrThrow({ where: { id: accountId }, select: { email: true } })
  await unsuppress(tx, 'email', email)
  await enqueueNotice(tx, { kind: 'identity-linked', accountId, at: now })
}

/** Unlinks all identities of the account; they no longer sign anybody in, and are not linked again automatically. */
export const unlinkAll = (tx: Transaction, accountId: string, now: Date) =>
  tx.accountIdentity.updateMany({ where: { accountId, unlinkedAt: null }, data: { unlinkedAt: now } })

/** Use cases that list and unlink a person's own identities. */
export const ownIdentities = (db: Database, { tries, requireOwner }: Pick<AccountsDeps, 'tries' | 'requireOwner'>) => ({
  identities: read(listIdentities, async (ctx) => {
    const rows = await db.prisma.accountIdentity.findMany({
      where: { accountId: accountOf(ctx), unlinkedAt: null },
      orderBy: [{ linkedAt: 'asc' }, { issuer: 'asc' }],
    })
    const data = rows.map(({ issuer, subject, linkedAt }) => ({
      identity_id: idOf(issuer, subject),
      issuer,
      linked_at: linkedAt,
    }))
    return { resourceId: accountOf(ctx), body: { data } }
  }),

  unlinkIdentity: mutation(unlinkIdentity, async (ctx, { params: { id }, body }) => {
    const accountId = accountOf(ctx)
    await lockAccount(ctx.tx, accountId)
    const rows = await ctx.tx.accountIdentity.findMany({ where: { accountId, unlinkedAt: null } })
    const row = rows.find(({ issuer, subject }) => idOf(issuer, subject) === id)
    if (!row) throw new Problem('not_found', 'No sign-in with this id is linked to your account.')
    const account = await ctx.tx.account.findUnique({ where: { id: accountId }, select: { passwordHash: true } })
    if (!account?.passwordHash)
      throw new Problem(
        'wrong_state',
        'You could no longer sign in, because your account has no password. Request an email with a link to set one first. Nothing was changed.',
      )
    await requireOwnProof(tries, ctx, { accountId, password: body.password })
    const { issuer, subject } = row
    // The row stays, otherwise the next sign-in would link the identity again by its address.
    await ctx.tx.accountIdentity.update({
      where: { issuer_subject: { issuer, subject } },
      data: { unlinkedAt: ctx.now },
    })
    const ended = await endSessions(ctx.tx, accountId, ctx.now, ctx.actor.sessionId)
    await requireOwner(ctx.tx, accountId)
    return {
      resourceId: accountId,
      body: { data: { sessions_ended: ended } },
      details: { changed: ['identities'], sessions_ended: ended },
    }
  }),
})

import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { boundLetters, endLinks, isFenced, lockAccount } from './links.ts'
import { enqueueNotice } from './notices.ts'
import type { Locale, Role } from './rules.ts'
import { type UserRow, userRow } from './user-rows.ts'

/** What makes accounts and organisations. */
export interface AccountMaking {
  createAccount(
    tx: Transaction,
    account: {
      organisationId: string
      email: string
      name: string
      role: Role
      mustChangePassword: boolean
      locale: Locale
      isPending?: boolean
      now: Date
    },
  ): Promise<string>
  createOrganisation(tx: Transaction, name: string, now: Date): Promise<string>
}
export interface Invitation {
  organisationId: string
  email: string
  name: string
  role: Role
  locale: Locale
  /** See `NewAccount`. */
  isPending?: boolean
}

export const noAccount = () => new Problem('not_found', 'There is no such account.')

/** The account, locked, as whoever acts on it sees it. Throws `not_found`, and `fenced` while its erasure is under way. */
export async function lockedUser(tx: Transaction, id: string, organisationId?: string): Promise<UserRow> {
  await lockAccount(tx, id)
  const row = await userRow(tx, id, organisationId)
  if (!row) throw noAccount()
  if (await isFenced(tx, id))
    throw new Problem('fenced', 'This account is being erased: nothing of it is changed any more.')
  return row
}

/** An account without a password, and the letter whose link lets the person choose one. Throws `conflict` for an address that has one. */
export async function invite(
  { tx, now }: MutationContext,
  making: AccountMaking,
  invitation: Invitation,
): Promise<UserRow> {
  const id = await making.createAccount(tx, { ...invitation, mustChangePassword: false, now })
  await enqueueNotice(tx, { kind: 'invitation', accountId: id, at: now.toISOString() })
  const row = await userRow(tx, id)
  if (!row) throw noAccount()
  return row
}

/** The invitation once more; from now on the link of the letter before does nothing. Throws `wrong_state`, `rate_limited`. */
export async function inviteAgain({ tx, now }: MutationContext, row: UserRow): Promise<void> {
  if (!row.states.includes('invited'))
    throw new Problem(
      'wrong_state',
      'This person accepted the invitation already. To choose a new password, they take the link of a reset.',
    )
  if (row.states.includes('deactivated'))
    throw new Problem('wrong_state', 'This account is closed: no letter with a link goes to it. Open it again first.')
  await boundLetters(tx, row.id, { purpose: 'invitation', by: 'admin' }, now)
  await endLinks(tx, row.id, now)
  // From the last letter on the account waits for its person: see `uninvite`.
  await tx.account.update({ where: { id: row.id }, data: { updatedAt: now } })
  await enqueueNotice(tx, { kind: 'invitation', accountId: row.id, at: now.toISOString() })
}

/**
 * Deletes an account that nobody has accepted, with its links. Throws `wrong_state` for one that somebody accepted, and where a privacy request
 * or a legal hold concerns it.
 */
export async function withdrawInvitation(
  { tx, now }: MutationContext,
  row: UserRow,
  isOnRecord: (tx: Transaction, accountId: string) => Promise<boolean>,
): Promise<void> {
  if (!row.states.includes('invited'))
    throw new Problem('wrong_state', 'This person accepted the invitation already, so it cannot be withdrawn.')
  const agents = await tx.agent.count({ where: { ownerId: row.id } })
  if (agents > 0 || (await isOnRecord(tx, row.id)))
    throw new Problem(
      'wrong_state',
      'A privacy request, a legal hold or an agent belongs to this account. Nothing was deleted.',
    )
  const since = new Date(now.getTime() - 24 * 3_600_000)
  await tx.$executeRaw`UPDATE organisations SET withdrawn_invitations =
      ARRAY(SELECT t FROM unnest(withdrawn_invitations) t WHERE t > ${since}) || ${row.created_at}::timestamptz
    WHERE id = ${row.organisation_id}`
  await tx.account.delete({ where: { id: row.id } })
}

import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { consulted, type GuardedContext } from '#lib/kernel/guards.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { ProjectPorts } from '../ports.ts'
import type { SeenProject } from '../repository.ts'
import { ownerOfAgent, type ParticipantRow } from './repository.ts'

/** Changes to what identifies the person behind a participation. */
export interface IdentityChanges {
  name?: string | null | undefined
  email?: string | null | undefined
  account_id?: string | null | undefined
}
type ContactOf = ProjectPorts['contactOf']

/** The account of the actor, or of the owner of the agent that acts; undefined for an unclaimed agent. */
async function responsiblePerson(tx: Transaction, { accountId, id }: Pick<Actor, 'accountId' | 'id'>) {
  if (accountId !== undefined) return accountId
  const [row] = await ownerOfAgent(tx, { agent: id })
  return row?.owner ?? undefined
}

/**
 * Nobody assigns a participation to themselves: the holder of its address claims it, and then reads, exports and erases its data.
 * @throws {Problem} `forbidden` for the address or account of the actor, or of the owner of the agent that acts
 */
export async function refuseOwnAddress(
  contactOf: ContactOf,
  { tx, actor }: { tx: Transaction; actor: Pick<Actor, 'accountId' | 'id'> },
  { email, account_id }: IdentityChanges,
): Promise<void> {
  if (typeof email !== 'string' && typeof account_id !== 'string') return
  const account = await responsiblePerson(tx, actor)
  if (account === undefined) return
  const own = typeof email === 'string' ? await contactOf(tx, account) : undefined
  if (account_id === account || (own && email?.toLowerCase() === own.email.toLowerCase()))
    throw new Problem(
      'forbidden',
      'You cannot assign a participation to yourself. Claim it with your verified email address. Nothing was changed.',
    )
}

/**
 * The guard of every change to the address or account of a participation. Only owners of the project, who can read the project anyway,
 * assign them, and nobody assigns their own. An admin may add a missing address, disconnect an account, and remove the address with which
 * that account claimed the participation.
 * @throws {Problem} `forbidden`
 */
export async function refuseTakeover(
  contactOf: ContactOf,
  ctx: GuardedContext & { tx: Transaction },
  { role, office }: Pick<SeenProject, 'role' | 'office'>,
  row: Pick<ParticipantRow, 'email' | 'account_id'>,
  changes: IdentityChanges,
): Promise<void> {
  consulted(ctx, 'take-over')
  const { email, account_id } = changes
  if (account_id === null && office !== 'admin')
    throw new Problem('forbidden', 'Only an admin can disconnect an account from a participation. Nothing was changed.')
  const isReset = account_id === null && email === null && row.account_id !== null
  const isAdded = office === 'admin' && row.email === null
  const isNewAddress = email !== undefined && email !== row.email && !isAdded && !isReset
  if ((typeof account_id === 'string' || isNewAddress) && role !== 'owner')
    throw new Problem(
      'forbidden',
      'Only owners of the project can connect an account or change an email address. Nothing was changed.',
    )
  await refuseOwnAddress(contactOf, ctx, changes)
}

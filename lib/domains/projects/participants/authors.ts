import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { isSameAddress } from '#lib/kernel/address-forms.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { consulted, type GuardedContext, guardApplication, requireRecentPassword } from '#lib/kernel/use-case.ts'
import { writerOf } from '../access.ts'
import type { ProjectPorts } from '../ports.ts'
import type { SeenProject } from '../repository.ts'
import type { WriterKind } from '../rules.ts'
import { participantKey } from './fence.ts'
import {
  findSpeaker,
  findWritten,
  insertParticipant,
  lockParticipation,
  ownerOfAgent,
  type ParticipantRow,
  participantByExternalId,
} from './repository.ts'
import { isRestricted } from './restricting.ts'
import type { Author } from './rules.ts'

/** The author of a message or document as its row names it. */
export interface RowAuthor {
  kind: WriterKind
  id: string
  /** The agent that wrote on behalf of the author; null if the author wrote. */
  writtenBy: string | null
}

const wasErased = (): Problem =>
  new Problem(
    'erased',
    'The participant with this external_id was erased, so it can no longer be used in this project. Nothing was stored.',
  )

/** A participant by the normalized id, also if the row is from before ids were normalized. */
export const participantNamed = async (tx: Transaction, named: { project: string; externalId: string }) =>
  (await participantByExternalId(tx, named, 'exact'))[0] ?? (await participantByExternalId(tx, named, 'normal'))[0]
/** The values on the suppression list under which a participant may have been erased: ids were once stored as they were sent. */
const formerKeys = (projectId: string, externalId: string): string[] => [
  ...new Set([externalId, externalId.normalize('NFD')].map((id) => participantKey(projectId, id))),
]

/** Changes to what identifies the person behind a participation. */
export interface IdentityChanges {
  name?: string | null | undefined
  email?: string | null | undefined
  account_id?: string | null | undefined
}

/** The account of the actor, or of the owner of the agent that acts; undefined for an unclaimed agent. */
async function responsiblePerson(tx: Transaction, { accountId, id }: Pick<Actor, 'accountId' | 'id'>) {
  if (accountId !== undefined) return accountId
  const [row] = await ownerOfAgent(tx, { agent: id })
  return row?.owner ?? undefined
}

/**
 * Who answers for an address that the actor adds or confirms, as the audit log names actors: the person, the owner of the agent, or an agent
 * without an owner.
 */
export async function answeringFor(tx: Transaction, actorId: string): Promise<string> {
  if (actorId.startsWith('user:')) return actorId
  const [row] = await ownerOfAgent(tx, { agent: actorId })
  return row?.owner ? `user:${row.owner}` : actorId
}

/**
 * Nobody assigns a participation to themselves: the holder of its address claims it, and then reads, exports and erases its data.
 * @throws {Problem} `forbidden` for the address or account of the actor, or of the owner of the agent that acts
 */
async function refuseOwnAddress(
  { tx, actor }: { tx: Transaction; actor: Pick<Actor, 'accountId' | 'id'> },
  { email, account_id }: IdentityChanges,
): Promise<void> {
  if (typeof email !== 'string' && typeof account_id !== 'string') return
  const account = await responsiblePerson(tx, actor)
  if (account === undefined) return
  const own = typeof email === 'string' ? await accountDirectory.contactOf(tx, account) : undefined
  if (account_id === account || (own && typeof email === 'string' && isSameAddress(email, own.email)))
    throw new Problem(
      'forbidden',
      'You cannot assign a participation to yourself. Claim it with your verified email address. If the address is not confirmed, another owner of the project or an admin confirms it. Nothing was changed.',
    )
}

/** Whether the address is the stored one in any form. */
export const isStored = ({ email }: Pick<ParticipantRow, 'email'>, given: string | null): boolean =>
  given === email || (given !== null && email !== null && isSameAddress(given, email))

/** The members of an actor that determine whether an address that it reports can be relied on. */
type Reporter = Pick<Actor, 'id' | 'accountId' | 'scopes' | 'needsOwner'>

/**
 * Whether an address that the actor reports for a participant is evidence for a claim. Only who speaks for the project can say whose words it
 * stores: agents that own it or whose owner does. After something was written, these also need the scope that acts for participants: otherwise a token that only writes would let somebody read and erase what others wrote. All other addresses are stored, and
 * an owner of the project or an admin confirms them.
 */
async function isEvidence(
  { tx, actor }: { tx: Transaction; actor: Reporter },
  project: string,
  participant?: string,
): Promise<boolean> {
  if (actor.accountId !== undefined || actor.needsOwner) return false
  if ((await findSpeaker(tx, { project, agent: actor.id })).length === 0) return false
  if (participant === undefined || actor.scopes.includes('privacy')) return true
  return (await findWritten(tx, { participant })).length === 0
}

/**
 * The guard of every change to the name, address or account of a participation, and of confirming its address. Only owners of the project,
 * who can read the project anyway, assign an address or account, and nobody assigns their own. Others need a recently entered password: an
 * admin may add a missing address, confirm one that an agent reported, disconnect an account, and remove the address with which that account
 * claimed the participation; managers and admins may correct the name, by which an erasure finds the person in texts of others.
 * @throws {Problem} `forbidden`, `step_up_required`
 */
export async function refuseTakeover(
  ctx: GuardedContext & { tx: Transaction },
  { role, office }: Pick<SeenProject, 'role' | 'office'>,
  row: Pick<ParticipantRow, 'email' | 'email_confirmed' | 'account_id'>,
  changes: IdentityChanges,
): Promise<void> {
  consulted(ctx, 'take-over')
  const { email, account_id } = changes
  // An agent can own a project, and the token that created it may only write.
  if (ctx.actor.kind === 'agent' && (email !== undefined || account_id !== undefined)) {
    guardApplication(ctx)
    if (!ctx.actor.scopes.includes('privacy'))
      throw new Problem(
        'scope_too_small',
        'A token needs the scope "privacy" to change the address or account of a participant. Nothing was changed.',
      )
  }
  const isChange = Object.values(changes).some((value) => value !== undefined)
  if (role !== 'owner' && isChange) requireRecentPassword(ctx)
  if (account_id === null && office !== 'admin')
    throw new Problem('forbidden', 'Only an admin can disconnect an account from a participation. Nothing was changed.')
  const isReset = account_id === null && email === null && row.account_id !== null
  const isKnown = email !== undefined && isStored(row, email) && row.email_confirmed
  const isAdded = office === 'admin' && (row.email === null || (email !== undefined && isStored(row, email)))
  const isNewAddress = email !== undefined && !isKnown && !isAdded && !isReset
  if ((typeof account_id === 'string' || isNewAddress) && role !== 'owner')
    throw new Problem(
      'forbidden',
      'Only owners of the project can connect an account or change an email address. Nothing was changed.',
    )
  await refuseOwnAddress(ctx, changes)
}

/** @throws {Problem} `conflict` if the participant has another email address */
function requireAddress(row: Pick<ParticipantRow, 'email'>, email: string | undefined): void {
  if (email !== undefined && row.email !== null && !isStored(row, email))
    throw new Problem(
      'conflict',
      'This participant has a different email address. Ask an owner of the project to change it (PATCH /api/projects/{id}/participants/{id}), or use another external_id. Nothing was stored.',
    )
}

/**
 * The participant of a project with this `external_id`, created at first use. A given name replaces the stored one. The email address
 * cannot be changed here, because its owner can claim the participation. See {@link isEvidence} for an address that is added.
 * A participant whose processing is restricted is only returned if the caller `onlyStores`, and does not change.
 * @throws {Problem} `fenced` while the participant is being erased, `erased` afterwards, `restricted` while the processing of their data is
 * restricted, `conflict` if another email address is stored, `forbidden` if it adds the address of the agent's owner to a known participant
 */
export async function participantFor(
  ports: Pick<ProjectPorts, 'isSuppressed'>,
  { tx, actor, now }: { tx: Transaction; actor: Reporter; now: Date },
  projectId: string,
  { external_id, name, email }: Author,
  { onlyStores = false } = {},
): Promise<string> {
  const named = { project: projectId, externalId: external_id }
  let row = await participantNamed(tx, named)
  if (!row) {
    const id = newId('ptp')
    const isConfirmed = email !== undefined && (await isEvidence({ tx, actor }, projectId))
    const values = { ...named, id, name: name ?? null, email: email ?? null, isConfirmed, createdBy: actor.id, now }
    const isNew = (await insertParticipant(tx, values)) > 0
    // Check after the insert: it waits for an erasure that deletes the row, and then sees the suppression hash.
    if ((await ports.isSuppressed(tx, 'participant', formerKeys(projectId, external_id))).length > 0) throw wasErased()
    if (isNew) return id
    row = await participantNamed(tx, named)
    if (!row) throw wasErased()
  }
  if (row.is_fenced)
    throw new Problem(
      'fenced',
      'This participant is being erased, so agents cannot write on their behalf. Nothing was stored.',
    )
  if (row.is_restricted && !onlyStores) throw isRestricted()
  requireAddress(row, email)
  if (row.is_restricted) return row.id
  const isNewName = name !== undefined && name !== row.name
  const isNewEmail = email !== undefined && row.email === null
  if (isNewEmail) {
    await refuseOwnAddress({ tx, actor }, { email })
    // Another request may be adding an address.
    const [locked] = await lockParticipation(tx, { id: row.id })
    if (!locked) throw wasErased()
    requireAddress(locked, email)
  }
  const emailConfirmed = isNewEmail && (await isEvidence({ tx, actor }, projectId, row.id))
  if (isNewName || isNewEmail)
    await tx.projectParticipant.update({
      where: { id: row.id },
      data: {
        ...(isNewName && { name }),
        ...(isNewEmail && { email, emailConfirmed, emailBy: await answeringFor(tx, actor.id) }),
        updatedAt: now,
      },
    })
  return row.id
}

/**
 * The author of a new message or document: the actor, or the participant that an agent names. People can only write for themselves.
 * @throws {Problem} `forbidden`, and those of {@link participantFor}
 */
export async function authorFor(
  ports: Pick<ProjectPorts, 'isSuppressed'>,
  ctx: { tx: Transaction; actor: Actor; now: Date },
  projectId: string,
  author: Author | undefined,
  options: { onlyStores?: boolean } = {},
): Promise<RowAuthor> {
  const writer = writerOf(ctx.actor)
  if (author === undefined) return { ...writer, writtenBy: null }
  if (writer.kind !== 'agent')
    throw new Problem(
      'forbidden',
      'Only an agent can write on behalf of a participant. Omit `author`, or use the token of an agent. Nothing was stored.',
    )
  const id = await participantFor(ports, ctx, projectId, author, options)
  return { kind: 'participant', id, writtenBy: writer.id }
}

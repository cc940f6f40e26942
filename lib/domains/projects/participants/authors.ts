import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { queryInTransaction, writerOf } from '../access.ts'
import type { ProjectPorts } from '../ports.ts'
import type { WriterKind } from '../rules.ts'
import { participantKey } from './fence.ts'
import { isRestricted } from './restricting.ts'
import type { Author } from './rules.ts'

/** The author of a message or document as its row names it. */
export interface RowAuthor {
  kind: WriterKind
  id: string
  /** The agent that wrote on behalf of the author; null if the author wrote. */
  writtenBy: string | null
}

interface ParticipantRow {
  id: string
  name: string | null
  email: string | null
  is_fenced: boolean
  is_restricted: boolean
}
const found = `SELECT p.id, p.name, p.email, EXISTS (SELECT FROM fenced f WHERE f.kind = 'participant' AND f.id = p.id) AS is_fenced,
    EXISTS (SELECT FROM restricted_participants rp WHERE rp.id = p.id) AS is_restricted
  FROM project_participants p WHERE p.project_id = $1 AND p.external_id = $2`
const made = `INSERT INTO project_participants (id, project_id, external_id, name, email, created_by, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT (project_id, external_id) DO NOTHING RETURNING id`

const wasErased = (): Problem =>
  new Problem(
    'erased',
    'This participant of the project was erased. Nothing is written on their behalf under this external_id again. Nothing was stored.',
  )

/**
 * The participant of a project with this `external_id`, created at first use. A given name replaces the stored one. The email address
 * cannot be changed here, because its owner can claim the participation.
 * @throws {Problem} `fenced` while the participant is being erased, `erased` afterwards, `restricted` while the processing of their data is
 * restricted, `conflict` if another email address is stored
 */
export async function participantFor(
  ports: Pick<ProjectPorts, 'isSuppressed'>,
  { tx, actor, now }: { tx: Transaction; actor: Pick<Actor, 'id'>; now: Date },
  projectId: string,
  { external_id, name, email }: Author,
): Promise<string> {
  const ask = queryInTransaction(tx)
  const look = async () => (await ask<ParticipantRow>('participant-named', found, [projectId, external_id]))[0]
  let row = await look()
  if (!row) {
    const [fresh] = await ask<{ id: string }>('make-participant', made, [
      newId('ptp'),
      projectId,
      external_id,
      name ?? null,
      email ?? null,
      actor.id,
      now,
    ])
    // Check after the insert: it waits for an erasure that deletes the row, and then sees the suppression hash.
    if ((await ports.isSuppressed(tx, 'participant', [participantKey(projectId, external_id)])).length > 0)
      throw wasErased()
    if (fresh) return fresh.id
    row = await look()
    if (!row) throw wasErased()
  }
  if (row.is_fenced)
    throw new Problem(
      'fenced',
      'This participant of the project is being erased: nothing is written on their behalf. Nothing was stored.',
    )
  if (row.is_restricted) throw isRestricted()
  if (email !== undefined && row.email !== null && row.email !== email)
    throw new Problem(
      'conflict',
      'This participant has another email address. An owner of the project changes it (PATCH /api/projects/{id}/participants/{id}); or write under another external_id. Nothing was stored.',
    )
  const isNewName = name !== undefined && name !== row.name
  const isNewEmail = email !== undefined && row.email === null
  if (isNewName || isNewEmail)
    await tx.projectParticipant.update({
      where: { id: row.id },
      data: { ...(isNewName && { name }), ...(isNewEmail && { email }), updatedAt: now },
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
): Promise<RowAuthor> {
  const writer = writerOf(ctx.actor)
  if (author === undefined) return { ...writer, writtenBy: null }
  if (writer.kind !== 'agent')
    throw new Problem(
      'forbidden',
      'Only the token of an agent writes on behalf of a participant. Leave out `author`, or use a token. Nothing was stored.',
    )
  const id = await participantFor(ports, ctx, projectId, author)
  return { kind: 'participant', id, writtenBy: writer.id }
}

import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import {
  type AuthorFields,
  isMine,
  mayErase,
  projectOfAuthor,
  projectReaderOf,
  wasErased,
  writableProject,
} from '../access.ts'
import { storedPath } from '../stored-ids.ts'
import { lockPart } from './parts.ts'
import { receiptOfErasedPart } from './repository.ts'

/** The row of a part, locked by this transaction. */
export interface ErasablePart extends AuthorFields {
  erasingSince: Date | null
}

/** The part, with the ids under which it is stored. */
export async function storedPart(tx: Transaction, part: ProjectPart): Promise<ProjectPart> {
  const { kind, id, project: projectId, conversation } = part
  const { conversationId, messageId, documentId } = await storedPath(tx, {
    ...{ projectId, conversationId: conversation ?? undefined },
    messageId: kind === 'message' ? id : undefined,
    documentId: kind === 'document' ? id : undefined,
  })
  return { ...part, id: messageId ?? documentId ?? conversationId ?? id, conversation: conversationId ?? null }
}

/** The problem for a missing part: it names the receipt if the part was erased, otherwise it is `not_found`. */
async function missing(tx: Transaction, { kind, id, project }: ProjectPart): Promise<Problem> {
  const [erased] = await receiptOfErasedPart(tx, { id, project })
  return erased
    ? wasErased(erased.receiptId)
    : new Problem('not_found', `This ${kind} does not exist, or you do not have access to it. Nothing was erased.`)
}

const select = { authorKind: true, authorId: true, writtenBy: true, erasingSince: true }
async function withClaimant(
  tx: Transaction,
  row: Omit<ErasablePart, 'claimedBy'> | null,
): Promise<ErasablePart | null> {
  if (row?.authorKind !== 'participant') return row
  const author = await tx.projectParticipant.findUnique({ where: { id: row.authorId } })
  return { ...row, claimedBy: author?.accountId ?? null }
}

/** The row of a part. Null if it is not in the given containers, or if its conversation is being erased. */
async function rowOf(tx: Transaction, { kind, id, project, conversation }: ProjectPart): Promise<ErasablePart | null> {
  if (kind === 'message') {
    const where = { id, projectId: project, conversation: { id: conversation ?? '', erasingSince: null } }
    return withClaimant(tx, await tx.message.findFirst({ where, select }))
  }
  if (kind === 'document')
    return withClaimant(tx, await tx.document.findFirst({ where: { id, projectId: project }, select }))
  const row = await tx.conversation.findFirst({ where: { id, projectId: project } })
  if (!row) return null
  const isPerson = row.createdBy.startsWith('user:')
  return {
    authorKind: isPerson ? 'account' : 'agent',
    authorId: isPerson ? row.createdBy.slice('user:'.length) : row.createdBy,
    erasingSince: row.erasingSince,
  }
}

/** Checks that the actor may erase the part, and locks it. @throws {Problem} `not_found`, `erased`, `forbidden`, `scope_too_small` */
export async function lockErasablePart(
  { tx, actor }: MutationContext,
  part: ProjectPart,
  { dry_run, redact }: { dry_run: boolean; redact: boolean },
): Promise<ErasablePart> {
  const written = part.kind === 'conversation' ? null : await rowOf(tx, part)
  // Authors may erase their own messages and documents after they leave. A conversation also contains messages of others.
  const enter = written && isMine(actor, written) ? projectOfAuthor : writableProject
  await enter(tx, projectReaderOf({ actor }), part.project)
  await lockPart(tx, part)
  // Check again: the lock may have waited for a transaction that marked the project.
  const project = await enter(tx, projectReaderOf({ actor }), part.project)
  const row = await rowOf(tx, part)
  if (!row) throw await missing(tx, part)
  if (dry_run && !actor.can('projects:read'))
    throw new Problem('scope_too_small', 'A dry run shows names of the project, so it needs the scope "read".')
  if (!mayErase(project, actor, row))
    throw new Problem(
      'forbidden',
      `Only the author of the ${part.kind} and owners of the project can erase it. Nothing was erased.`,
    )
  if (dry_run && project.role === null)
    throw new Problem(
      'forbidden',
      'A dry run shows names in data of others, so only members can start one. You can still erase your own data.',
    )
  if (redact && project.role !== 'owner')
    throw new Problem(
      'forbidden',
      'Only owners of the project can remove names from data of other authors. Leave out `redact`. Nothing was erased.',
    )
  return row
}

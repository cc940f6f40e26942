import { z } from 'zod'
import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { type PartKind, type ProjectPart, partKinds, type Subject } from '#lib/kernel/erasure-scope.ts'
import { isMine, projectReaderOf } from '../access.ts'
import {
  accessToProject,
  existingParts,
  lockDocumentsMadeFrom,
  lockPartRow,
  lockProject,
  markDocumentsMadeFrom,
  newestInPart,
  type PartRow,
  projectsOfAuthors,
  recordsInPart,
  type SourceKind,
} from './repository.ts'

const Kind = z.enum(partKinds)
const partOf = ({ kind, id, projectId, conversationId }: PartRow): ProjectPart => ({
  kind: Kind.parse(kind),
  id,
  project: projectId,
  conversation: conversationId,
})

const hasDerivedDocuments = (kind: PartKind): kind is SourceKind => kind === 'conversation' || kind === 'message'

/** Locks rows from project to document, the same order as all other code, to avoid deadlocks. Blocks writers to the part. */
export async function lockPart(tx: Transaction, { kind, id, project, conversation }: ProjectPart): Promise<void> {
  if (kind === 'project') await lockProject(tx, { id }, 'FOR UPDATE')
  else await lockProject(tx, { id: project }, 'FOR SHARE')
  if (kind !== 'conversation' && conversation !== null)
    await lockPartRow(tx, { id: conversation, project }, ['conversation', 'FOR SHARE'])
  if (kind === 'conversation' || kind === 'message') await lockPartRow(tx, { id, project }, [kind, 'FOR UPDATE'])
  if (hasDerivedDocuments(kind)) await lockDocumentsMadeFrom(tx, { id }, kind)
  if (kind === 'document') await lockPartRow(tx, { id, project }, [kind, 'FOR UPDATE'])
}

/** Marks a part and the documents made from it as being erased. Null removes the mark, also from documents that have the same mark. */
export async function markProjectPart(
  tx: Transaction,
  { kind, id }: ProjectPart,
  erasingSince: Date | null,
): Promise<void> {
  if (hasDerivedDocuments(kind)) await markDocumentsMadeFrom(tx, { id, since: erasingSince }, kind)
  const where = { id, ...(erasingSince !== null && { erasingSince: null }) }
  const data = { erasingSince }
  if (kind === 'project') await tx.project.updateMany({ where, data })
  if (kind === 'conversation') await tx.conversation.updateMany({ where, data })
  if (kind === 'message') await tx.message.updateMany({ where, data })
  if (kind === 'document') await tx.document.updateMany({ where, data })
}

/** The functions that the erasure engine calls for parts of projects. */
export const projectParts = {
  async raiseFence(tx: Transaction, part: ProjectPart, now: Date): Promise<void> {
    await lockPart(tx, part)
    await markProjectPart(tx, part, now)
  },

  /** A closed project keeps its mark, so that it cannot be reopened during a run that continues when a legal hold ends. */
  async release(tx: Transaction, part: ProjectPart): Promise<void> {
    if (part.kind === 'project') return
    await lockPart(tx, part)
    await markProjectPart(tx, part, null)
  },

  async newest(tx: Transaction, { kind, id }: ProjectPart): Promise<Date | null> {
    const [row] = await newestInPart(tx, { id }, kind)
    return row?.at ?? null
  },

  projectsOf: async (tx: Transaction, subject: Subject): Promise<string[]> =>
    (await projectsOfAuthors(tx, writersOf(subject))).map(({ id }) => id),

  async missing(tx: Transaction, parts: readonly ProjectPart[]): Promise<ProjectPart[]> {
    const rows = await existingParts(tx, {
      kinds: parts.map(({ kind }) => kind),
      ids: parts.map(({ id }) => id),
      projects: parts.map(({ project }) => project),
    })
    const stored = new Set(rows.map(({ kind, id, projectId }) => `${kind} ${projectId} ${id}`))
    return parts.filter(({ kind, id, project }) => !stored.has(`${kind} ${project} ${id}`))
  },

  async restored(tx: Transaction, { kind, id }: ProjectPart, at: Date): Promise<ProjectPart[]> {
    const rows = await recordsInPart(tx, { id, at }, kind)
    const whole = rows.find((row) => row.kind === kind && row.id === id)
    if (!whole || whole.isSince) return []
    if (!rows.some(({ isSince }) => isSince)) return [partOf(whole)]
    return rows.filter((row) => !row.isSince && (row.kind === 'message' || row.kind === 'document')).map(partOf)
  },
}

/** Whether the actor is an owner of the project by membership. */
export async function ownsProject(
  ctx: Pick<Context, 'actor'> & { tx: Transaction },
  projectId: string,
): Promise<boolean> {
  const [record] = await accessToProject(ctx.tx, { ...projectReaderOf(ctx), id: projectId })
  return record?.role === 'owner'
}

/** Whether the actor owns the project of a part, manages its organization, or wrote the part. The author is known while the row exists. */
export async function answersForPart(
  ctx: Pick<Context, 'actor'> & { tx: Transaction },
  part: ProjectPart,
): Promise<boolean> {
  const { id, project: projectId } = part
  const [record] = await accessToProject(ctx.tx, { ...projectReaderOf(ctx), id: projectId })
  if (!record) return false
  if (record.role === 'owner' || record.office !== null) return true
  const select = { authorKind: true, authorId: true }
  const written =
    part.kind === 'message'
      ? await ctx.tx.message.findFirst({ where: { id, projectId }, select })
      : part.kind === 'document'
        ? await ctx.tx.document.findFirst({ where: { id, projectId }, select })
        : null
  return written !== null && isMine(ctx.actor, written)
}

import { z } from 'zod'
import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { type PartKind, type ProjectPart, partKinds, type Subject } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { isMine, officeOf, projectReaderOf, projectRoleSql, readerValues } from '../access.ts'

interface PartRow {
  kind: string
  id: string
  projectId: string
  conversationId: string | null
}
const Kind = z.enum(partKinds)
const partOf = ({ kind, id, projectId, conversationId }: PartRow): ProjectPart => ({
  kind: Kind.parse(kind),
  id,
  project: projectId,
  conversation: conversationId,
})

/** SQL: the documents made from a message, or from the messages of a conversation. They are erased with it. $1 is its id. */
const madeFrom: Partial<Record<PartKind, string>> = {
  message: 'made_from = $1',
  conversation: 'made_from IN (SELECT id FROM messages WHERE conversation_id = $1)',
}

/** Locks rows from project to document, the same order as all other code, to avoid deadlocks. Blocks writers to the part. */
export async function lockPart(tx: Transaction, { kind, id, project, conversation }: ProjectPart): Promise<void> {
  if (kind === 'project') await tx.$queryRaw`SELECT 1 FROM projects WHERE id = ${id} FOR UPDATE`
  else await tx.$queryRaw`SELECT 1 FROM projects WHERE id = ${project} FOR SHARE`
  if (kind === 'conversation')
    await tx.$queryRaw`SELECT 1 FROM conversations WHERE id = ${id} AND project_id = ${project} FOR UPDATE`
  else if (conversation !== null)
    await tx.$queryRaw`SELECT 1 FROM conversations WHERE id = ${conversation} AND project_id = ${project} FOR SHARE`
  if (kind === 'message')
    await tx.$queryRaw`SELECT 1 FROM messages WHERE id = ${id} AND project_id = ${project} FOR UPDATE`
  const made = madeFrom[kind]
  if (made)
    await queryWithin(tx, `lock-made-${kind}`, `SELECT 1 FROM documents WHERE ${made} ORDER BY id FOR UPDATE`, [id])
  if (kind === 'document')
    await tx.$queryRaw`SELECT 1 FROM documents WHERE id = ${id} AND project_id = ${project} FOR UPDATE`
}

/** Marks a part and the documents made from it as being erased. Null removes the mark, also from documents that have the same mark. */
export async function markProjectPart(
  tx: Transaction,
  { kind, id }: ProjectPart,
  erasingSince: Date | null,
): Promise<void> {
  const made = madeFrom[kind]
  if (made)
    await queryWithin(
      tx,
      `mark-made-${kind}`,
      `UPDATE documents SET erasing_since = $2::timestamptz WHERE ${made}
         AND erasing_since IS NOT DISTINCT FROM CASE WHEN $2::timestamptz IS NULL THEN (SELECT erasing_since FROM ${kind}s WHERE id = $1) END`,
      [id, erasingSince],
    )
  const where = { id, ...(erasingSince !== null && { erasingSince: null }) }
  const data = { erasingSince }
  if (kind === 'project') await tx.project.updateMany({ where, data })
  if (kind === 'conversation') await tx.conversation.updateMany({ where, data })
  if (kind === 'message') await tx.message.updateMany({ where, data })
  if (kind === 'document') await tx.document.updateMany({ where, data })
}

/** SQL: condition on `project_parts` for a part and everything inside it; $1 is its id. One condition per kind, so each uses its index. */
const inside: Record<PartKind, string> = {
  project: 'project_id = $1',
  conversation: 'conversation_id = $1',
  message: "kind = 'message' AND id = $1",
  document: "kind = 'document' AND id = $1",
}

const byAuthor = '(author_kind, author_id) IN (SELECT w.kind, w.id FROM unnest($1::text[], $2::text[]) AS w(kind, id))'
const writtenIn = `SELECT project_id AS id FROM messages WHERE ${byAuthor}
  UNION SELECT project_id FROM documents WHERE ${byAuthor} ORDER BY id`

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
    const [row] = await queryWithin<{ at: Date | null }>(
      tx,
      `part-newest-${kind}`,
      `SELECT max(created_at) AS at FROM project_parts WHERE ${inside[kind]}`,
      [id],
    )
    return row?.at ?? null
  },

  async projectsOf(tx: Transaction, subject: Subject): Promise<string[]> {
    const { kinds, ids } = writersOf(subject)
    const rows = await queryWithin<{ id: string }>(tx, 'projects-written-in', writtenIn, [kinds, ids])
    return rows.map(({ id }) => id)
  },

  async missing(tx: Transaction, parts: readonly ProjectPart[]): Promise<ProjectPart[]> {
    const rows = await queryWithin<PartRow>(
      tx,
      'parts-stored',
      `SELECT p.kind, p.id, p.project_id AS "projectId", p.conversation_id AS "conversationId"
       FROM unnest($1::text[], $2::text[], $3::text[]) AS w(kind, id, project)
       JOIN project_parts p ON p.kind = w.kind AND p.id = w.id AND p.project_id = w.project`,
      [parts.map(({ kind }) => kind), parts.map(({ id }) => id), parts.map(({ project }) => project)],
    )
    const stored = new Set(rows.map(({ kind, id, projectId }) => `${kind} ${projectId} ${id}`))
    return parts.filter(({ kind, id, project }) => !stored.has(`${kind} ${project} ${id}`))
  },

  async restored(tx: Transaction, { kind, id }: ProjectPart, at: Date): Promise<ProjectPart[]> {
    const rows = await queryWithin<PartRow & { isSince: boolean }>(
      tx,
      `part-restored-${kind}`,
      `SELECT kind, id, project_id AS "projectId", conversation_id AS "conversationId", created_at > $2 AS "isSince"
       FROM project_parts WHERE ${inside[kind]} ORDER BY kind, id`,
      [id, at],
    )
    const whole = rows.find((row) => row.kind === kind && row.id === id)
    if (!whole || whole.isSince) return []
    if (!rows.some(({ isSince }) => isSince)) return [partOf(whole)]
    return rows.filter((row) => !row.isSince && (row.kind === 'message' || row.kind === 'document')).map(partOf)
  },
}

/** Whether the project exists and is not closed. Only such a project can be put under legal hold. */
export const isProject = async (tx: Transaction, id: string): Promise<boolean> =>
  (await tx.project.count({ where: { id, status: { not: 'closed' } } })) > 0

/** Whether the actor owns the project of a part, manages its organization, or wrote the part. The author is known while the row exists. */
export async function answersForPart(
  ctx: Pick<Context, 'actor'> & { tx: Transaction },
  part: ProjectPart,
): Promise<boolean> {
  const { id, project: projectId } = part
  const [record] = await queryWithin<{ role: string | null; office: string | null }>(
    ctx.tx,
    'part-answered-for',
    `SELECT ${projectRoleSql} AS role, ${officeOf} AS office FROM projects p WHERE p.id = $5`,
    [...readerValues(projectReaderOf(ctx)), projectId],
  )
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

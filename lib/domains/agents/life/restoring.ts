import { z } from 'zod'
import { refuseKeys } from '#lib/domains/pii/secrets/stored-keys.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Timestamp } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { addAgentDocument } from './contract.ts'
import { maxDocuments } from './rules.ts'
import { markdown } from './service.ts'

/** The agent that receives the restored records, and the mapping of their ids. */
interface Goal {
  agentId: string
  now: Date
  /** Maps the id of an exported record to its id in this agent. */
  named(id: string): string
}

const { kind, title, body } = addAgentDocument.body.shape
const Document = z.object({
  id: z.string().regex(/^adoc_[0-9A-Za-z]{22}$/, 'is not the id of a document'),
  kind,
  title,
  body,
  revision: z.int().min(1).max(2_147_483_646),
  created_at: Timestamp,
  updated_at: Timestamp,
})

/**
 * Restores documents from an export into an agent that is locked and writable. They are sanitized like new ones; existing documents are not
 * changed. All or nothing.
 * @throws {Problem} `invalid`, `content_rejected`, `content_blocked`, `id_in_use` or `conflict`
 */
export const documentRestorer = ({ strict }: { strict: boolean }) => ({
  part: 'agent_documents',
  resourceType: 'agent_document',
  async restore(tx: Transaction, { agentId, now, named }: Goal, records: readonly unknown[]) {
    const within = (at: Date): Date => (at > now ? now : at)
    const data = records.map((record) => {
      const { data: document, error } = Document.safeParse(record)
      if (!document)
        throw invalid(
          ['agent_documents', ...(error.issues[0]?.path ?? [])].map(String),
          error.issues[0]?.message ?? 'is not a document',
        )
      const title = plainTextPhrases(document.title, 'title', strict, 'It was not stored.')
      const body = markdown(document.body, strict)
      refuseKeys({ title, body }, 'One of the documents')
      return {
        id: named(document.id),
        agentId,
        kind: document.kind,
        title,
        body,
        revision: document.revision,
        createdAt: within(document.created_at),
        updatedAt: within(document.updated_at),
      }
    })
    const stored = await tx.agentDocument.createManyAndReturn({ data, skipDuplicates: true, select: { id: true } })
    const ids = [...new Set(data.map(({ id }) => id))]
    if ((await tx.agentDocument.count({ where: { agentId, id: { in: ids } } })) < ids.length)
      throw new Problem('id_in_use', 'One of these document ids belongs to another agent. No document was stored.')
    if ((await tx.agentDocument.count({ where: { agentId } })) > maxDocuments)
      throw new Problem(
        'conflict',
        `With these documents, the agent would have more than ${maxDocuments.toLocaleString('en')}, which is the limit. Delete some first.`,
      )
    return { stored: stored.map(({ id }) => id), ended: 0 }
  },
})

/** The settings of an agent that a snapshot contains. */
export const snapshotSettings = (tx: Transaction, agentId: string) =>
  tx.agent.findUniqueOrThrow({
    where: { id: agentId },
    select: { name: true, region: true, selfHosted: true, grimoireDays: true, createdAt: true, suspendedAt: true },
  })

/** How many days after creation the agent's grimoire entries expire; null: never. */
export async function grimoireDaysOf(tx: Transaction, agentId: string): Promise<number | null> {
  const agent = await tx.agent.findUniqueOrThrow({ where: { id: agentId }, select: { grimoireDays: true } })
  return agent.grimoireDays
}

/**
 * Restores an agent's settings only if its grimoire is empty: a shorter retention would delete existing entries. Returns whether it did.
 */
export const settingsRestorer =
  ({ hasEntries }: { hasEntries(tx: Transaction, agentId: string): Promise<boolean> }) =>
  async (tx: Transaction, agentId: string, settings: unknown): Promise<boolean> => {
    const { data } = z.object({ grimoire_days: z.int().min(1).max(3_650).nullable() }).safeParse(settings)
    if (!data) throw invalid(['agent', 'grimoire_days'], 'must be a number of days from 1 to 3,650, or null')
    if (await hasEntries(tx, agentId)) return false
    await tx.agent.update({ where: { id: agentId }, data: { grimoireDays: data.grimoire_days } })
    return true
  }

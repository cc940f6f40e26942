import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { Timestamp } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { addEntry } from './contract.ts'
import { sealStored } from './entry-content.ts'
import { keyringOf } from './keyrings.ts'
import type { StoredEntryPorts } from './ports.ts'
import { goneBefore, mostEntries } from './rules.ts'

/** The agent into which records are restored, and their new ids. */
interface Goal {
  agentId: string
  now: Date
  /** The restored id of a record. Clients set the ids of private entries, because the envelope is bound to the id. */
  named(id: string): string
}

const Record = z.object({
  id: z.string().regex(/^ent_[0-9A-Za-z]{22}$/, 'is not the id of an entry'),
  kind: z.string(),
  scope: z.string(),
  envelope: z.unknown(),
  entry: z.record(z.string(), z.unknown()).nullable(),
  valid_until: Timestamp.nullable(),
  created_at: Timestamp,
})

/** Validates the record like a new entry. @throws Problem `invalid` */
function entryOf(record: unknown) {
  const refused = (issue: z.core.$ZodIssue | undefined) =>
    invalid(['grimoire_entries', ...(issue?.path ?? [])].map(String), issue?.message ?? 'is not an entry')
  const { data: read, error } = Record.safeParse(record)
  if (!read) throw refused(error.issues[0])
  const { id, kind, scope, envelope, entry } = read
  const { confidence, content, tags, provenance, parents, valid_from } = entry ?? {}
  const form = addEntry.body.safeParse(
    scope === 'private'
      ? { scope, id, kind, envelope }
      : { scope, kind, confidence, content, tags, provenance, parents, valid_from: valid_from ?? undefined },
  )
  if (!form.data) throw refused(form.error.issues[0])
  return { id, validUntil: read.valid_until, createdAt: read.created_at, form: form.data }
}

/**
 * Restores exported entries into an agent that is locked and writable. Keeps existing entries, skips expired ones and
 * preserves creation times.
 * @throws Problem `invalid`, `conflict`, `id_in_use`, `too_large` or `content_blocked`; then none of these records is
 * stored
 */
export const entryRestorer = ({ key, grimoireDaysOf }: StoredEntryPorts) => ({
  part: 'grimoire_entries',
  resourceType: 'grimoire_entry',
  async restore(tx: Transaction, { agentId, now, named }: Goal, records: readonly unknown[]) {
    const [days, ring] = await Promise.all([grimoireDaysOf(tx, agentId), keyringOf(tx, agentId)])
    const gone = goneBefore(days, now)
    const all = records.map(entryOf)
    const standing = all.filter(
      ({ validUntil, createdAt }) => (validUntil === null || validUntil > now) && (gone === null || createdAt > gone),
    )
    const data = standing.map(({ id: before, form, validUntil, createdAt }) => {
      if (form.scope === 'private' && form.envelope.key_id !== ring?.keyId)
        throw new Problem('invalid', {
          detail:
            'A private entry is not sealed with the keyring of the target agent. Open it with its passphrase, then seal it with this agent’s keyring.',
          issues: [
            { path: ['grimoire_entries', 'envelope', 'key_id'], message: 'must be the key id of the agent’s keyring' },
          ],
        })
      const id = form.scope === 'private' ? form.id : named(before)
      return {
        id,
        agentId,
        kind: form.kind,
        scope: form.scope,
        ...(form.scope === 'private'
          ? { envelope: form.envelope }
          : { sealed: new Uint8Array(sealStored(key(), id, { ...form, valid_until: validUntil ?? undefined })) }),
        validUntil,
        createdAt: createdAt > now ? now : createdAt,
        updatedAt: now,
      }
    })
    const stored = await tx.grimoireEntry.createManyAndReturn({ data, skipDuplicates: true, select: { id: true } })
    const ids = [...new Set(data.map(({ id }) => id))]
    if ((await tx.grimoireEntry.count({ where: { agentId, id: { in: ids } } })) < ids.length)
      throw new Problem('id_in_use', 'One of these entry ids belongs to another agent. No entry was stored.')
    if ((await tx.grimoireEntry.count({ where: { agentId } })) > mostEntries)
      throw new Problem(
        'conflict',
        `With these entries, the agent would have more than ${mostEntries.toLocaleString('en')}, which is the limit. Delete some first.`,
      )
    return { stored: stored.map(({ id }) => id), ended: all.length - standing.length }
  },
})

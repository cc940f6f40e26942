import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { seal, unseal } from '#lib/config/secret.ts'
import { refuseKeys } from '#lib/domains/pii/secrets/stored-keys.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { grimoireEntryBytes } from './rules.ts'

const Json: z.ZodType = z.json()
/** The content of an entry with the scope `clade`. */
export const StoredEntry = z.strictObject({
  content: Json,
  confidence: z.number().nullable(),
  tags: z.array(z.string()),
  provenance: Json,
  parents: z.array(z.string()),
  valid_from: z.string().nullable(),
  valid_until: z.string().nullable(),
})
export type StoredEntry = z.output<typeof StoredEntry>

interface Sent {
  content: unknown
  confidence: number
  tags: string[]
  provenance: unknown
  parents: string[]
  valid_from?: Date | undefined
  valid_until?: Date | undefined
}

const asStored = (sent: Sent): StoredEntry => ({
  content: sent.content,
  confidence: sent.confidence,
  tags: sent.tags,
  provenance: sent.provenance ?? null,
  parents: sent.parents,
  valid_from: sent.valid_from?.toISOString() ?? null,
  valid_until: sent.valid_until?.toISOString() ?? null,
})

/**
 * Seals the content for this entry with the installation key. @throws Problem `too_large`, or `content_blocked` for a
 * private key or a seed phrase
 */
export function sealStored(key: Uint8Array, id: string, sent: Sent): Buffer {
  const stored = asStored(sent)
  const plain = Buffer.from(JSON.stringify(stored))
  if (plain.length > grimoireEntryBytes)
    throw new Problem(
      'too_large',
      'The entry is larger than 64 KiB as JSON, which is the limit. Nothing was stored. Split it into two entries.',
    )
  const { content, tags, provenance, parents } = stored
  refuseKeys({ content, tags, provenance, parents }, 'The entry')
  return seal(key, plain, id)
}

export const openStored = (key: Uint8Array, id: string, sealed: Uint8Array): StoredEntry =>
  StoredEntry.parse(JSON.parse(unseal(key, sealed, id).toString('utf8')))

/** Whether the sent content would be stored as `stored`. */
export const isStoredAs = (sent: Sent, stored: StoredEntry): boolean =>
  isDeepStrictEqual(StoredEntry.parse(JSON.parse(JSON.stringify(asStored(sent)))), stored)

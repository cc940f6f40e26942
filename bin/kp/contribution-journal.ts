import { createHmac, randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { idPrefix, type Unit } from '#lib/domains/knowledge/contract.ts'
import { parsedJson, readIfThere, writePrivately } from './config.ts'

/** How long the journal of an interrupted run is trusted, in milliseconds. */
const believedFor = 24 * 3_600_000

const Line = z.object({ key: z.string(), id: z.string(), quality_score: z.number() })
export type JournalEntry = Omit<z.output<typeof Line>, 'key'>

/** A key of 32 random bytes on this machine. An id outlives its unit, and without the key the id does not reveal the unit's content. */
function secretOf(folder: string): Buffer {
  const file = join(folder, 'contribution-key')
  const before = readIfThere(file)
  if (before !== undefined && /^[\da-f]{64}$/.test(before.trim())) return Buffer.from(before.trim(), 'hex')
  const made = randomBytes(32)
  writePrivately(file, made.toString('hex'))
  return made
}

/** The author and destination of contributions. */
export interface JournalOwner {
  folder: string
  url: string
  agentId: string
}

/**
 * Derives contribution ids as a keyed hash of content, author and registry. The same unit gets the same id in every
 * run, so that a repeated run stores nothing twice.
 */
export function openIdentity({ folder, url, agentId }: JournalOwner) {
  const secret = secretOf(folder)
  const keyOf = (value: unknown): string =>
    createHmac('sha256', secret)
      .update(`${url}\n${agentId}\n${JSON.stringify(value)}`)
      .digest('hex')
      .slice(0, 32)
  return { keyOf, idOf: (unit: Unit): string => `${idPrefix(unit['@type'])}${keyOf(unit)}` }
}
export type JournalIdentity = ReturnType<typeof openIdentity>

export const journalFile = ({ folder, url, agentId }: JournalOwner): string =>
  join(folder, 'contributions', `${openIdentity({ folder, url, agentId }).keyOf('journal')}.jsonl`)

/**
 * The results of an interrupted run, with ids and hashes only, so that the next run continues from there. Without the
 * journal, everything would be sent again and found to exist.
 */
export function openJournal(owner: JournalOwner, now = Date.now()) {
  const file = journalFile(owner)
  const kept = new Map<string, JournalEntry>()
  const text = readIfThere(file)
  if (text !== undefined && now - statSync(file).mtimeMs < believedFor)
    for (const line of text.split('\n')) {
      const entry = parsedJson(line, Line) // the last line may be incomplete
      if (entry) kept.set(entry.key, { id: entry.id, quality_score: entry.quality_score })
    }
  else rmSync(file, { force: true })
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return {
    find: (key: string): JournalEntry | undefined => kept.get(key),
    keep: (entries: readonly { key: string; id: string; quality_score: number }[]): void =>
      appendFileSync(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600 }),
    /** The run is complete. From now on, the ids show what exists. */
    close: (): void => rmSync(file, { force: true }),
  }
}
export type Journal = ReturnType<typeof openJournal>

/** After an erasure, earlier results must not be trusted. */
export const forgetJournals = (folder: string): void =>
  rmSync(join(folder, 'contributions'), { recursive: true, force: true })

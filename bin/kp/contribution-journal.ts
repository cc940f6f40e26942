import { createHmac, randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { idPrefix, type Unit } from '#lib/domains/knowledge/unit.ts'
import { parsedJson, readIfThere, writePrivately } from './config.ts'

/** How long what an interrupted run had sent is believed to be there still, in milliseconds. */
const believedFor = 24 * 3_600_000

const Line = z.object({ key: z.string(), id: z.string(), quality_score: z.number() })
export type Kept = Omit<z.output<typeof Line>, 'key'>

/** 32 random bytes of this machine. Without them nobody can tell from an id, which outlives its unit, what the unit said. */
function secretOf(folder: string): Buffer {
  const file = join(folder, 'contribution-key')
  const before = readIfThere(file)
  if (before !== undefined && /^[\da-f]{64}$/.test(before.trim())) return Buffer.from(before.trim(), 'hex')
  const made = randomBytes(32)
  writePrivately(file, made.toString('hex'))
  return made
}

/** Whose contributions they are, and where they go. */
export interface Whose {
  folder: string
  url: string
  agentId: string
}

/**
 * What tells one contribution from another on this machine: a keyed hash of what is sent, by whom, and where. The same unit gets the
 * same id in every run, so a run that is repeated, however it ended, stores nothing twice.
 */
export function openIdentity({ folder, url, agentId }: Whose) {
  const secret = secretOf(folder)
  const keyOf = (value: unknown): string =>
    createHmac('sha256', secret)
      .update(`${url}\n${agentId}\n${JSON.stringify(value)}`)
      .digest('hex')
      .slice(0, 32)
  return { keyOf, idOf: (unit: Unit): string => `${idPrefix(unit['@type'])}${keyOf(unit)}` }
}
export type Identity = ReturnType<typeof openIdentity>

export const journalFile = ({ folder, url, agentId }: Whose): string =>
  join(folder, 'contributions', `${openIdentity({ folder, url, agentId }).keyOf('journal')}.jsonl`)

/**
 * What a run that was interrupted had stored, so that the next one goes on where it ended. Ids and hashes alone. Without it everything
 * would be sent again, and found to be there.
 */
export function openJournal(whose: Whose, now = Date.now()) {
  const file = journalFile(whose)
  const kept = new Map<string, Kept>()
  const text = readIfThere(file)
  if (text !== undefined && now - statSync(file).mtimeMs < believedFor)
    for (const line of text.split('\n')) {
      const entry = parsedJson(line, Line) // the last one may have been cut short
      if (entry) kept.set(entry.key, { id: entry.id, quality_score: entry.quality_score })
    }
  else rmSync(file, { force: true })
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return {
    find: (key: string): Kept | undefined => kept.get(key),
    keep: (entries: readonly { key: string; id: string; quality_score: number }[]): void =>
      appendFileSync(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), { mode: 0o600 }),
    /** The run reached its end: the ids themselves say what is there. */
    close: (): void => rmSync(file, { force: true }),
  }
}
export type Journal = ReturnType<typeof openJournal>

/** After an erasure nothing is believed to be there because an earlier run said so. */
export const forgetJournals = (folder: string): void =>
  rmSync(join(folder, 'contributions'), { recursive: true, force: true })

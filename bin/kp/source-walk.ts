import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { skillFile } from './skill-source.ts'

/** The role of a file or folder in a contribution. `skill`: a folder with a SKILL.md. */
export interface SourceEntry {
  path: string
  kind: 'units' | 'skill' | 'skipped'
  why?: string
}

const isUnits = (name: string): boolean => /\.(?:json|jsonl|ndjson)$/i.test(name)
const byName = (one: Dirent, other: Dirent): number => (one.name < other.name ? -1 : 1)

/**
 * Lists a folder in the order of names. Does not follow links, because they could lead to private files. Skips hidden
 * files and `node_modules`, and lists them.
 */
export function* sourceEntriesOf(folder: string, isInSkill = false): Generator<SourceEntry> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort(byName)
  const isSkill = entries.some((entry) => entry.name === skillFile && entry.isFile())
  if (isSkill) yield { path: folder, kind: 'skill' }
  const belongsToSkill = isSkill || isInSkill
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
      yield* sourceEntriesOf(path, belongsToSkill)
    else if (belongsToSkill)
      continue // part of a skill, which lists its own skipped files
    else if (entry.name.startsWith('.') || entry.isDirectory())
      yield { path, kind: 'skipped', why: 'is hidden or installed' }
    else if (entry.isSymbolicLink()) yield { path, kind: 'skipped', why: 'is a link' }
    else if (entry.isFile() && isUnits(entry.name)) yield { path, kind: 'units' }
    else yield { path, kind: 'skipped', why: 'is neither a unit nor a skill' }
  }
}

import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { skillFile } from './skill-source.ts'

/** What a file or folder is to a contribution. `skill` is a folder with a SKILL.md. */
export interface Place {
  path: string
  kind: 'units' | 'skill' | 'skipped'
  why?: string
}

const isUnits = (name: string): boolean => /\.(?:json|jsonl|ndjson)$/i.test(name)
const byName = (one: Dirent, other: Dirent): number => (one.name < other.name ? -1 : 1)

/**
 * What a folder holds, in the order of names. Links are not followed: they could lead to what nobody meant to share. Hidden
 * files and `node_modules` are left aside, and named.
 */
export function* placesOf(folder: string, isInSkill = false): Generator<Place> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort(byName)
  const isSkill = entries.some((entry) => entry.name === skillFile && entry.isFile())
  if (isSkill) yield { path: folder, kind: 'skill' }
  const belongsToSkill = isSkill || isInSkill
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules')
      yield* placesOf(path, belongsToSkill)
    else if (belongsToSkill)
      continue // the skill's own; it names what it leaves aside
    else if (entry.name.startsWith('.') || entry.isDirectory())
      yield { path, kind: 'skipped', why: 'is hidden or installed' }
    else if (entry.isSymbolicLink()) yield { path, kind: 'skipped', why: 'is a link' }
    else if (entry.isFile() && isUnits(entry.name)) yield { path, kind: 'units' }
    else yield { path, kind: 'skipped', why: 'is neither a unit nor a skill' }
  }
}

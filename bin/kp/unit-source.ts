import { createReadStream, type Dirent, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { describeBreak } from './json-break.ts'
import { readSkillFolder, type SkillSource, skillFile } from './skill-source.ts'
import { readStdin } from './terminal.ts'

/** The role of a file or folder in a contribution. `skill`: a folder with a SKILL.md. */
interface SourceEntry {
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
function* sourceEntriesOf(folder: string, isInSkill = false): Generator<SourceEntry> {
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

/** An item with its place: JSON, a skill, a fault, or the reason why it is skipped. */
export type SourceItem =
  | { source: string; value: unknown }
  | { source: string; skill: SkillSource }
  | { source: string; fault: string }
  | { source: string; skipped: string }

const isLines = (file: string): boolean => /\.(?:jsonl|ndjson)$/i.test(file)

function parsed(source: string, text: string, isOneLine = false): SourceItem {
  try {
    return { source, value: JSON.parse(text) }
  } catch {
    return { source, fault: describeBreak(text, isOneLine) }
  }
}

const each = (source: string, value: unknown): SourceItem[] =>
  Array.isArray(value) ? value.map((one, at) => ({ source: `${source}[${at}]`, value: one })) : [{ source, value }]

/** One JSON unit, an array of them, or JSON Lines. */
function fromText(source: string, text: string): SourceItem[] {
  const whole = parsed(source, text)
  if ('value' in whole) return each(source, whole.value)
  const lines = text
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [parsed(`${source}:${at + 1}`, line, true)]))
  return lines.length > 1 && lines.some((line) => 'value' in line) ? lines : [whole]
}

async function* fromLines(file: string): AsyncGenerator<SourceItem> {
  let number = 0
  for await (const line of createInterface({
    input: createReadStream(file, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++
    if (line.trim() !== '') yield parsed(`${file}:${number}`, line, true)
  }
}

async function* fromFile(file: string): AsyncGenerator<SourceItem> {
  if (isLines(file)) yield* fromLines(file)
  else yield* fromText(file, readFileSync(file, 'utf8'))
}

async function* fromFolder(folder: string): AsyncGenerator<SourceItem> {
  let found = 0
  for (const { path, kind, why } of sourceEntriesOf(folder)) {
    if (kind === 'skipped') yield { source: path, skipped: why ?? 'is neither a unit nor a skill' }
    else {
      found++
      if (kind === 'units') yield* fromFile(path)
      else {
        const { skill, skipped } = readSkillFolder(path)
        yield { source: path, skill }
        yield* skipped
      }
    }
  }
  if (found === 0) throw usageFailure(`${folder} contains no .json, .jsonl or .ndjson file and no ${skillFile}.`)
}

/** Streams every unit and skill of the paths; `-` is standard input. A SKILL.md that is named directly has no other files. */
export async function* unitsOf(
  invocation: Pick<Invocation, 'stdin'>,
  paths: readonly string[],
): AsyncGenerator<SourceItem> {
  // Reports a missing path before anything is sent.
  const sources = paths.map((path) => ({ path, isFolder: path !== '-' && statSync(path).isDirectory() }))
  for (const { path, isFolder } of sources) {
    if (path === '-') yield* fromText('stdin', await readStdin(invocation, 'A unit'))
    else if (isFolder) yield* fromFolder(path)
    else if (basename(path) === skillFile)
      yield { source: path, skill: { skill_md: readFileSync(path, 'utf8'), files: [] } }
    else yield* fromFile(path)
  }
}

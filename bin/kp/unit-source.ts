import { createReadStream, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import { usageFailure } from './failure.ts'
import type { Invocation } from './invocation.ts'
import { describeBreak } from './json-break.ts'
import { readSkillFolder, type SkillSource, skillFile } from './skill-source.ts'
import { sourceEntriesOf } from './source-walk.ts'
import { readStdin } from './terminal.ts'

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

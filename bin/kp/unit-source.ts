import { createReadStream, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { usageFailure } from './failure.ts'
import { readStdin } from './terminal.ts'

/** One unit as it was found: its place, and its JSON or what is wrong with it. */
export type Found = { source: string; value: unknown } | { source: string; fault: string }

const isLines = (file: string): boolean => /\.(?:jsonl|ndjson)$/i.test(file)
const isUnits = (file: string): boolean => /\.(?:json|jsonl|ndjson)$/i.test(file)

function parsed(source: string, text: string): Found {
  try {
    return { source, value: JSON.parse(text) }
  } catch {
    return { source, fault: 'is not valid JSON' }
  }
}

const each = (source: string, value: unknown): Found[] =>
  Array.isArray(value) ? value.map((one, at) => ({ source: `${source}[${at}]`, value: one })) : [{ source, value }]

/** One JSON unit, an array of them, or one a line. */
function fromText(source: string, text: string): Found[] {
  const whole = parsed(source, text)
  if ('value' in whole) return each(source, whole.value)
  const lines = text
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [parsed(`${source}:${at + 1}`, line)]))
  return lines.length > 1 && lines.some((line) => 'value' in line) ? lines : [whole]
}

async function* fromLines(file: string): AsyncGenerator<Found> {
  let number = 0
  for await (const line of createInterface({
    input: createReadStream(file, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  })) {
    number++
    if (line.trim() !== '') yield parsed(`${file}:${number}`, line)
  }
}

/** The files that a path means, in the order of their names; a folder is searched through. */
function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter(isUnits)
    .sort()
    .map((name) => join(path, name))
  if (files.length === 0) throw usageFailure(`${path} holds no .json, .jsonl or .ndjson file.`)
  return files
}

/** Every unit behind the paths, `-` being standard input, one after the other. JSON Lines are read as they are needed. */
export async function* unitsOf(paths: readonly string[]): AsyncGenerator<Found> {
  const sources = paths.map((path) => (path === '-' ? undefined : filesOf(path)))
  for (const files of sources) {
    if (!files) yield* fromText('stdin', await readStdin('A unit'))
    for (const file of files ?? []) {
      if (isLines(file)) yield* fromLines(file)
      else yield* fromText(file, readFileSync(file, 'utf8'))
    }
  }
}

import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { SensitiveKind } from '#lib/domains/pii/findings.ts'
import { scan } from '#lib/domains/pii/scanner.ts'
import { SanitizationError } from '#lib/domains/sanitizer/sanitization-error.ts'
import { sanitizeSkillMd } from '#lib/domains/sanitizer/sanitizer.ts'
import type { BenchRow } from './row.ts'

const extensions = /\.(?:md|mdx|txt|[cm]?[jt]sx?|json|css|scss|html|ya?ml|toml|py|sh|sql)$/
/** Packages whose files consist of the values that the scanner finds. */
const subjects = /\/(?:libphonenumber-js|ibantools|phone|credit-card-type|@scure\/bip39|age-encryption)\//
/** Values that published files contain on purpose: authors' addresses, and addresses of documentation that are not reserved. */
const deliberate: ReadonlySet<SensitiveKind> = new Set(['email', 'ip'])
const maxBytes = 100e6
const mostOfFile = 3e6

/** Files of the installed packages, and of other packages in the user's cache, in order of their paths. */
function* filesIn(folder: string): Generator<string> {
  let entries: ReturnType<typeof entriesOf>
  try {
    entries = entriesOf(folder)
  } catch {
    // A folder of another user.
    return
  }
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesIn(path)
    else if (entry.isFile() && extensions.test(entry.name) && !subjects.test(path)) yield path
  }
}
const entriesOf = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).sort((one, other) => (one.name < other.name ? -1 : 1))

/** Every `step`th file, until the files have enough bytes. */
function chosen(folder: string, step: number): { path: string; text: string }[] {
  const files: { path: string; text: string }[] = []
  let [bytes, count] = [0, 0]
  for (const path of filesIn(folder)) {
    count += 1
    const { size } = statSync(path)
    if (count % step !== 0 || size > mostOfFile || bytes > maxBytes) continue
    bytes += size
    files.push({ path, text: readFileSync(path, 'utf8') })
  }
  return files
}

/** Distinct values that the scanner reports with full confidence in published code and prose, and published Markdown that the sanitizer refuses or changes. */
export async function run(): Promise<BenchRow[]> {
  const places: string[] = []
  const values = new Map<SensitiveKind, Set<string>>()
  let [bytes, markdown, refused, altered] = [0, 0, 0, 0]
  for (const { folder, step } of [
    { folder: 'node_modules', step: 4 },
    { folder: join(homedir(), '.cache'), step: 10 },
  ])
    for (const { path, text } of chosen(folder, step)) {
      bytes += Buffer.byteLength(text)
      for (const { kind, start, end, confidence } of scan(text)) {
        if (confidence === 'low' || deliberate.has(kind)) continue
        const known = values.get(kind) ?? new Set()
        values.set(kind, known.add(text.slice(start, end)))
        places.push(`${kind}\t${path}:${text.slice(0, start).split('\n').length}`)
      }
      if (!/\.mdx?$/.test(path)) continue
      markdown += 1
      try {
        const { removed, normalized, places: changes } = sanitizeSkillMd(text)
        if (removed.comments + removed.tags > 0 || normalized) altered += 1
        if (changes.length > 0) places.push(`altered\t${path} at ${changes.map(({ place }) => place).join(', ')}`)
      } catch (error) {
        if (!SanitizationError.is(error)) throw error
        refused += 1
        places.push(`refused\t${path} at ${error.place}: ${error.rule}`)
      }
    }
  mkdirSync('bench/results', { recursive: true })
  writeFileSync('bench/results/false-finds.txt', `${places.join('\n')}\n`)
  const share = 100e6 / Math.max(bytes, 1)
  const all = [...values.values()].reduce((sum, { size }) => sum + size, 0)
  return [
    {
      name: 'values found with full confidence in published code and prose, except email and IP addresses',
      value: all * share,
      unit: 'per 100 MB',
    },
    ...[...values].map(([kind, { size }]) => ({
      name: `of these: ${kind}`,
      value: size * share,
      unit: 'per 100 MB',
      isDetail: true,
    })),
    { name: 'published files read', value: bytes / 1e6, unit: 'MB', isDetail: true },
    { name: `published Markdown refused, of ${markdown}`, value: refused, unit: 'files' },
    { name: `published Markdown changed, of ${markdown}`, value: altered, unit: 'files' },
  ]
}

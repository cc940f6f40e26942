import { shortest } from '#lib/domains/pii/secrets/seed-phrases.ts'
import {
  type JsonPathStep,
  type SanitizationError,
  sanitizationRefusal,
} from '#lib/domains/sanitizer/sanitization-error.ts'
import { DEPTH_LIMIT, DepthError } from '#lib/domains/sanitizer/sanitizer.ts'
import type { SensitiveFinding, SensitiveKind } from './findings.ts'
import { redact } from './redaction.ts'
import { type ScanOptions, scan } from './scanner.ts'

/** Findings in one text of a JSON value. */
export interface FieldFindings {
  /** Path of the text; for a key, path of its object. Steps are redacted, because a key can be a secret itself. */
  path: JsonPathStep[]
  isKey: boolean
  text: string
  /** Offsets in `text`. */
  findings: SensitiveFinding[]
}

const isWord = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 16 && !/\s/.test(value.trim())
/** Words that may form a seed phrase together: those of a list, of an object, or under one key of a list's objects. */
function wordLists(node: object): string[][] {
  const values: unknown[] = Object.values(node)
  if (values.length < shortest) return []
  const words = values.filter(isWord)
  if (words.length === values.length || (!Array.isArray(node) && words.length >= shortest)) return [words]
  const [first] = values
  if (!Array.isArray(node) || typeof first !== 'object' || first === null) return []
  return Object.keys(first).flatMap((key) => {
    const column = values.map((one): unknown =>
      typeof one === 'object' && one !== null ? Reflect.get(one, key) : undefined,
    )
    return column.every(isWord) ? [column] : []
  })
}

const safe = (step: JsonPathStep): JsonPathStep => (typeof step === 'string' ? redact(step).text : step)

/**
 * Applies {@link scan} to every string and key of a JSON value, in order. A key names its value: `{"private_key": "0x…"}` is a private key.
 * Single words of a list are read together, because seed phrases are often stored like that.
 */
export function scanFields(value: unknown, options: ScanOptions = {}): FieldFindings[] {
  const found: FieldFindings[] = []
  const report = (path: readonly JsonPathStep[], isKey: boolean, text: string, findings: SensitiveFinding[]): void => {
    if (findings.length > 0) found.push({ path: path.map(safe), isKey, text, findings })
  }
  const visit = (node: unknown, path: readonly JsonPathStep[], name: string): void => {
    if (typeof node === 'string') report(path, false, node, called(name, node, options))
    if (typeof node !== 'object' || node === null) return
    if (path.length >= DEPTH_LIMIT) throw new DepthError()
    const before = found.length
    if (Array.isArray(node)) for (const [index, item] of node.entries()) visit(item, [...path, index], name)
    else
      for (const [key, child] of Object.entries(node)) {
        report(path, true, key, scan(key, options))
        visit(child, [...path, key], key)
      }
    const hasPhrase = found.slice(before).some(({ findings }) => findings.some(({ kind }) => kind === 'seed_phrase'))
    if (hasPhrase) return
    for (const words of wordLists(node)) {
      const text = words.join('\n')
      report(
        path,
        false,
        text,
        scan(text).filter(({ kind }) => kind === 'seed_phrase'),
      )
    }
  }
  visit(value, [], '')
  return found
}

/** Every text of a JSON value with its path as in {@link scanFields}, without keys. */
export function fieldTexts(value: unknown): { path: JsonPathStep[]; text: string }[] {
  const texts: { path: JsonPathStep[]; text: string }[] = []
  const visit = (node: unknown, path: JsonPathStep[]): void => {
    if (typeof node === 'string') texts.push({ path, text: node })
    if (typeof node !== 'object' || node === null) return
    if (path.length >= DEPTH_LIMIT) throw new DepthError()
    for (const [key, child] of Object.entries(node))
      visit(child, [...path, Array.isArray(node) ? Number(key) : safe(key)])
  }
  visit(value, [])
  return texts
}

function called(name: string, text: string, options: ScanOptions): SensitiveFinding[] {
  const heading = name === '' ? '' : `${name}: `
  return scan(heading + text, options)
    .filter(({ start }) => start >= heading.length)
    .map((one) => ({ ...one, start: one.start - heading.length, end: one.end - heading.length }))
}

const named = (kinds: Iterable<SensitiveKind>): string => [...new Set(kinds)].join(', ')

/**
 * The error for secrets that must not be stored, at the first position; undefined if there are none. Names the kinds, never the content.
 */
export function secretIn(fields: readonly FieldFindings[]): SanitizationError | undefined {
  const blocked = ({ findings }: FieldFindings) => findings.filter(({ action }) => action === 'block')
  const field = fields.find((one) => blocked(one).length > 0)
  if (!field) return undefined
  const secrets = blocked(field)
  const error = sanitizationRefusal(
    field.text,
    'secret',
    named(secrets.map(({ kind }) => kind)),
    secrets[0]?.start ?? 0,
  )
  return error.within(field.path, field.isKey)
}

/** A field's path and findings, without its text. */
type PersonalField = Pick<FieldFindings, 'path'> & { findings: readonly SensitiveFinding[] }
/** Maximum fields listed in a warning. */
const maxNamed = 10
/** Warning about personal data that may be stored: its kinds and fields, in one sentence at most. */
export function personalWarnings(fields: readonly PersonalField[]): string[] {
  if (fields.length === 0) return []
  const places = fields
    .slice(0, maxNamed)
    .map(({ path, findings }) => `${path.join('.') || 'the text'} (${named(findings.map(({ kind }) => kind))})`)
  return [
    `${fields.length} field(s) may contain personal data or keys: ${places.join('; ')}. Remove everything that others do not need to know.`,
  ]
}

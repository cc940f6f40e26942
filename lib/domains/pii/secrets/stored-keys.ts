import { scanFields } from '#lib/domains/pii/fields.ts'
import type { SensitiveKind } from '#lib/domains/pii/findings.ts'
import { DepthError } from '#lib/domains/sanitizer/sanitizer.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { isKeyBytes } from './credentials.ts'

interface KeyLocation {
  kind: SensitiveKind
  path: (string | number)[]
}
/** Maximum positions listed in an error. */
const maxNamed = 50

/** Finds keys as lists of bytes, or under numeric keys. {@link scanFields} has already limited the depth. */
function bytesIn(node: unknown, path: KeyLocation['path']): KeyLocation[] {
  if (typeof node !== 'object' || node === null) return []
  const values: unknown[] = Object.values(node)
  if (isKeyBytes(values)) return [{ kind: 'private_key', path }]
  return Object.entries(node).flatMap(([name, child]) =>
    bytesIn(child, [...path, Array.isArray(node) ? Number(name) : name]),
  )
}

/** The error for content with keys; lists kinds and paths, never values. `where` names the content for people. */
export function keysRefused(locations: readonly KeyLocation[], where: string): Problem {
  const named = [...new Map(locations.map((one) => [`${one.kind} ${one.path.join('.')}`, one])).values()].slice(
    0,
    maxNamed,
  )
  return new Problem('content_blocked', {
    detail: `${where} contains data that must not be stored: ${[...new Set(named.map(({ kind }) => kind))].join(', ')}. Nothing was stored. Remove it and send the request again. Because it has left your machine, replace any real secret.`,
    issues: named.map(({ kind, path }) => ({ path: path.map(String), message: `contains ${kind}` })),
    extensions: { findings: named.map(({ kind, path }) => ({ kind, path: path.join('.') })) },
  })
}

/**
 * Rejects fields that contain a private key or seed phrase.
 * @throws {Problem} `content_blocked`; `invalid` beyond 100 levels of nesting
 */
export function refuseKeys(fields: Record<string, unknown>, where: string): void {
  let locations: KeyLocation[]
  try {
    locations = scanFields(fields).flatMap(({ path, findings }) =>
      findings.filter(({ action }) => action === 'block').map(({ kind }) => ({ kind, path })),
    )
  } catch (error) {
    if (!(error instanceof DepthError)) throw error
    throw invalid(Object.keys(fields).slice(-1), 'must not nest more than 100 objects and arrays')
  }
  locations.push(...bytesIn(fields, []))
  if (locations.length > 0) throw keysRefused(locations, where)
}

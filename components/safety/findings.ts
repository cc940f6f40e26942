import type { ScanResult } from './endpoints.ts'

export type ScanFinding = ScanResult['findings'][number]
export type FindingKind = ScanFinding['kind']

/** Kinds of findings, by consequence; those that reject the text come first. */
export const refusedKinds = ['private_key', 'seed_phrase'] as const satisfies readonly FindingKind[]
export const redactedKinds = [
  'api_key',
  'iban',
  'card',
  'ssn',
  'ethereum_address',
  'bitcoin_address',
  'email',
  'phone',
  'ip',
] as const satisfies readonly FindingKind[]
export const analyzedKinds = ['name', 'address'] as const satisfies readonly FindingKind[]

/** The number of findings of each kind, in order of first occurrence. */
export function findingCountsOf(
  findings: readonly ScanFinding[],
): { kind: FindingKind; action: ScanFinding['action']; count: number }[] {
  const counts = new Map<FindingKind, { kind: FindingKind; action: ScanFinding['action']; count: number }>()
  for (const { kind, action } of findings) {
    const known = counts.get(kind)
    if (known) known.count += 1
    else counts.set(kind, { kind, action, count: 1 })
  }
  return [...counts.values()]
}

/** The consequence for a text: a single secret rejects all of it. */
export function scanResultOf(findings: readonly ScanFinding[]): {
  says: 'nothing' | 'blocked' | 'redacted'
  count: number
} {
  const blocking = findings.filter(({ action }) => action === 'block').length
  if (blocking > 0) return { says: 'blocked', count: blocking }
  return findings.length > 0 ? { says: 'redacted', count: findings.length } : { says: 'nothing', count: 0 }
}

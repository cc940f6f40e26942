/** Kinds of findings, most important first: of overlapping findings, the more important kind is reported. */
export const sensitiveKinds = [
  'private_key',
  'seed_phrase',
  'api_key',
  'iban',
  'card',
  'ssn',
  'ethereum_address',
  'bitcoin_address',
  'email',
  'phone',
  'ip',
  'strategy_detail',
  'name',
  'address',
] as const
export type SensitiveKind = (typeof sensitiveKinds)[number]
export const findingActions = ['block', 'redact'] as const
export type Action = (typeof findingActions)[number]

/** Position of a finding without its content: UTF-16 offsets, `end` exclusive. */
export interface SensitiveFinding {
  kind: SensitiveKind
  start: number
  end: number
  /** 1: proven by a checksum or a vendor's marker; lower values: confidence from form and context. */
  score: number
  /** `block`: the text must not be stored. `redact`: it may be stored without this part. */
  action: Action
  /** `low`: a placeholder or shared value, such as a reserved domain or a private or documentation address. Otherwise absent. */
  confidence?: 'low'
}

const blocked: ReadonlySet<SensitiveKind> = new Set<SensitiveKind>(['private_key', 'seed_phrase'])
const actionOf = (kind: SensitiveKind): Action => (blocked.has(kind) ? 'block' : 'redact')
export const finding = (kind: SensitiveKind, start: number, end: number, score: number): SensitiveFinding => ({
  kind,
  start,
  end,
  score,
  action: actionOf(kind),
})

export const lowConfidence = (one: SensitiveFinding): SensitiveFinding => ({ ...one, confidence: 'low' })

const rank = new Map<SensitiveKind, number>(sensitiveKinds.map((kind, at) => [kind, at]))
const rankOf = ({ kind }: SensitiveFinding): number => rank.get(kind) ?? sensitiveKinds.length

/** Whether the findings are in order and do not overlap. */
function areApart(findings: readonly SensitiveFinding[]): boolean {
  let end = 0
  for (const one of findings) {
    if (one.start < end) return false
    end = one.end
  }
  return true
}

/** Sorts by position and removes overlaps: keeps the more important kind, or the longer finding of one kind. */
export function withoutOverlaps(findings: readonly SensitiveFinding[]): SensitiveFinding[] {
  if (areApart(findings)) return [...findings]
  const retained: SensitiveFinding[] = []
  const isStronger = (one: SensitiveFinding, other: SensitiveFinding) => {
    const difference = rankOf(one) - rankOf(other)
    return difference === 0 ? one.end - one.start > other.end - other.start : difference < 0
  }
  for (const one of findings.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    let last = retained.at(-1)
    while (last && last.end > one.start && isStronger(one, last)) {
      retained.pop()
      last = retained.at(-1)
    }
    if (!last || last.end <= one.start) retained.push(one)
  }
  return retained
}

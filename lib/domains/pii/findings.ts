/** Kinds of findings, most important first: of overlapping findings, the more important kind is reported. */
export const kinds = [
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
export type Kind = (typeof kinds)[number]
export const actions = ['block', 'redact'] as const
export type Action = (typeof actions)[number]

/** Position of a finding without its content: UTF-16 offsets, `end` exclusive. */
export interface Finding {
  kind: Kind
  start: number
  end: number
  /** 1: proven by a checksum or a vendor's marker; lower values: confidence from form and context. */
  score: number
  /** `block`: the text must not be stored. `redact`: it may be stored without this part. */
  action: Action
  /** `low`: a placeholder or shared value, such as a reserved domain or a private or documentation address. Otherwise absent. */
  confidence?: 'low'
}

const blocked: ReadonlySet<Kind> = new Set<Kind>(['private_key', 'seed_phrase'])
const actionOf = (kind: Kind): Action => (blocked.has(kind) ? 'block' : 'redact')
export const finding = (kind: Kind, start: number, end: number, score: number): Finding => ({
  kind,
  start,
  end,
  score,
  action: actionOf(kind),
})

export const lowConfidence = (one: Finding): Finding => ({ ...one, confidence: 'low' })

const rank = new Map<Kind, number>(kinds.map((kind, at) => [kind, at]))
const rankOf = ({ kind }: Finding): number => rank.get(kind) ?? kinds.length

/** Sorts by position and removes overlaps: keeps the more important kind, or the longer finding of one kind. */
export function settled(found: readonly Finding[]): Finding[] {
  const kept: Finding[] = []
  const isStronger = (one: Finding, other: Finding) => {
    const difference = rankOf(one) - rankOf(other)
    return difference === 0 ? one.end - one.start > other.end - other.start : difference < 0
  }
  for (const one of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    let last = kept.at(-1)
    while (last && last.end > one.start && isStronger(one, last)) {
      kept.pop()
      last = kept.at(-1)
    }
    if (!last || last.end <= one.start) kept.push(one)
  }
  return kept
}

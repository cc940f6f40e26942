/** What is looked for, the strongest first: where two overlap, the one that stands higher is told. */
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

/** Where something stands, never what: UTF-16 offsets, the end exclusive. */
export interface Finding {
  kind: Kind
  start: number
  end: number
  /** 1: a checksum or a vendor's marker proves it; below, how sure its form and what stands around it make it. */
  score: number
  /** `block`: the text must not be stored. `redact`: it may be, without this. */
  action: Action
  /** `low`: a placeholder or what many have: a reserved domain, a private or documentation address. Absent otherwise. */
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

/** In the order of the text and without overlaps: the strongest kind stays, of one kind the longer. */
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

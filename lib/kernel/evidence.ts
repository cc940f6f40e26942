/** What the installation answers for, in the order in which it is shown. */
export const evidenceLines = [
  'lawful_basis',
  'minimisation',
  'purpose_limitation',
  'storage_limitation',
  'access',
  'portability',
  'erasure',
  'audit_trail',
  'by_design',
  'can_view',
  'can_export',
  'can_request_deletion',
  'cascade',
  'pii_entities',
  'audit_of_deletions',
  'grace',
  'residency',
] as const
export type EvidenceLine = (typeof evidenceLines)[number]

/**
 * holds: looked, and found nothing against it. attention: nothing is broken, and somebody should look. fails: it is not so.
 * not_applicable: there is nothing here that it could be about.
 */
export const findingStates = ['holds', 'attention', 'fails', 'not_applicable'] as const
type FindingState = (typeof findingStates)[number]

/** What was found: counts, times and words of a fixed vocabulary. Never content; ids only where they name something of the installation. */
export interface Finding {
  state: FindingState
  numbers?: Readonly<Record<string, number>>
  times?: Readonly<Record<string, Date | null>>
  facts?: Readonly<Record<string, string>>
}

/** One statement that reads, given up after its time; throws then. */
export type AskDatabase = <R extends Record<string, unknown>>(text: string, values?: readonly unknown[]) => Promise<R[]>

/** One question whose answer shows whether a line holds, asked anew each time. */
export interface Check {
  line: EvidenceLine
  /** `<domain>.<what>`; the words of the console stand under it. */
  name: string
  /** The page of the console that shows more of it. */
  page: `/${string}` | null
  ask(query: AskDatabase, now: Date): Promise<Finding>
}

/** `fails` where anything was found that must not be, else `holds`. */
export const failsIf = (isBroken: boolean): FindingState => (isBroken ? 'fails' : 'holds')

/**
 * Storage limitation (GDPR art. 5(1)(e)) of what goes when its term is over: how much stands past its end, and for how long. `ending` selects
 * `ends` of each, null for what has none. Jobs come every hour at least; two hours late, one was missed.
 */
export const endsInTime = (name: string, ending: string): Check => ({
  line: 'storage_limitation',
  name,
  page: null,
  async ask(query, now) {
    const [row] = await query<{ late: number; n: number }>(
      `SELECT coalesce(extract(epoch FROM $1::timestamptz - min(ends)) * 1000, 0)::float8 AS late, count(*)::int AS n
       FROM (${ending}) AS ending WHERE ends <= $1`,
      [now],
    )
    const { late = 0, n = 0 } = row ?? {}
    return { state: failsIf(late > 2 * 3_600_000), numbers: { standing: n, minutes: Math.floor(late / 60_000) } }
  },
})

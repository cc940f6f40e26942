/** The lines of the compliance report, in the order in which they are shown. */
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
 * - holds: checked, and no problem found.
 * - attention: nothing is broken, but somebody should look.
 * - fails: the claim is not true.
 * - not_applicable: nothing here can be checked.
 */
export const findingStates = ['holds', 'attention', 'fails', 'not_applicable'] as const
type FindingState = (typeof findingStates)[number]

/** A console page, with the filters that show the counted records. */
export type EvidencePage = `/${string}`

/** What a check can find, as records that a page of the console lists. */
export const evidenceProblems = [
  'requests.overdue',
  'requests.late',
  'exports.failed',
  'exports.late',
  'erasure.residue',
  'erasure.unsigned',
  'erasure.failed',
  'erasure.unsearched',
  'erasure.stuck',
  'erasure.waiting',
  'erasure.unread',
  'erasure.places',
] as const
export type EvidenceProblem = (typeof evidenceProblems)[number]

/** The records with a problem: their number, and the page that lists exactly these records with their causes. */
export interface FoundProblem {
  problem: EvidenceProblem
  count: number
  /** Null if no page lists them. */
  page: EvidencePage | null
}

/** The result of a check: counts, times and words of a fixed vocabulary. Never content; ids only of parts of the installation. */
export interface EvidenceFinding {
  state: FindingState
  numbers?: Readonly<Record<string, number>>
  times?: Readonly<Record<string, Date | null>>
  facts?: Readonly<Record<string, string>>
  /** Why the result is not `holds`. Problems without records are left out. */
  problems?: readonly FoundProblem[]
  /** The page with the records that explain this result, instead of that of the check. */
  page?: EvidencePage
}

/** Runs one statement that only reads. Throws when it exceeds its time limit. */
export type DatabaseQuery = <R extends Record<string, unknown>>(
  text: string,
  values?: readonly unknown[],
) => Promise<R[]>

/** One check of whether a line holds, run again each time. */
export interface EvidenceCheck {
  line: EvidenceLine
  /** `<domain>.<what>`; the key of its console texts. */
  name: string
  /** The console page that shows what was checked; null if no page does. */
  page: EvidencePage | null
  ask(query: DatabaseQuery, now: Date): Promise<EvidenceFinding>
}

/** `fails` if it is broken, otherwise `holds`. */
export const failsIf = (isBroken: boolean): FindingState => (isBroken ? 'fails' : 'holds')

/**
 * Checks storage limitation (GDPR art. 5(1)(e)): how many records are past their end, and for how long. `ending` selects `ends` of each
 * record, null for records that do not expire. Cleanup jobs run at least hourly; a delay of two hours means that one was missed.
 */
export const endsInTime = (name: string, ending: string): EvidenceCheck => ({
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

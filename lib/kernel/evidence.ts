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

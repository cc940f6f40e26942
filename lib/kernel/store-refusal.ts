import { Problem, type ProblemOptions } from './problem.ts'

/** Why a store that responds still refuses. Waiting resolves none of these: a person has to act. */
export const storeRefusals = [
  'credentials',
  'access_denied',
  'missing',
  'quota_exceeded',
  'locked',
  'too_old',
  'too_large',
  'wrong_tables',
] as const
export type StoreRefusal = (typeof storeRefusals)[number]

/** Callers get `unavailable`. An erasure counts it as a failed attempt, whereas it waits for a store that does not respond. */
export const unusableStore = (refusal: StoreRefusal | undefined, options: ProblemOptions): Problem =>
  new Problem('unavailable', refusal === undefined ? options : { ...options, extensions: { refusal } })

export const storeRefusalOf = (error: unknown): StoreRefusal | undefined =>
  Problem.is(error, 'unavailable') ? storeRefusals.find((one) => one === error.extensions.refusal) : undefined

/** Whether a store rejects one record for what it is: every repetition fails, and other records are not affected. */
export const isRecordRefusal = (error: unknown): boolean => Problem.is(error, 'bad_request', 'invalid', 'too_large')

import type { Issue } from '#lib/kernel/problem.ts'

/**
 * The result for one unit or skill. known: an earlier run stored it, and nothing was stored again. updated: it
 * replaced another version.
 */
export type ContributionOutcome = { kind: 'unit' | 'skill'; source: string } & (
  | { state: 'stored' | 'known' | 'updated'; id: string; quality_score: number; warnings?: string[] }
  | { state: 'failed'; code: string; message: string; request_id?: string; issues?: Issue[] }
)

import type { StartDeps } from './planning.ts'
import { type RecordErasureDeps, recordErasures } from './record-erasures.ts'
import { subjectEngine } from './subject-engine.ts'
import type { VerificationDeps } from './verification.ts'

/**
 * The erasure engine. Its phases are the same for every scope: lock, plan (`planOf`), intent (`intentTime`), erase
 * (`erasePage`), commit, verify (`searchResidue`), receipt (`receiptContent`). Two drivers execute them: `records` in
 * the request that erases a unit or skill, `runs` as jobs for subjects and parts of projects.
 */
export const erasureEngine = (deps: StartDeps & VerificationDeps & RecordErasureDeps) => ({
  runs: subjectEngine(deps),
  records: recordErasures(deps),
})
export type ErasureEngine = ReturnType<typeof erasureEngine>

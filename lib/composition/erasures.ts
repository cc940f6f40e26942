import { enqueueNotice } from '#lib/domains/accounts/writes.ts'
import { erasureEngine } from '#lib/domains/erasure/engine/run-driver.ts'
import { adminActSearch, expectedRetention } from '#lib/domains/erasure/expected-retention.ts'
import { replayErasures, writeMissingRows } from '#lib/domains/erasure/ledger/replay.ts'
import { restoredDatabase } from '#lib/domains/erasure/ledger/restored-database.ts'
import { completeReadings } from '#lib/domains/erasure/reading/reading.ts'
import { holdsInForce } from '#lib/domains/holds/queries.ts'
import { restoredRecord } from '#lib/domains/knowledge/queries.ts'
import { projectParts } from '#lib/domains/projects/erasing/parts.ts'
import { restrictParticipants } from '#lib/domains/projects/participants/restricting.ts'
import { runWords } from '#lib/domains/projects/words/run-words.ts'
import { repeatedErasures, storeRepeatedErasures } from '#lib/domains/settings/service.ts'
import { ledgerLostAt } from '#lib/domains/stores/registered-stores.ts'
import { erasureSubjects } from '#lib/platform/erasure-subjects.ts'
import { residueIn } from '#lib/stores/residue.ts'
import type { Foundation } from './foundation.ts'
import type { PeopleModules } from './people-modules.ts'
import type { CollectedData } from './personal-data.ts'

export interface ErasureComposition {
  /** Called at named points of an erasure. */
  interrupt(point: string): void
  /** Whether the ledger is replayed before anything is served from a restored database. */
  replaysByItself: boolean
}

/** The erasure engine over the personal data of all domains, and the replay of the ledger on a restored database. */
export function createErasures(
  foundation: Foundation,
  { dataSources, retainedRecords }: Pick<CollectedData, 'dataSources' | 'retainedRecords'>,
  { agents, people }: Pick<PeopleModules, 'agents' | 'people'>,
  { interrupt, replaysByItself }: ErasureComposition,
) {
  const { clock, db, env, facts, heldNames, ledger, log, origin, signer, sources, stores, suppressed } = foundation
  const hasAdminActs = adminActSearch(retainedRecords)
  /** The common dependencies of the erasure engine and its replay. */
  const erasing = {
    db,
    ledger,
    signer,
    dataSources,
    facts,
    issuer: origin,
    now: clock.now,
    audit: log.auditWithin,
    suppressions: suppressed,
    holds: holdsInForce,
    subjects: erasureSubjects(agents.useCases.agents.unsuspend),
    parts: projectParts,
    hasAdminActs,
    words: runWords({
      db,
      sources,
      everyName: heldNames.every,
      key: foundation.keyFor('fingerprints of erased words'),
    }),
    residueIn: residueIn(stores, { hasOtherCheckpoints: env.KP_CHECKPOINTS_URL !== undefined }),
  }
  const engine = erasureEngine({
    ...erasing,
    interrupt,
    async notifyAdmins(tx, waiting, now) {
      for (const { accountId } of await people.adminContacts(tx))
        for (const { store, runs, since, refusal } of waiting) {
          const about = { accountId, store, runs, since: since.toISOString(), at: now.toISOString() }
          await enqueueNotice(
            tx,
            refusal === null ? { kind: 'store-unavailable', ...about } : { kind: 'store-refuses', ...about, refusal },
          )
        }
    },
    onChange: foundation.erasureChanges.publish,
  })
  const readings = completeReadings({ ...erasing, interrupt, sweepDays: env.KP_SWEEP_DAYS })
  const replay = replayErasures({
    ...erasing,
    restored: restoredRecord,
    ledgerLostAt,
    records: engine.records,
    complete: engine.runs.complete,
    keys: foundation.suppressionKeys,
    restrict: async (tx, subject, now) => {
      await agents.useCases.agents.restrict(tx, subject, 'request', now)
      await restrictParticipants(tx, subject.participants ?? [], 'request', now)
    },
    storeRepeated: storeRepeatedErasures,
  })
  return {
    engine,
    readings,
    replay,
    /** Appends to the ledger what only the database has. */
    writeMissingRows: () => writeMissingRows({ db, ledger, suppressions: suppressed }),
    restored: restoredDatabase({
      db,
      ledger,
      replay,
      replaysByItself,
      repeated: { read: () => repeatedErasures(db.prisma) },
    }),
    expectedRetention: expectedRetention({ dataSources, hasAdminActs, facts }),
  }
}
export type Erasures = ReturnType<typeof createErasures>

import { z } from 'zod'
import { sealedPurposes } from '#lib/config/secret.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { notePurge } from '#lib/kernel/purging.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { entryDataSource, grimoireExporters, keyringDataSource } from './personal-data.ts'
import { deleteExpiredEntries } from './repository.ts'
import { entriesOf, entryRestorer, type GrimoirePorts, grimoireService } from './service.ts'

interface Keys {
  keyFor(purpose: string): () => Uint8Array
}

export const grimoireData = ({ db, keyFor }: Keys & { db: Database }): PersonalData => ({
  // The keyring is erased after everything that is sealed with it.
  dataSources: [entryDataSource(db), keyringDataSource(db)],
  exporters: grimoireExporters(db, keyFor(sealedPurposes.grimoire)),
})

/** Entries expire at their own time, or after the number of days that the owner set. Entries under legal hold are not overdue. */
export const grimoireEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'grimoire.ended',
    `SELECT least(g.valid_until, g.created_at + make_interval(days => a.grimoire_days)) AS ends
     FROM grimoire_entries g JOIN agent_states a ON a.id = g.agent_id
     WHERE g.agent_id NOT IN (${agentsUnderLegalHold('$1')})`,
  ),
]

const batch = 1_000

/** Deletes expired entries: at their own time, or after the number of days that the owner set. Under legal hold, when the hold ends. */
function grimoireJobs() {
  async function removeEnded(ctx: Context, tx: Transaction): Promise<number> {
    await lockHolds(tx)
    const entriesDeleted = await deleteExpiredEntries(tx, { now: ctx.now, limit: batch })
    return notePurge(ctx, tx, {
      what: 'entries that ended',
      results: { entriesDeleted },
      resourceType: 'grimoire_entry',
      resourceId: 'ended',
    })
  }

  return [
    job({
      name: 'grimoire.purge-ended',
      payload: z.unknown(),
      cron: '23 * * * *',
      async run(ctx) {
        while ((await ctx.pipeline.transaction((tx) => removeEnded(ctx, tx))) === batch);
      },
    }),
  ]
}

/** Sealed entries of agents, and their keyrings. */
export function grimoireModule({
  db,
  keyFor,
  ownAgents,
}: Keys & Pick<GrimoirePorts, 'db'> & { ownAgents: GrimoirePorts['agents'] }) {
  const key = keyFor(sealedPurposes.grimoire)
  return {
    useCases: { grimoire: grimoireService({ db, key, agents: ownAgents }) },
    jobs: grimoireJobs(),
    checks: grimoireEvidence(),
    /** What snapshots contain and restore of the grimoire. */
    state: { exporters: grimoireExporters(db, key), restorer: entryRestorer({ key }) },
    entriesOf: entriesOf({ key }),
  }
}

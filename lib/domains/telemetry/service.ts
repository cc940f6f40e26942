import { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction, TransactionalEvent } from '#lib/kernel/context.ts'
import type { RunChange, SubjectErasures } from '#lib/kernel/erasure-run.ts'
import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  durationOf,
  events,
  type Properties,
  propertiesOf,
  pseudonymKeyRetention,
  type Telemetry,
  telemetryMeasures,
} from './capture.ts'
import { listTelemetryEvents } from './contract.ts'
import { telemetryExporters, telemetryKeyDataSource, telemetryPersonExporters } from './personal-data.ts'
import { destroyExpiredKeys } from './repository.ts'

const day = 86_400_000

/** Publishes the telemetry settings and events. `to` is undefined when telemetry is off. */
const telemetryService = ({ to }: { to: { host: string; region: string | null } | undefined }) => ({
  events: read(listTelemetryEvents, async () => ({
    resourceId: 'telemetry',
    body: {
      data: {
        on: to !== undefined,
        to: to ?? null,
        key_days: pseudonymKeyRetention / day,
        events: Object.entries(events).map(([name, { what, schema }]) => ({
          name,
          what,
          properties: propertiesOf(schema),
        })),
      },
    },
  })),
})

export const telemetryData = ({ db, telemetryKey }: { db: Database; telemetryKey(): Uint8Array }): PersonalData => ({
  dataSources: [telemetryKeyDataSource(db)],
  exporters: telemetryExporters(db, telemetryKey),
  personExporters: telemetryPersonExporters(db, telemetryKey),
})

/** While a key exists, its events can be linked to a person. */
const telemetryEvidence = (): EvidenceCheck[] => [
  endsInTime('telemetry.keys', 'SELECT expires_at AS ends FROM telemetry_keys'),
]

const completedJob = 'telemetry.erasure-completed'

/** Sends an event about a completed erasure when the completing transaction commits. It contains no id. */
const reportCompletedErasures = (tx: Transaction, { of, steps, duration }: Properties<'erasure_completed'>) =>
  enqueue(tx, completedJob, { of, steps, duration }, { maxAttempts: 1 })

/** Destroys keys after 30 days. From then on, their events are anonymous. */
const telemetryJobs = ({ db, telemetry }: { db: Database; telemetry: Pick<Telemetry, 'offer' | 'settled'> }) => [
  job({
    name: 'telemetry.destroy-keys',
    payload: z.unknown(),
    cron: '41 * * * *',
    async run({ now }) {
      await destroyExpiredKeys(db, { now })
    },
  }),
  job({
    name: completedJob,
    payload: z.record(z.string(), z.unknown()),
    async run(_ctx, payload) {
      telemetry.offer('erasure_completed', payload, null)
      await telemetry.settled()
    },
  }),
]

/** Sends an event about each completed erasure, if events are sent. */
function reportErasures({ erasureChanges, runs }: Pick<TelemetryModuleParts, 'erasureChanges' | 'runs'>): void {
  erasureChanges.listen(async (tx, change) => {
    if (change.state !== 'done') return
    const run = await runs.run(change.runId, tx)
    await reportCompletedErasures(tx, {
      of: change.part?.kind ?? 'subject',
      steps: Object.keys(change.erased).length,
      duration: durationOf(change.now.getTime() - (run?.createdAt ?? change.now).getTime()),
    })
  })
}

interface TelemetryModuleParts {
  db: Database
  telemetry: Telemetry
  /** The recipient of the events; undefined when none are sent. */
  telemetryTo: { host: string } | undefined
  assessedLocations: readonly { name: string; region: string | null }[]
  erasureChanges: Pick<TransactionalEvent<RunChange>, 'listen'>
  runs: Pick<SubjectErasures, 'run'>
}

/** Anonymous usage events. */
export function telemetryModule(deps: TelemetryModuleParts) {
  const { assessedLocations, telemetry, telemetryTo } = deps
  if (telemetry.isOn) reportErasures(deps)
  const region = assessedLocations.find(({ name }) => name === 'posthog')?.region ?? null
  return {
    useCases: { telemetry: telemetryService({ to: telemetryTo && { host: new URL(telemetryTo.host).host, region } }) },
    jobs: telemetryJobs(deps),
    checks: telemetryEvidence(),
    measures: [telemetryMeasures(telemetry)],
  }
}

import { sealedPurposes } from '#lib/config/secret.ts'
import { type EvidenceCheck, endsInTime } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { cladeDataSources, cladeExporters } from './personal-data.ts'
import type { CladePorts } from './ports.ts'
import { cladesService } from './service.ts'
import { cladeJobs } from './writes.ts'

interface Keys {
  keyFor(purpose: string): () => Uint8Array
}

export const cladesData = ({ db, keyFor }: Keys & { db: Database }): PersonalData => ({
  dataSources: cladeDataSources(db),
  exporters: cladeExporters(db, keyFor(sealedPurposes.clades)),
})

/** Deltas that a sibling has not fetched expire after 7 days. */
const cladesEvidence = (): EvidenceCheck[] => [
  endsInTime(
    'clades.unfetched',
    "SELECT expires_at AS ends FROM clade_deltas WHERE state = 'pending' AND delivered_at IS NULL",
  ),
]

/** Sharing between related agents of one owner. */
export const cladesModule = ({
  keyFor,
  origin,
  ownAgents,
  signer,
  ...deps
}: Keys &
  Pick<CladePorts, 'db' | 'namesOf' | 'recognise' | 'entriesOf'> & {
    origin: string
    ownAgents: Omit<CladePorts['agents'], 'writable'> & { sharing: CladePorts['agents']['writable'] }
    signer: { attest: CladePorts['sign'] }
  }) => ({
  useCases: {
    clades: cladesService({
      ...deps,
      key: keyFor(sealedPurposes.clades),
      issuer: origin,
      // Self-hosted agents may also share here.
      agents: { ...ownAgents, writable: ownAgents.sharing },
      sign: signer.attest,
    }),
  },
  jobs: cladeJobs(),
  checks: cladesEvidence(),
})

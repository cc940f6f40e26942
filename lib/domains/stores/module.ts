import { subjectPurpose } from '#lib/config/secret.ts'
import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { adminChanges } from '#lib/stores/postgres/admin-changes.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { StoreSearchDeps } from './search.ts'
import { type StoresServiceDeps, storesService } from './service.ts'

/** Who declared that a store contains no data. */
const retainedStoreRecords = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'stores.acts',
    what: 'stores that you retired',
    table: 'known_stores',
    by: ['retired_by'],
    at: 'retired_at',
  }),
]

export const storesData = (db: Database): PersonalData => ({ retainedRecords: retainedStoreRecords(db) })

/** Connected stores and their regions. */
export const storesModule = ({
  keyFor,
  approvals,
  ...deps
}: Omit<StoresServiceDeps, 'search' | 'requireApproval'> & {
  keyFor(purpose: string): () => Uint8Array
  approvals: { requireApproval: RequireApproval; isRequired(): Promise<boolean> }
  search: Pick<StoreSearchDeps, 'search' | 'identifies'>
}) => ({
  useCases: {
    residency: storesService({
      ...deps,
      requireApproval: approvals.requireApproval,
      search: { ...deps.search, key: keyFor(subjectPurpose), needsApprovals: approvals.isRequired },
    }),
  },
})

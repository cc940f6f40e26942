import { type DatabaseQuery, type EvidenceCheck, type EvidenceLine, failsIf } from '#lib/kernel/evidence.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { deletionCheck } from './deletion-check.ts'
import { allTables } from './repository.ts'

/** Tables without personal data, or with data that must outlive an erasure. Every other table needs a data source or a legal basis. */
const impersonal = [
  '_prisma_migrations',
  'signing_keys',
  'suppression_keys',
  'rate_limit_windows',
  'registration_networks',
  'storage_counts',
  'clades',
  'graphile_worker._private_job_queues',
  'graphile_worker._private_known_crontabs',
  'graphile_worker._private_tasks',
  'graphile_worker.migrations',
  'langgraph.checkpoint_migrations',
  'langgraph.store_migrations',
] as const

interface Answering {
  tables: readonly string[]
}
interface Holding extends Answering {
  store: string
}
export interface CoverageDeps {
  holders: readonly Holding[]
  kept: readonly Answering[]
  /** The operations of all other domains. */
  operations: readonly OperationShape[]
  /** How often the searched part of the log shows these operations within the last day, and the last time. */
  usesOf(query: DatabaseQuery, operations: readonly string[], now: Date): Promise<{ uses: number; last: Date | null }>
}

/**
 * The operations by which subjects access, export and delete their data. Each must be available to the subject. `filter` shows their
 * entries in the audit log.
 */
const rights: readonly { line: EvidenceLine; operations: readonly string[]; filter: string }[] = [
  { line: 'can_view', operations: ['readInventory'], filter: 'resource_type=inventory&reads=true' },
  { line: 'can_export', operations: ['prepareExport', 'downloadExport', 'exportAgent'], filter: 'action=export' },
  {
    line: 'can_request_deletion',
    operations: ['filePrivacyRequest', 'planErasure'],
    filter: 'resource_type=request&reads=true',
  },
]

/** Whether sessions of people and tokens of agents may call it for their own data. */
const isForSubjects = ({ permission }: OperationShape): boolean => /:(self|read)$/.test(permission)

export const coverageChecks = ({ holders, kept, operations, usesOf }: CoverageDeps): EvidenceCheck[] => [
  deletionCheck(operations),
  {
    line: 'cascade',
    name: 'holders.tables',
    page: null,
    async ask(query) {
      const rows = await allTables(query, {})
      const answered = new Set<string>([...holders, ...kept].flatMap(({ tables }) => [...tables]).concat(impersonal))
      const unanswered = rows.map(({ name }) => name).filter((name) => !answered.has(name))
      return {
        state: failsIf(unanswered.length > 0 || rows.length === 0),
        numbers: {
          tables: rows.length,
          holders: holders.length,
          stores: new Set(holders.map(({ store }) => store)).size,
          unanswered: unanswered.length,
        },
        facts: { unanswered: unanswered.sort().slice(0, 10).join(', ') },
      }
    },
  },
  ...rights.map(
    ({ line, operations: wanted, filter }): EvidenceCheck => ({
      line,
      name: `rights.${line}`,
      page: `/admin/audit?${filter}`,
      async ask(query, now) {
        const missing = wanted.filter(
          (id) => !operations.some((one) => one.id === id && isForSubjects(one) && !('none' in one.audit)),
        )
        const { uses, last } = await usesOf(query, wanted, now)
        return {
          state: failsIf(missing.length > 0),
          numbers: { operations: wanted.length, missing: missing.length, uses },
          times: { last },
          facts: { missing: missing.join(', ') },
        }
      },
    }),
  ),
]

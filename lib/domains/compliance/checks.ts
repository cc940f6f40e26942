import { stat } from 'node:fs/promises'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type DatabaseQuery, type EvidenceCheck, type EvidenceLine, failsIf } from '#lib/kernel/evidence.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { allTables, outgoingConnections, unloggedDeletions } from './repository.ts'

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

/** Days of the audit log that are compared. */
const compared = 30

const erasing = '^system:(erasure\\.|admin\\.replay|projects\\.close)'

/** Checks that the deletion log has a row for each deletion of personal content, by any actor, operation or job. */
const deletionCheck = (operations: readonly OperationShape[]): EvidenceCheck => ({
  line: 'audit_of_deletions',
  name: 'deletions.logged',
  page: '/admin/audit?action=delete',
  async ask(query, now) {
    const undeclared = operations.filter(
      ({ audit, deletes }) => 'action' in audit && audit.action === 'delete' && deletes === undefined,
    )
    const counted = operations.flatMap(({ id, deletes }) =>
      deletes && 'counts' in deletes ? [{ id, counts: deletes.counts }] : [],
    )
    const rows = await unloggedDeletions(query, {
      operations: counted.map(({ id }) => id),
      counts: counted.map(({ counts }) => counts),
      excluded: erasing,
      from: new Date(now.getTime() - compared * 86_400_000),
    })
    const sum = (of: 'deletions' | 'missing') => rows.reduce((total, row) => total + row[of], 0)
    const faulty = [...undeclared.map(({ id }) => id), ...rows.filter((row) => row.missing > 0).map(({ kind }) => kind)]
    return {
      state: failsIf(faulty.length > 0),
      numbers: {
        kinds: counted.length,
        deletions: sum('deletions'),
        missing: sum('missing'),
        undeclared: undeclared.length,
      },
      facts: { kinds: faulty.sort().slice(0, 10).join(', ') },
    }
  },
})

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

export interface InstallationCheckDeps {
  /** Third parties that receive data, by kind. */
  places: { mail: 'folder' | 'server'; limits: 'here' | 'redis'; postgresql: 'embedded' | 'server' }
  /** Recipient of usage events. */
  telemetry: 'none' | 'posthog'
  /** Folders that contain personal data or keys. */
  folders: readonly string[]
  /** The file with the installation secret. Null when the environment provides it. */
  secretFile: string | null
  /** When the oldest email in the folder was written. Undefined when there is none. */
  oldestLetter(): Promise<Date | undefined>
  /** Retention of emails in milliseconds. */
  outboxRetention: number
}

/** Permission bits of a file or folder. Undefined when it does not exist. */
async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode & 0o777
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
const isOpenToOthers = (mode: number): boolean => (mode & 0o077) !== 0
const slack = 2 * 3_600_000

export const installationChecks = (deps: InstallationCheckDeps): EvidenceCheck[] => [
  {
    line: 'purpose_limitation',
    name: 'installation.recipients',
    page: null,
    async ask(query) {
      const [row] = await outgoingConnections(query, {})
      const { publications = 0, subscriptions = 0, foreign_servers: foreign = 0 } = row ?? {}
      return {
        state: publications + subscriptions + foreign > 0 ? 'attention' : 'holds',
        numbers: { publications, subscriptions, foreign },
        facts: { ...deps.places, telemetry: deps.telemetry },
      }
    },
  },
  {
    line: 'storage_limitation',
    name: 'installation.letters',
    page: '/admin/outbox',
    async ask(_query, now) {
      const oldest = await deps.oldestLetter()
      const isLate = oldest !== undefined && now.getTime() - oldest.getTime() > deps.outboxRetention + slack
      return { state: oldest === undefined ? 'not_applicable' : failsIf(isLate), times: { oldest: oldest ?? null } }
    },
  },
  {
    line: 'by_design',
    name: 'installation.secret',
    page: null,
    async ask() {
      if (deps.secretFile === null) return { state: 'holds', facts: { source: 'environment', mode: '' } }
      const mode = await modeOf(deps.secretFile)
      return {
        state: failsIf(mode === undefined || isOpenToOthers(mode)),
        facts: { source: mode === undefined ? 'missing' : 'file', mode: mode?.toString(8).padStart(3, '0') ?? '' },
      }
    },
  },
  {
    line: 'by_design',
    name: 'installation.folders',
    page: null,
    async ask() {
      const modes = await Promise.all(deps.folders.map(modeOf))
      const there = modes.filter((mode) => mode !== undefined)
      const open = there.filter(isOpenToOthers).length
      return {
        state: there.length === 0 ? 'not_applicable' : failsIf(open > 0),
        numbers: { looked: there.length, open },
      }
    },
  },
]

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { z } from 'zod'
import { exportsFolder, snapshotKeysFolder } from '#lib/config/data-folder.ts'
import type { Env } from '#lib/config/env.ts'
import { agentListing } from '#lib/domains/agents/queries.ts'
import { usesOf } from '#lib/domains/audit/queries.ts'
import { countErasures } from '#lib/domains/erasure/queries.ts'
import { countRequests } from '#lib/domains/privacy-requests/queries.ts'
import { withTimeout } from '#lib/kernel/concurrency.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type EvidenceCheck, type EvidenceLine, evidenceLines, failsIf } from '#lib/kernel/evidence.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { type DomainModule, operationsOf } from '#lib/kernel/module.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { outboxRetention } from '#lib/stores/mail/outbox-folder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { StatementTimeout, timeLimitedQuery } from '#lib/stores/postgres/time-limited-query.ts'
import { type CheckView, type LineView, readCompliance } from './contract.ts'
import { allTables, outgoingConnections, unloggedDeletions } from './repository.ts'

/** Time limits of one statement and of one check, in milliseconds. */
const maxStatementTime = 2_000
const maxCheckTime = 4_000
/** Maximum concurrent checks. The rest of the application needs connections as well. */
const atOnce = 3

/** What the report needs of other domains and of the installation. */
interface ComplianceDeps {
  db: Database
  /** The checks of all other domains. */
  checks: readonly EvidenceCheck[]
  installation: {
    /** Third parties that receive data, by kind. */
    places: { mail: 'folder' | 'server'; limits: 'here' | 'redis'; postgresql: 'embedded' | 'server' }
    /** Recipient of usage events. */
    telemetry: 'none' | 'posthog'
    /** Folders that contain personal data or keys. */
    folders: readonly string[]
    /** The file with the installation secret. Null when the environment provides it. */
    secretFile: string | null
    /** When the oldest email in the folder was written. Undefined when there is none. */
    oldestEmail(): Promise<Date | undefined>
    /** Retention of emails in milliseconds. */
    outboxRetention: number
  }
}

class CheckTimeout extends Error {}

const faultOf = (error: unknown): NonNullable<CheckView['fault']> =>
  error instanceof StatementTimeout || error instanceof CheckTimeout
    ? 'too_slow'
    : Problem.is(error, 'unavailable')
      ? 'unavailable'
      : 'error'

/** In ascending order of severity. */
const order = ['not_applicable', 'holds', 'unknown', 'attention', 'fails'] as const satisfies readonly z.input<
  typeof CheckView
>['state'][]

/** The worst state of a line's checks. A line without checks is unknown. */
const worstOf = (states: readonly CheckView['state'][]): CheckView['state'] =>
  states.length === 0
    ? 'unknown'
    : states.reduce((worst, state) => (order.indexOf(state) > order.indexOf(worst) ? state : worst))

/** Whether nothing was ever registered, requested or deleted here. */
async function isUnused(db: Database): Promise<boolean> {
  const agents = await agentListing(db).total()
  const requests = await countRequests(db.prisma)
  const { erasures, deletions } = await countErasures(db.prisma)
  return agents + requests + erasures + deletions === 0
}
/** A check that looked at nothing: a result without faults means nothing there. */
const lookedAtNothing = (numbers: Readonly<Record<string, number>>): boolean => {
  const all = Object.values(numbers)
  return all.length > 0 && all.every((number) => number === 0)
}

/** Runs all checks. Concurrent requests share one run. */
export function complianceService({ db, checks }: Pick<ComplianceDeps, 'db' | 'checks'>) {
  const limitedQuery = timeLimitedQuery(db, maxStatementTime)
  async function asked(
    { name, page, ...check }: EvidenceCheck,
    now: Date,
    { unused }: { unused: boolean },
  ): Promise<z.input<typeof CheckView>> {
    const started = performance.now()
    const known = { name, page, numbers: {}, times: {}, facts: {}, problems: [] }
    const took = () => Math.round(performance.now() - started)
    try {
      const {
        state,
        numbers = {},
        times,
        facts = {},
        problems = [],
        page: own = page,
      } = await withTimeout(maxCheckTime, check.ask(limitedQuery, now), new CheckTimeout())
      const found = problems.filter(({ count }) => count > 0)
      return {
        ...known,
        page: own,
        state: unused && state === 'holds' && lookedAtNothing(numbers) ? 'not_applicable' : state,
        numbers,
        times: { ...times },
        facts,
        problems: found,
        took_ms: took(),
        fault: null,
      }
    } catch (error) {
      const fault = faultOf(error)
      if (fault === 'error') logFault(error, { operationId: readCompliance.id, check: name })
      return { ...known, state: 'unknown', took_ms: took(), fault }
    }
  }

  async function all(now: Date) {
    const started = performance.now()
    const answers = new Map<EvidenceCheck, z.input<typeof CheckView>>()
    const waiting = [...checks]
    // Without an answer of the database, the checks themselves say so.
    const unused = await isUnused(db).catch(() => false)
    const work = async () => {
      for (let check = waiting.shift(); check; check = waiting.shift())
        answers.set(check, await asked(check, now, { unused }))
    }
    await Promise.all(Array.from({ length: atOnce }, work))
    const lines = evidenceLines.map((line): z.input<typeof LineView> => {
      const own = checks.flatMap((check) => (check.line === line ? (answers.get(check) ?? []) : []))
      return { line, state: worstOf(own.map(({ state }) => state)), checks: own }
    })
    return { asked_at: now, took_ms: Math.round(performance.now() - started), lines }
  }
  let active: ReturnType<typeof all> | undefined
  async function counted(now: Date) {
    active ??= all(now).finally(() => {
      active = undefined
    })
    const data = await active
    const count = (state: CheckView['state']) => data.lines.filter((line) => line.state === state).length
    return { data, counts: { fails: count('fails'), attention: count('attention'), unknown: count('unknown') } }
  }

  return {
    /** The names of all checks. */
    checkNames: checks.map(({ name }) => name),
    read: read(readCompliance, async ({ now }) => {
      const { data, counts } = await counted(now)
      return { body: { data }, resourceId: 'installation', details: counts }
    }),
    /** How many lines of the report fail, need attention or are unknown. */
    counts: async (now: Date) => (await counted(now)).counts,
  }
}

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

export const coverageChecks = ({
  dataSources,
  retainedRecords,
  operations,
}: {
  dataSources: readonly Holding[]
  retainedRecords: readonly Answering[]
  /** The operations of all other domains. */
  operations: readonly OperationShape[]
}): EvidenceCheck[] => [
  deletionCheck(operations),
  {
    line: 'cascade',
    name: 'holders.tables',
    page: null,
    async ask(query) {
      const rows = await allTables(query, {})
      const answered = new Set<string>(
        [...dataSources, ...retainedRecords].flatMap(({ tables }) => [...tables]).concat(impersonal),
      )
      const unanswered = rows.map(({ name }) => name).filter((name) => !answered.has(name))
      return {
        state: failsIf(unanswered.length > 0 || rows.length === 0),
        numbers: {
          tables: rows.length,
          holders: dataSources.length,
          stores: new Set(dataSources.map(({ store }) => store)).size,
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

export const installationChecks = (deps: ComplianceDeps['installation']): EvidenceCheck[] => [
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
      const oldest = await deps.oldestEmail()
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

/** The compliance report about the modules of all domains. */
export const complianceModule = ({
  dataSources,
  db,
  env,
  mail,
  modules,
  retainedRecords,
  storeLocations,
  telemetryTo,
}: {
  dataSources: readonly Holding[]
  db: Database
  env: Env
  mail: { folder: { oldest: ComplianceDeps['installation']['oldestEmail'] } }
  modules: readonly DomainModule[]
  retainedRecords: readonly Answering[]
  storeLocations: ComplianceDeps['installation']['places']
  /** The recipient of usage events, if there is one. */
  telemetryTo: object | undefined
}) => ({
  useCases: {
    compliance: complianceService({
      db,
      checks: [
        ...modules.flatMap(({ checks = [] }) => checks),
        ...installationChecks({
          places: storeLocations,
          telemetry: telemetryTo === undefined ? 'none' : 'posthog',
          folders: [join(env.KP_DATA_DIR, 'mail'), exportsFolder(env), snapshotKeysFolder(env), ledgerFolder(env)],
          secretFile: env.KP_SECRET === undefined ? join(env.KP_DATA_DIR, 'secret') : null,
          oldestEmail: mail.folder.oldest,
          outboxRetention,
        }),
        ...coverageChecks({
          dataSources,
          retainedRecords,
          operations: operationsOf(modules).map(({ operation }) => operation),
        }),
      ],
    }),
  },
})

import { stat } from 'node:fs/promises'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'

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

/** Asks about a path. Undefined when it does not exist. */
async function known<T>(path: string, ask: (path: string) => Promise<T>): Promise<T | undefined> {
  try {
    return await ask(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
/** Permission bits. */
const modeOf = (path: string) => known(path, async (there) => (await stat(there)).mode & 0o777)
const isOpenToOthers = (mode: number): boolean => (mode & 0o077) !== 0
const slack = 2 * 3_600_000

export const installationChecks = (deps: InstallationCheckDeps): EvidenceCheck[] => [
  {
    line: 'purpose_limitation',
    name: 'installation.recipients',
    page: null,
    async ask(query) {
      // Replication and foreign servers could copy rows out of this database.
      const [row] = await query<{ publications: number; subscriptions: number; foreign_servers: number }>(
        `SELECT (SELECT count(*)::int FROM pg_publication) AS publications,
           (SELECT count(oid)::int FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())) AS subscriptions,
           (SELECT count(*)::int FROM pg_foreign_server) AS foreign_servers`,
      )
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

import { stat } from 'node:fs/promises'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import { outgoingConnections } from './repository.ts'

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

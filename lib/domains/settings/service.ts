import type { ClientBase } from 'pg'
import { z } from 'zod'
import { secretFingerprint } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { RetainedRecord } from '#lib/kernel/data-source.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { adminChanges } from '#lib/stores/postgres/personal-tables.ts'
import { editSettings, RequestFormSettings, readSettings } from './contract.ts'
import { settingNamed, storeSetting } from './repository.ts'
import { storedSetting } from './writes.ts'

const resourceId = 'installation'

/** Settings that an admin changes at runtime. */
export function settingsService(db: Database) {
  const reading = storedSetting(db, { name: 'anonymous_reading', schema: z.boolean(), fallback: false })
  // Off by default: a form needs people who answer it.
  const form = storedSetting(db, {
    name: 'request_form',
    schema: RequestFormSettings,
    fallback: { is_on: false, origins: [] },
  })
  const present = async (tx?: Transaction) => ({
    anonymous_reading: await reading.read(tx),
    request_form: await form.read(tx),
  })

  return {
    read: read(readSettings, async () => ({ body: { data: await present() }, resourceId })),

    edit: mutation(editSettings, async ({ tx, now, actor }, { body }) => {
      const by = { now, by: actor.id }
      if (body.anonymous_reading !== undefined) await reading.store(tx, body.anonymous_reading, by)
      if (body.request_form !== undefined) await form.store(tx, body.request_form, by)
      return { body: { data: await present(tx) }, resourceId, details: { fields: Object.keys(body) } }
    }),

    /** Whether anonymous reading is on, at most one second old. Off by default. */
    anonymousReading: reading.recent,
    /** Whether the public request form is on, in the caller's transaction. */
    isRequestFormOn: async (tx: Transaction): Promise<boolean> => (await form.read(tx)).is_on,
    /** The settings of the public request form, at most one second old. */
    requestForm: form.recent,
  }
}

/** The row that identifies the secret with which keys are sealed, and the former secrets. */
const recordName = 'installation_secret'
const SecretRecord = z.object({ mark: z.string(), former: z.array(z.string()) })
type SecretRecord = z.output<typeof SecretRecord>

/** The table that a rotation locks, so that the record does not change while it seals keys. */
export const secretRecordTable = 'settings'

export async function secretRecord(client: ClientBase): Promise<SecretRecord | undefined> {
  const [row] = await settingNamed(client, { name: recordName })
  return row && SecretRecord.parse(row.value)
}

export const storeSecretRecord = (client: ClientBase, record: SecretRecord, now: Date): Promise<unknown> =>
  storeSetting(client, { name: recordName, value: record, now, by: 'system:secret' })

/**
 * Prevents a process with a replaced secret from sealing values that no other process could open. @throws `unavailable` if the secret
 * was replaced while this process ran
 */
export async function assertPresentSecret(tx: Transaction, secret: string): Promise<void> {
  const row = await tx.setting.findUnique({ where: { name: recordName } })
  if (!row || SecretRecord.parse(row.value).mark === secretFingerprint(secret)) return
  throw new Problem('unavailable', {
    detail:
      'The installation’s secret was replaced while this process ran, so nothing was stored. Restart the process, then try again.',
    headers: { 'Retry-After': '60' },
  })
}

/** The row that identifies the installation's erasure ledger, so that another one, or none, is not mistaken for it. */
const ledgerName = 'erasure_ledger'
const LedgerRecord = z.object({ id: z.string() })

/** The id of the ledger of this database. Undefined before the first start. */
export async function recordedLedger(client: ClientBase): Promise<string | undefined> {
  const [row] = await settingNamed(client, { name: ledgerName })
  return row && LedgerRecord.parse(row.value).id
}

export const recordLedger = (client: ClientBase, id: string, now: Date): Promise<unknown> =>
  storeSetting(client, { name: ledgerName, value: { id }, now, by: 'system:ledger' })

/** Who changed a setting. */
const retainedSettings = (db: Database): RetainedRecord[] => [
  adminChanges(db, {
    name: 'settings.acts',
    what: 'settings that you changed',
    table: 'settings',
    by: ['updated_by'],
    at: 'updated_at',
  }),
]

export const settingsData = (db: Database): PersonalData => ({ retainedRecords: retainedSettings(db) })

/** Protection by default (GDPR art. 25(2)): data is public only when somebody decided so. */
const settingsEvidence = (): EvidenceCheck[] => [
  {
    line: 'by_design',
    name: 'settings.anonymous-reading',
    page: '/admin/tokens#settings',
    async ask(query) {
      const [row] = await settingNamed(query, { name: 'anonymous_reading' })
      const isOn = row?.value === true
      return {
        state: isOn ? 'attention' : 'holds',
        numbers: { on: isOn ? 1 : 0 },
        times: { changed: row?.updated_at ?? null },
      }
    },
  },
]

/** Settings of the installation that admins change. */
export const settingsModule = (db: Database) => ({
  useCases: { settings: settingsService(db) },
  checks: settingsEvidence(),
})

import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { editSettings, RequestFormSettings, readSettings } from './contract.ts'
import { settingNamed, storeSetting } from './repository.ts'

const resourceId = 'installation'

/** How long a value is cached, in milliseconds of system time. */
const cachedFor = 1_000

interface StoredSetting<T> {
  /** The stored value, or the fallback. */
  read(on?: Transaction): Promise<T>
  /** As {@link read}, at most one second old. */
  recent(): Promise<T>
  store(tx: Transaction, value: T, change: { now: Date; by: string }): Promise<void>
}

/** A setting whose value fits a schema. A value that does not fit, for example of another version, counts as the fallback. */
export function storedSetting<T>(
  db: Database,
  { name, schema, fallback }: { name: string; schema: z.ZodType<T>; fallback: T },
): StoredSetting<T> {
  let known: { value: T; until: number } | undefined
  let refreshing: Promise<T> | undefined

  async function read(on: Transaction | Database = db): Promise<T> {
    const [row] = await settingNamed(on, { name })
    const value = row && schema.safeParse(row.value)
    return value?.success ? value.data : fallback
  }
  async function refresh(): Promise<T> {
    const until = performance.now() + cachedFor
    try {
      const value = await read()
      known = { value, until }
      return value
    } finally {
      refreshing = undefined
    }
  }
  return {
    read,
    async recent() {
      if (known && performance.now() < known.until) return known.value
      refreshing ??= refresh()
      return refreshing
    },
    async store(tx, value, { now, by }) {
      await storeSetting(tx, { name, value, now, by })
    },
  }
}

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

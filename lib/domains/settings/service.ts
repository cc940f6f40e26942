import { z } from 'zod'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { editSettings, readSettings } from './contract.ts'
import { storedSetting } from './stored-setting.ts'

const resourceId = 'installation'

/** Settings that an admin changes at runtime. */
export function settingsService(db: Database) {
  const reading = storedSetting(db, { name: 'anonymous_reading', schema: z.boolean(), fallback: false })

  return {
    read: read(readSettings, async () => ({ body: { data: { anonymous_reading: await reading.read() } }, resourceId })),

    edit: mutation(editSettings, async ({ tx, now, actor }, { body }) => {
      const { anonymous_reading: value } = body
      if (value !== undefined) await reading.store(tx, value, { now, by: actor.id })
      return {
        body: { data: { anonymous_reading: await reading.read(tx) } },
        resourceId,
        details: { fields: Object.keys(body) },
      }
    }),

    /** Whether anonymous reading is on, at most one second old. Off by default. */
    anonymousReading: reading.recent,
  }
}

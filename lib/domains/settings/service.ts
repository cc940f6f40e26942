import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { editSettings, readSettings } from './contract.ts'
import { settingNamed } from './repository.ts'

/** How long a value is cached, in milliseconds of system time. */
const keptFor = 1_000

const anonymousReadingRow = 'anonymous_reading'
const resourceId = 'installation'

/** Settings that an admin changes at runtime. */
export function settingsService(db: Database) {
  let known: { value: boolean; until: number } | undefined
  let refreshing: Promise<boolean> | undefined

  const stored = async (): Promise<boolean> =>
    (await settingNamed(db, { name: anonymousReadingRow }))[0]?.value === true
  async function refresh(): Promise<boolean> {
    const until = performance.now() + keptFor
    try {
      const value = await stored()
      known = { value, until }
      return value
    } finally {
      refreshing = undefined
    }
  }

  return {
    read: read(readSettings, async () => ({ body: { data: { anonymous_reading: await stored() } }, resourceId })),

    edit: mutation(editSettings, async ({ tx, now, actor }, { body }) => {
      const { anonymous_reading: value } = body
      if (value !== undefined) {
        const row = { value, updatedAt: now, updatedBy: actor.id }
        await tx.setting.upsert({
          where: { name: anonymousReadingRow },
          create: { name: anonymousReadingRow, ...row },
          update: row,
        })
      }
      const row = await tx.setting.findUnique({ where: { name: anonymousReadingRow } })
      return {
        body: { data: { anonymous_reading: row?.value === true } },
        resourceId,
        details: { fields: Object.keys(body) },
      }
    }),

    /** Whether anonymous reading is on, at most one second old. Off by default. */
    async anonymousReading(): Promise<boolean> {
      if (known && performance.now() < known.until) return known.value
      refreshing ??= refresh()
      return refreshing
    },
  }
}

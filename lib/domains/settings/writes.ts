import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { settingNamed, storeSetting } from './repository.ts'

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

const repeatedName = 'repeated_erasures'
const Repeated = z.object({ receipts: z.array(z.string()) })

/** Receipt ids of erasures of the ledger that a replay began and could not finish. */
export async function repeatedErasures(tx: Transaction): Promise<string[]> {
  const row = await tx.setting.findUnique({ where: { name: repeatedName } })
  return row === null ? [] : Repeated.parse(row.value).receipts
}

export async function storeRepeatedErasures(tx: Transaction, receipts: readonly string[], now: Date): Promise<void> {
  const content = { value: { receipts: [...receipts] }, updatedAt: now, updatedBy: 'system:admin.replay' }
  await tx.setting.upsert({
    where: { name: repeatedName },
    create: { name: repeatedName, ...content },
    update: content,
  })
}

import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { SearchTarget } from './conditions.ts'
import { countNewest, newestPage, searchCountedTo } from './repository.ts'

interface Page {
  /** Continues after this row. */
  after: { at: Date; id: string } | undefined
  offset: number
  limit: number
}

/** Returns ids and times, newest first, one more than `limit` if more exist, and the total up to {@link searchCountedTo}. */
export async function newest(
  on: Queryable,
  { form, values }: SearchTarget,
  { after, offset, limit }: Page,
): Promise<{ rows: { id: string; created_at: Date }[]; total: number }> {
  const rows = await newestPage(
    on,
    {
      ...{ ...values, at: after?.at ?? null, id: after?.id ?? null },
      ...{ offset, limit: limit + 1, wanted: offset + limit + 1 },
    },
    { ...form, isContinued: after !== undefined },
  )
  const counted = { ...values, at: null, id: null, wanted: searchCountedTo }
  const [count] = await countNewest(on, counted, { ...form, isContinued: false })
  return { rows, total: count?.n ?? 0 }
}

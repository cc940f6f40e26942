import type { SnapshotQuery } from '#lib/stores/postgres/snapshot.ts'
import { type Conditions, conditions, type SearchReader, shownTo, type Table, withinScopes } from './conditions.ts'
import { searchCountedTo } from './ranking.ts'

export interface NewestQuery {
  table: Table
  reader: SearchReader
  filter(list: Conditions): void
  /** Only rows of these authors; an agent's rows have their own index. */
  authors: readonly string[] | undefined
  /** Continues after this row. */
  after: { at: Date; id: string } | undefined
  offset: number
  limit: number
}

/** Returns ids and times, newest first, one more than `limit` if more exist, and the total up to {@link searchCountedTo}. */
export async function newest(
  ask: SnapshotQuery,
  listed: NewestQuery,
): Promise<{ rows: { id: string; created_at: Date }[]; total: number }> {
  const list = conditions()
  const rows = await ask<{ id: string; created_at: Date }>(newestQuestion(listed, list), list.values)
  const counted = conditions()
  const [count] = await ask<{ n: number }>(
    `SELECT count(*)::int AS n FROM (${merged(listed, counted, searchCountedTo, undefined)} LIMIT ${searchCountedTo}) AS c`,
    counted.values,
  )
  return { rows, total: count?.n ?? 0 }
}

export function newestQuestion(listed: NewestQuery, list: Conditions): string {
  const { offset, limit, after } = listed
  return `${merged(listed, list, offset + limit + 1, after)} ORDER BY created_at DESC, id OFFSET ${offset} LIMIT ${limit + 1}`
}

/** Reads the newest `wanted` rows of each scope in index order; the newest overall are among them. */
function merged(
  { table, reader, authors, filter }: NewestQuery,
  list: Conditions,
  wanted: number,
  after: NewestQuery['after'],
): string {
  list.parts.push(shownTo(reader, list))
  filter(list)
  if (after) {
    const [at, id] = [list.value(after.at), list.value(after.id)]
    list.parts.push(`u.created_at <= ${at} AND (u.created_at < ${at} OR u.id > ${id})`)
  }
  const where = list.parts.join(' AND ')
  const columns = 'u.id, u.created_at'
  const newestOf = (condition: string) =>
    `SELECT ${columns} FROM ${table} u WHERE ${condition} AND ${where} ORDER BY u.created_at DESC, u.id LIMIT ${wanted}`
  // The index only covers the author; visibility to the reader is checked per row.
  if (authors !== undefined)
    return `SELECT found.* FROM unnest(${list.value(authors)}::text[]) AS o(author)
      CROSS JOIN LATERAL (${newestOf(`u.agent_id = o.author AND ${withinScopes(reader, 'u.scope', list)}`)}) AS found`
  const own = `SELECT found.* FROM unnest(${list.value(reader.scopes)}::text[]) AS s(scope) CROSS JOIN LATERAL (${newestOf('u.scope = s.scope')}) AS found`
  if (!reader.everyOrganisation) return `SELECT * FROM (${own}) AS everything`
  const others = newestOf(`u.visibility = 'org' AND u.scope <> ALL(${list.value(reader.scopes)}::text[])`)
  return `SELECT * FROM (${own} UNION ALL (${others})) AS everything`
}

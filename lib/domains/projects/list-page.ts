import { parseCursor } from '#lib/kernel/pages.ts'
import { typed } from '#lib/stores/postgres/statement.ts'

/** Types of the parameters of a list: the position after which it continues, and the number of rows. */
export const pageTypes = {
  afterAt: typed<Date | 'infinity' | '-infinity'>('timestamptz'),
  afterId: 'text',
  limit: 'int4',
} as const

/** Parameters for a page of a list, newest first, with one more row than the page shows. */
export const pageValues = ({ cursor, limit }: { cursor?: string | undefined; limit: number }) => {
  const after = parseCursor(cursor)
  return { afterAt: after?.at ?? ('infinity' as const), afterId: after?.id ?? '', limit: limit + 1 }
}

/** SQL: the condition, order and length of a page, newest first. */
export const newestFirst = (at: string, id: string): string =>
  `(${at}, ${id}) < ($afterAt, $afterId) ORDER BY ${at} DESC, ${id} DESC LIMIT $limit`

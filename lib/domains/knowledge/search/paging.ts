/*
 * How to make a table searchable, like units and skills: it has the columns listed in conditions.ts; each write stores
 * `searchVector(texts)` (vector.ts) in `rankedSearch`; its list calls `searchPage(…)` from this file, with `searching`, `found` and `Corrected`
 * of contract.ts in its contract; `snippetOf(texts, terms)` (snippet.ts) creates snippets. Triggers maintain the word table; words-held.ts
 * clears it when a row is erased.
 */
import { createHash } from 'node:crypto'
import type { Actor, Context } from '#lib/kernel/context.ts'
import { decodeCursor, encodeCursor, notOurCursor } from '#lib/kernel/pages.ts'
import { invalid } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { snapshot } from '#lib/stores/postgres/snapshot.ts'
import { type Conditions, conditions, type SearchVisibility, searchReaderOf, type Table } from './conditions.ts'
import { newest } from './newest.ts'
import { parseQuery, type Term } from './query.ts'
import { mostRanked, rankedSearch, searchSettings } from './ranking.ts'

/** Query parameters of every searchable list. */
export interface Searching {
  q?: string | undefined
  agent_id?: string | undefined
  mine: 'true' | 'false'
  visibility?: SearchVisibility | undefined
  limit: number
  offset: number
  cursor?: string | undefined
}
export interface FoundPage<R> {
  /** In order of the result. */
  rows: { row: R; score: number | undefined }[]
  total: number
  offset: number
  limit: number
  next_cursor: string | null
  corrected: { from: string; to: string }[]
  /** The terms searched for, for snippets; empty without `q`. */
  terms: readonly Term[]
}

/** Maximum stored bytes of the rows in one response, so that large pages do not exhaust memory. */
const largestPage = 4 * 1024 * 1024

/**
 * Returns one page of a searchable table as visible to this reader: ranked with `q`, otherwise newest first.
 * @param filters all parameters that affect the list's content; cursors are bound to them
 * @param filter adds conditions on the row `u`
 * @param columns columns of `u`, including `id`
 * @param size SQL for a row's size in bytes, which limits the page
 * @throws {Problem} `invalid` for a query without words and for a cursor of another list
 */
export async function searchPage<R extends { id: string }>(
  db: Database,
  { actor }: Pick<Context, 'actor'>,
  asked: Searching,
  {
    table,
    filters,
    filter,
    columns,
    size,
  }: { table: Table; filters: object; filter(list: Conditions): void; columns: string; size: string },
): Promise<FoundPage<R>> {
  const { q, agent_id: agentId, mine, visibility, limit, cursor } = asked
  const reader = searchReaderOf(actor, visibility)
  const terms = q === undefined ? undefined : parseQuery(q)
  if (terms && terms.terms.length === 0) throw invalid(['query', 'q'], 'holds no word that can be looked for')
  if (cursor !== undefined && asked.offset > 0) throw invalid(['query', 'offset'], 'goes with no cursor')
  const authors = authorsOf(actor, agentId, mine === 'true')
  const whole = (list: Conditions): void => {
    if (authors !== undefined) list.parts.push(`u.agent_id = ANY(${list.value(authors)}::text[])`)
    filter(list)
  }
  const probe = conditions()
  whole(probe)
  const isFiltered = probe.parts.length > 0
  const identity = JSON.stringify([table, actor.id, q, authors, visibility, filters])
  return snapshot(db, searchSettings, async (ask) => {
    const rowsOf = async (ids: readonly string[]): Promise<R[]> => {
      const found = await ask<R & { size: number }>(
        // Sizes first, so that rows beyond the page's limit are not decompressed.
        `WITH wanted AS MATERIALIZED (SELECT id, sum(size) OVER (ORDER BY place) - size AS before FROM (
            SELECT u.id, w.place, ${size} AS size FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place) JOIN ${table} u ON u.id = w.id) AS sized)
          SELECT ${columns} FROM wanted JOIN ${table} u ON u.id = wanted.id WHERE wanted.before < ${largestPage}`,
        [ids],
      )
      const byId = new Map(found.map((row) => [row.id, row]))
      const rows: R[] = []
      for (const id of ids) {
        const row = byId.get(id)
        if (row === undefined) break
        rows.push(row)
      }
      return rows
    }

    if (terms) {
      const offset = cursor === undefined ? asked.offset : rankOf(cursor, identity)
      if (offset === undefined) throw invalid(['query', 'cursor'], 'is not a cursor of this search')
      const found = await rankedSearch(ask, { table, reader, query: terms, filter: whole, isFiltered, offset, limit })
      const rows = await rowsOf(found.hits.map(({ id }) => id))
      const next = offset + rows.length
      return {
        rows: rows.map((row, at) => ({ row, score: found.hits[at]?.score })),
        total: found.total,
        offset,
        limit,
        next_cursor: next < Math.min(found.total, mostRanked) && rows.length > 0 ? rankCursor(next, identity) : null,
        corrected: found.corrected,
        terms: found.terms,
      }
    }
    const after = cursor === undefined ? undefined : decodeCursor(cursor)
    if (cursor !== undefined && (!after || encodeCursor(after.at, after.id) !== cursor)) throw notOurCursor()
    const listed = { table, reader, filter: whole, authors, after, offset: asked.offset, limit }
    const { rows: records, total } = await newest(ask, listed)
    const rows = await rowsOf(records.slice(0, limit).map(({ id }) => id))
    const last = records[rows.length - 1]
    return {
      rows: rows.map((row) => ({ row, score: undefined })),
      total,
      offset: asked.offset,
      limit,
      next_cursor: last && records.length > rows.length ? encodeCursor(last.created_at, last.id) : null,
      corrected: [],
      terms: [],
    }
  })
}

/** Authors whose rows are requested; undefined means any. */
function authorsOf(actor: Actor, agentId: string | undefined, isMine: boolean): readonly string[] | undefined {
  if (!isMine) return agentId === undefined ? undefined : [agentId]
  return agentId === undefined ? actor.agents : actor.agents.filter((own) => own === agentId)
}

/** A ranked list has no sort key for a cursor: the cursor contains an offset that is bound to the query. */
const rankCursor = (offset: number, identity: string): string =>
  Buffer.from(JSON.stringify([offset, seal(offset, identity)])).toString('base64url')
const seal = (offset: number, identity: string): string =>
  createHash('sha256').update(`${offset}\n${identity}`).digest('base64url').slice(0, 22)

function rankOf(cursor: string, identity: string): number | undefined {
  const [, digits] = /^\[(\d{1,4}),/.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? []
  const offset = Number(digits)
  return digits !== undefined && rankCursor(offset, identity) === cursor ? offset : undefined
}

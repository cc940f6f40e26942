import pg from 'pg'
import { searchTarget } from '#lib/domains/knowledge/search/conditions.ts'
import {
  hasOnePlan,
  listedUnits,
  onePlanSettings,
  plannedSettings,
  type RankedForm,
} from '#lib/domains/knowledge/search/repository.ts'

/** A `tsquery` for rows with all of the words. */
export const queryOf = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' & ')

/** A lower bound of every search: 20 matching rows in any order, without rank, count, snippet, page, HTTP or audit. */
export const readAnyMatches = (pool: pg.Pool, query: string, scopes: readonly string[]): Promise<unknown> =>
  pool.query({
    name: 'any-matches',
    text: 'SELECT id, document FROM units WHERE search @@ $1::tsquery AND ARRAY[scope] && $2::text[] LIMIT 20',
    values: [query, scopes],
  })

const target = (scopes: readonly string[]) =>
  searchTarget('units', { scopes, agents: [], everyOrganisation: false }, {})

/** A pool whose connections have the settings of searches, so that the bound needs no transaction. */
export function openSearchPool(url: string, max: number): pg.Pool {
  const settings = hasOnePlan(target([]).form) ? onePlanSettings : plannedSettings
  return new pg.Pool({
    connectionString: url,
    max,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value}`)
      .join(' '),
  })
}

/** The statement of a search that ranks the matches of these words and reads the 20 best. */
export const rankMatches = (
  pool: pg.Pool,
  words: readonly string[],
  scopes: readonly string[],
  candidates: RankedForm['candidates'],
): Promise<unknown> => {
  const { form, values } = target(scopes)
  return listedUnits.ranked(
    async (text, given, name) =>
      (await pool.query({ ...(name !== undefined && { name }), text, values: [...given] })).rows,
    {
      ...values,
      query: queryOf(words),
      queries: words.map((word) => queryOf([word])),
      phrases: [],
      weights: words.map(() => 1),
      offset: 0,
      limit: 20,
    },
    { ...form, candidates, terms: words.length, phrases: 0 },
  )
}

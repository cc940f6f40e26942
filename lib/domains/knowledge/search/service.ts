import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { shown } from '../units/stored-unit.ts'
import { listUnits } from './contract.ts'
import { searchPage } from './paging.ts'
import { listedUnits } from './repository.ts'
import { snippetOf, spelling } from './snippet.ts'
import { weightedTextsOf } from './unit-texts.ts'

/** Lists and searches units. */
export function searchService(db: Database) {
  return {
    list: read(listUnits, async (ctx, { query }) => {
      const { types, domain, min_quality, from, to } = query
      const filters = { types, domain, min_quality, from, to }
      const found = await searchPage(db, ctx, query, { listed: listedUnits, filters })
      const { rows, terms, corrected, ...page } = found
      const snippets =
        query.q === undefined ? [] : rows.map(({ row }) => snippetOf(weightedTextsOf(row.document), terms))
      return {
        body: {
          data: rows.map(({ row, score }, at) => ({
            ...shown(row),
            agent_id: row.agent_id,
            ...(score !== undefined && { score, snippet: snippets[at] }),
          })),
          ...page,
          ...(corrected.length > 0 && {
            corrected: corrected.map((word) => ({ ...word, to: spelling(word.to, snippets) })),
          }),
        },
        resourceId: 'query',
        details: { count: rows.length, total: found.total, corrected: corrected.length },
      }
    }),
  }
}

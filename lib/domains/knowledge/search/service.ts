import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Unit } from '../unit.ts'
import { narrow } from './conditions.ts'
import { listUnits } from './contract.ts'
import { searchPage } from './paging.ts'
import { snippetOf, spelling } from './snippet.ts'
import { weightedTextsOf } from './unit-texts.ts'

interface UnitRow {
  id: string
  agent_id: string
  document: Unit
  visibility: 'private' | 'org' | 'network'
  quality_score: number
  created_at: Date
  updated_at: Date
}

/** Lists and searches units. */
export function searchService(db: Database) {
  return {
    list: read(listUnits, async (ctx, { query }) => {
      const { types, domain, min_quality: quality, from, to } = query
      const found = await searchPage<UnitRow>(db, ctx, query, {
        table: 'units',
        filters: [types, domain, quality, from, to],
        filter: (list) => {
          if (types) list.parts.push(`u.type = ANY(${list.value(types)}::unit_type[])`)
          if (domain !== undefined) list.parts.push(`u.domain = ${list.value(domain)}`)
          narrow(list, query)
        },
        columns: 'u.id, u.agent_id, u.document, u.visibility, u.quality_score, u.created_at, u.updated_at',
        size: 'pg_column_size(u.document)',
      })
      const { rows, terms, corrected, ...page } = found
      const snippets =
        query.q === undefined ? [] : rows.map(({ row }) => snippetOf(weightedTextsOf(row.document), terms))
      return {
        body: {
          data: rows.map(({ row, score }, at) => ({
            id: row.id,
            unit: { ...row.document, id: row.id },
            visibility: row.visibility,
            quality_score: row.quality_score,
            created_at: row.created_at.toISOString(),
            updated_at: row.updated_at.toISOString(),
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

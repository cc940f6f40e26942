import { narrow } from '#lib/domains/knowledge/search/conditions.ts'
import { searchPage } from '#lib/domains/knowledge/search/paging.ts'
import { snippetOf, spelling } from '#lib/domains/knowledge/search/snippet.ts'
import { weightedTextsOf } from '#lib/domains/knowledge/search/unit-texts.ts'
import type { FrontMatter } from '#lib/domains/knowledge/skills/rules.ts'
import { skillTexts } from '#lib/domains/knowledge/skills/skill-texts.ts'
import type { Unit } from '#lib/domains/knowledge/unit.ts'
import type { Periods } from '#lib/kernel/data-source.ts'
import { invalid } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { expiryOf, type InspectionDeps } from './inspection.ts'
import { type InspectedRecord, listRecords, type recordKinds } from './inspection-contract.ts'

interface Listed {
  id: string
  kind: (typeof recordKinds)[number]
  title: string
  summary: string | null
  agent_id: string
  is_own: boolean
  visibility: keyof Periods
  quality_score: number
  domain: string | null
  created_at: Date
  updated_at: Date
  quarantined_at: Date | null
}
type ListedUnit = Listed & { document?: Unit }
type ListedSkill = Listed & { document?: string; front_matter?: FrontMatter }

/** Maximum characters of a title and of a summary. */
const [titleLength, summaryLength] = [300, 240]
const columns =
  'u.id, u.agent_id, u.visibility::text AS visibility, u.quality_score, u.created_at, u.updated_at, u.quarantined_at'
const unitColumns = `${columns}, split_part(u.id, ':', 2) AS kind, u.domain,
  left(coalesce(u.document->'task'->>'objective', u.document->>'name', ''), ${titleLength}) AS title,
  left(coalesce(u.document->'outcome'->>'result_summary', u.document->>'description'), ${summaryLength}) AS summary`
const skillColumns = `${columns}, 'skill' AS kind, NULL AS domain, u.name AS title, left(u.description, ${summaryLength}) AS summary`
const typeOf = { trace: 'ReasoningTrace', pattern: 'ToolCallPattern', sop: 'ExpertSOP' } as const

/** Lists units or skills in short form. Full texts stay on the server, which cuts snippets from them. */
export const records = ({ db, periods }: Omit<InspectionDeps, 'erasures'>) => ({
  listRecords: read(listRecords, async (ctx, { query }) => {
    const { kind, domain, q } = query
    const isSkill = kind === 'skill'
    if (isSkill && domain !== undefined) throw invalid(['query', 'domain'], 'is for units alone')
    const filters = [kind, domain, query.min_quality, query.from, query.to]
    // Texts are only read for a word search; without one, all rows have about the same size.
    const texts = q === undefined ? '' : isSkill ? ', u.document, u.front_matter' : ', u.document'
    const size = q === undefined ? '1000' : 'pg_column_size(u.document)'
    const foundIn = isSkill
      ? searchPage<ListedSkill>(db, ctx, query, {
          table: 'skills',
          filters,
          filter: (list) => narrow(list, query),
          columns: skillColumns + texts,
          size,
        })
      : searchPage<ListedUnit>(db, ctx, query, {
          table: 'units',
          filters,
          filter: (list) => {
            if (kind !== 'unit') list.parts.push(`u.type = ${list.value(typeOf[kind])}::unit_type`)
            if (domain !== undefined) list.parts.push(`u.domain = ${list.value(domain)}`)
            narrow(list, query)
          },
          columns: unitColumns + texts,
          size,
        })
    const [{ rows, terms, corrected, ...page }, inForce] = await Promise.all([foundIn, periods()])
    const snippets =
      q === undefined ? [] : rows.map(({ row }: { row: ListedUnit | ListedSkill }) => snippetOf(wordsOf(row), terms))
    return {
      body: {
        data: rows.map(
          ({ row, score }, at): InspectedRecord => ({
            id: row.id,
            kind: row.kind,
            title: row.title,
            summary: row.summary,
            agent_id: row.agent_id,
            is_own: ctx.actor.agents.includes(row.agent_id),
            visibility: row.visibility,
            quality_score: row.quality_score,
            domain: row.domain,
            created_at: row.created_at.toISOString(),
            updated_at: row.updated_at.toISOString(),
            expires_at: expiryOf(row, inForce),
            quarantined_at: row.quarantined_at?.toISOString() ?? null,
            ...(score !== undefined && { score, snippet: snippets[at] }),
          }),
        ),
        ...page,
        ...(corrected.length > 0 && {
          corrected: corrected.map((word) => ({ ...word, to: spelling(word.to, snippets) })),
        }),
      },
      resourceId: 'query',
      details: { count: rows.length, total: page.total, corrected: corrected.length },
    }
  }),
})

function wordsOf(row: ListedUnit | ListedSkill) {
  const { document } = row
  if (document === undefined) return []
  if (typeof document !== 'string') return weightedTextsOf(document)
  return 'front_matter' in row && row.front_matter ? skillTexts(row.front_matter, document, []) : []
}

import { searchPage } from '#lib/domains/knowledge/search/paging.ts'
import { snippetOf, spelling } from '#lib/domains/knowledge/search/snippet.ts'
import { weightedTextsOf } from '#lib/domains/knowledge/search/unit-texts.ts'
import type { FrontMatter } from '#lib/domains/knowledge/skills/rules.ts'
import { skillTexts } from '#lib/domains/knowledge/skills/skill-texts.ts'
import type { Unit } from '#lib/domains/knowledge/unit.ts'
import { invalid } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { expiryOf, type InspectionDeps } from './inspection.ts'
import { type InspectedRecord, listRecords } from './inspection-contract.ts'
import { skillSummaries, skillSummariesWithTexts, unitSummaries, unitSummariesWithTexts } from './repository.ts'

type ListedRecord = Awaited<ReturnType<typeof unitSummaries.withIds>>[number] & {
  document?: Unit | string
  front_matter?: FrontMatter
}
const summaries = { units: unitSummaries, skills: skillSummaries }
const summariesWithTexts = { units: unitSummariesWithTexts, skills: skillSummariesWithTexts }
const typeOf = { trace: 'ReasoningTrace', pattern: 'ToolCallPattern', sop: 'ExpertSOP' } as const

/** Lists units or skills in short form. Full texts stay on the server, which cuts snippets from them. */
export const records = ({ db, periods }: Omit<InspectionDeps, 'erasures'>) => ({
  listRecords: read(listRecords, async (ctx, { query }) => {
    const { kind, domain, q } = query
    const isSkill = kind === 'skill'
    if (isSkill && domain !== undefined) throw invalid(['query', 'domain'], 'is supported only for units')
    const { min_quality, from, to } = query
    const type = kind === 'unit' || isSkill ? undefined : typeOf[kind]
    // Texts are only read for a word search.
    const listed = q === undefined ? summaries : summariesWithTexts
    const foundIn = isSkill
      ? searchPage<ListedRecord>(db, ctx, query, {
          listed: listed.skills,
          filters: { min_quality, from, to },
        })
      : searchPage<ListedRecord>(db, ctx, query, {
          listed: listed.units,
          filters: { type, domain, min_quality, from, to },
        })
    const [{ rows, terms, corrected, ...page }, inForce] = await Promise.all([foundIn, periods()])
    const snippets = q === undefined ? [] : rows.map(({ row }) => snippetOf(wordsOf(row), terms))
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

function wordsOf({ document, front_matter: frontMatter }: ListedRecord) {
  if (document === undefined) return []
  if (typeof document !== 'string') return weightedTextsOf(document)
  return frontMatter ? skillTexts(frontMatter, document, []) : []
}

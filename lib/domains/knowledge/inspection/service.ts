import type { z } from 'zod'
import { ownedAgents } from '#lib/domains/agents/queries.ts'
import type { Unit } from '#lib/domains/knowledge/contract.ts'
import type { Periods } from '#lib/kernel/expiring.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { read } from '#lib/kernel/use-case.ts'
import { searchPage } from '../search/paging.ts'
import { snippetOf, spelling } from '../search/snippet.ts'
import { weightedTextsOf } from '../search/words.ts'
import { skillTexts } from '../skills/preparation.ts'
import type { FrontMatter } from '../skills/rules.ts'
import { skillEtag, wholeSkillOf } from '../skills/storage.ts'
import { erasedOrNotFound, etagOf, type KnowledgeDeps, knowledgeReaderOf, shown } from '../stored-unit.ts'
import { type InspectedRecord, inspectSkill, inspectUnit, listRecords } from './contract.ts'
import {
  inspectedSkill,
  inspectedUnit,
  type StatusRow,
  skillSummaries,
  skillSummariesWithTexts,
  unitSummaries,
  unitSummariesWithTexts,
} from './repository.ts'

const dayMs = 86_400_000
/** When retention deletes a record under the current periods; null means never. */
function expiryOf(row: { visibility: keyof Periods; created_at: Date }, periods: Periods): Date | null {
  const days = periods[row.visibility]
  return days === null ? null : new Date(row.created_at.getTime() + days * dayMs)
}

function statusOf(row: StatusRow, periods: Periods) {
  return {
    is_own: row.is_own,
    was_public: row.was_public,
    quarantined_at: row.quarantined_at,
    is_paused: row.is_paused,
    expires_at: expiryOf(row, periods),
  }
}

/** A person's view of a unit or skill: its content and how it is processed. */
export const inspection = ({ db, erasures, periods }: Pick<KnowledgeDeps, 'db' | 'erasures' | 'periods'>) => ({
  inspectUnit: read(inspectUnit, async (ctx, { params: { id } }) => {
    const [[row], inForce] = await Promise.all([inspectedUnit(db, { id, ...knowledgeReaderOf(ctx) }), periods()])
    if (!row) throw await erasedOrNotFound(erasures, ctx, id)
    return {
      body: {
        data: {
          ...shown(row),
          agent_id: row.agent_id,
          ...statusOf(row, inForce),
          etag: etagOf({ version: row.version, quality: row.quality_score }),
          attributed_to: [...new Set(row.attributed_to)],
          votes: { for: row.votes_for, against: row.votes_against, waiting: row.votes_waiting },
          wordings: row.wordings,
        },
      },
      resourceId: id,
    }
  }),

  inspectSkill: read(inspectSkill, async (ctx, { params: { id } }) => {
    const [[row], inForce] = await Promise.all([inspectedSkill(db, { id, ...knowledgeReaderOf(ctx) }), periods()])
    if (!row) throw await erasedOrNotFound(erasures, ctx, id)
    return {
      body: { data: { ...wholeSkillOf(row), ...statusOf(row, inForce), etag: skillEtag(row.version) } },
      resourceId: id,
    }
  }),
})

type ListedRecord = Awaited<ReturnType<typeof unitSummaries.withIds>>[number] & {
  document?: Unit | string
  front_matter?: FrontMatter
}
const summaries = { units: unitSummaries, skills: skillSummaries }
const summariesWithTexts = { units: unitSummariesWithTexts, skills: skillSummariesWithTexts }
const typeOf = { trace: 'ReasoningTrace', pattern: 'ToolCallPattern', sop: 'ExpertSOP' } as const

/** Lists units or skills in short form. Full texts stay on the server, which cuts snippets from them. */
export const records = ({ db, periods }: Pick<KnowledgeDeps, 'db' | 'periods'>) => ({
  listRecords: read(listRecords, async (ctx, { query }) => {
    const { kind, domain, owner, q } = query
    if (owner !== undefined && !ctx.actor.isAdmin)
      throw new Problem('forbidden', 'Only admins can list the records of another person.')
    const authors = owner === undefined ? undefined : await ownedAgents(db, owner)
    const isSkill = kind === 'skill'
    if (isSkill && domain !== undefined) throw invalid(['query', 'domain'], 'is supported only for units')
    const { min_quality, from, to } = query
    const type = kind === 'unit' || isSkill ? undefined : typeOf[kind]
    // Texts are only read for a word search.
    const listed = q === undefined ? summaries : summariesWithTexts
    const foundIn = isSkill
      ? searchPage<ListedRecord>(db, ctx, query, {
          listed: listed.skills,
          authors,
          filters: { min_quality, from, to },
        })
      : searchPage<ListedRecord>(db, ctx, query, {
          listed: listed.units,
          authors,
          filters: { type, domain, min_quality, from, to },
        })
    const [{ rows, terms, corrected, ...page }, inForce] = await Promise.all([foundIn, periods()])
    const snippets = q === undefined ? [] : rows.map(({ row }) => snippetOf(wordsOf(row), terms))
    return {
      body: {
        data: rows.map(
          ({ row, score }, at): z.input<typeof InspectedRecord> => ({
            id: row.id,
            kind: row.kind,
            title: row.title,
            summary: row.summary,
            agent_id: row.agent_id,
            is_own: ctx.actor.agents.includes(row.agent_id),
            visibility: row.visibility,
            quality_score: row.quality_score,
            domain: row.domain,
            created_at: row.created_at,
            updated_at: row.updated_at,
            expires_at: expiryOf(row, inForce),
            quarantined_at: row.quarantined_at,
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

import type { Context } from '#lib/kernel/context.ts'
import type { Input, Output } from '#lib/kernel/operation.ts'
import type { Reply } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { searchPage } from '../search/paging.ts'
import { snippetOf } from '../search/snippet.ts'
import type { listSkills } from './contract.ts'
import { listedSkills, listedSkillsWithTexts, type SkillRow } from './repository.ts'
import { skillTexts } from './skill-texts.ts'
import { summaryOf } from './storage.ts'

/** Lists skills visible to the reader: ranked and with snippets if `q` is given, otherwise newest first. */
export const listing =
  (db: Database) =>
  async (ctx: Context, { query }: Input<typeof listSkills>): Promise<Reply<Output<typeof listSkills>>> => {
    const { tags, q, min_quality, from, to } = query
    const filters = { tags: tags?.length ? tags : undefined, min_quality, from, to }
    const listed = q === undefined ? listedSkills : listedSkillsWithTexts
    const found = await searchPage<SkillRow & { texts?: string[] }>(db, ctx, query, { listed, filters })
    const { rows, terms, corrected, ...page } = found
    return {
      body: {
        data: rows.map(({ row, score }) => {
          const [document = '', ...contents] = row.texts ?? []
          const files = contents.map((content) => ({ path: '', content }))
          return {
            ...summaryOf(row),
            ...(score !== undefined && {
              score,
              snippet: snippetOf(skillTexts(row.front_matter, document, files), terms),
            }),
          }
        }),
        ...page,
        ...(corrected.length > 0 && { corrected }),
      },
      resourceId: 'query',
      details: { count: rows.length, total: page.total, corrected: corrected.length },
    }
  }

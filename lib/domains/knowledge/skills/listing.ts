import type { Context } from '#lib/kernel/context.ts'
import type { Input, Output } from '#lib/kernel/operation.ts'
import type { Reply } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { narrow } from '../search/conditions.ts'
import { searchPage } from '../search/paging.ts'
import { snippetOf } from '../search/snippet.ts'
import type { listSkills } from './contract.ts'
import { skillTexts } from './skill-texts.ts'
import { type SkillRow, skillColumns, summaryOf } from './storage.ts'

interface FoundRow extends SkillRow {
  /** SKILL.md and the beginnings of some files, for snippets. */
  texts: string[]
}

/** Maximum files, and characters per file, searched for a snippet. */
const [mostFiles, mostCharacters] = [10, 16_000]
const texts = `ARRAY[u.document] || ARRAY(SELECT left(f.content, ${mostCharacters}) FROM skill_files f WHERE f.skill_id = u.id ORDER BY f.path LIMIT ${mostFiles})`

/** Lists skills visible to the reader: ranked and with snippets if `q` is given, otherwise newest first. */
export const listing =
  (db: Database) =>
  async (ctx: Context, { query }: Input<typeof listSkills>): Promise<Reply<Output<typeof listSkills>>> => {
    const { tags = [], q } = query
    const { rows, terms, corrected, ...page } = await searchPage<FoundRow>(db, ctx, query, {
      table: 'skills',
      filters: [tags, query.min_quality, query.from, query.to],
      filter: (list) => {
        if (tags.length > 0) list.parts.push(`u.front_matter->'tags' @> ${list.value(JSON.stringify(tags))}::jsonb`)
        narrow(list, query)
      },
      columns: q === undefined ? skillColumns : `${skillColumns}, ${texts} AS texts`,
      size: 'pg_column_size(u.document)',
    })
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

import { joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { runNeedles } from '../words/run-needles.ts'

/** $1: projects to ignore; $2: words as a pattern; $3: the present. */
const texts = `WITH ${projectHoldsSql('$3')}
  SELECT x.content AS text FROM messages x JOIN conversations c ON c.id = x.conversation_id JOIN projects p ON p.id = x.project_id ${joinProjectHolds('x')}
  WHERE x.project_id <> ALL($1::text[]) AND x.content ~* $2 AND ${staysSql('x', 'c.erasing_since IS NOT NULL OR p.erasing_since IS NOT NULL')}
  UNION ALL SELECT k.content FROM document_chunks k JOIN documents x ON x.id = k.document_id JOIN projects p ON p.id = x.project_id ${joinProjectHolds('x')}
  WHERE x.project_id <> ALL($1::text[]) AND k.content ~* $2 AND ${staysSql('x', 'p.erasing_since IS NOT NULL')}`

/** Returns the runs in `quoted` that also occur in messages or documents of other projects. Reads every text and returns no content. */
export async function runsElsewhere(
  tx: Transaction,
  {
    projects,
    quoted,
    runsIn,
    now,
  }: {
    projects: readonly string[]
    quoted: readonly string[]
    runsIn(text: string): readonly ErasedRunMatch[]
    now: Date
  },
): Promise<Set<number>> {
  const needles = runNeedles(quoted) ?? []
  const rows = await queryWithin<{ text: string }>(tx, 'runs-elsewhere', texts, [projects, needles.join('|'), now])
  return new Set(rows.flatMap(({ text }) => runsIn(text).map(({ run }) => run)))
}

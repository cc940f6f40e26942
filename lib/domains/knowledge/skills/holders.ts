import type { DataHolder, Scope } from '#lib/kernel/holder.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { withdraw } from '../reputation/award.ts'

const skillOf = (scope: Scope): string | undefined => ('skill' in scope ? scope.skill : undefined)

/** Skills with their files and what their authors gained by them. The count is of skills; the rest goes with them. */
export const skillHolder = (db: Database): DataHolder => ({
  name: 'knowledge.skills',
  store: 'postgresql',
  what: 'skills, with their files and what was gained by them',
  tables: ['skills', 'skill_files'],
  async plan(scope, tx) {
    const id = skillOf(scope)
    return { items: id !== undefined && (await tx.skill.count({ where: { id } })) > 0 ? [id] : [], held: {} }
  },
  async erase(_scope, plan, tx) {
    const ids = [...plan]
    const { count } = await tx.skill.deleteMany({ where: { id: { in: ids } } })
    // After the skills, as everywhere: a reputation is locked last.
    await withdraw(tx, ids)
    return count
  },
  /** What a foreign key should have taken, in its own table; what was gained, by the id that it was gained with. */
  async residue(scope, plan) {
    const id = skillOf(scope)
    const ids = [...new Set([...plan, ...(id === undefined ? [] : [id])])]
    const [row] = await db.query<{ n: number }>(
      'skill-residue',
      `SELECT ((SELECT count(*) FROM skills WHERE id = ANY($1::text[]))
        + (SELECT count(*) FROM skill_files WHERE skill_id = ANY($1::text[]))
        + (SELECT count(*) FROM reputation_ledger WHERE subject_id = ANY($1::text[])))::int AS n`,
      [ids],
    )
    return row?.n ?? 0
  },
})

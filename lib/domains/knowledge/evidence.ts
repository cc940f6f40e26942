import type { Check } from '#lib/kernel/evidence.ts'
import { warningsOf } from './rules.ts'
import { Unit } from './unit.ts'

/** The newest units that are looked at, so that it costs the same whatever there is. */
const looked = 200

/** Minimisation (GDPR art. 5(1)(c)): what was contributed lately, judged again as contributions are. */
export const knowledgeEvidence = (): Check[] => [
  {
    line: 'minimisation',
    name: 'knowledge.warnings',
    page: '/admin/safety',
    async ask(query) {
      const rows = await query<{ document: unknown }>(
        `SELECT n.document FROM unnest(enum_range(NULL::visibility)) AS v (visibility)
         CROSS JOIN LATERAL (SELECT document, created_at FROM units u WHERE u.visibility = v.visibility ORDER BY created_at DESC LIMIT $1) AS n
         ORDER BY n.created_at DESC LIMIT $1`,
        [looked],
      )
      const warned = rows.filter(({ document }) => {
        const unit = Unit.safeParse(document)
        return !unit.success || warningsOf(unit.data).length > 0
      }).length
      return { state: warned > 0 ? 'attention' : 'holds', numbers: { looked: rows.length, warned } }
    },
  },
]

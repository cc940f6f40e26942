import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { warningsOf } from './rules.ts'
import { Unit } from './unit.ts'

/** Number of newest units checked per visibility, which bounds the cost. */
const looked = 200

/** Data minimisation (GDPR art. 5(1)(c)): recent contributions, checked again with the contribution rules. */
export const knowledgeEvidence = (): EvidenceCheck[] => [
  {
    line: 'minimisation',
    name: 'knowledge.warnings',
    page: null,
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

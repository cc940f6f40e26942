import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { referenceDecisions, referencesDataSource } from './erasure/references.ts'
import type { AuthorPseudonym } from './erasure/suppression.ts'
import { knowledgeExporters } from './exporters.ts'
import { inspection, records } from './inspection/service.ts'
import { knowledgeExpiry, knowledgeJobs } from './jobs.ts'
import { safetyService } from './moderation/service.ts'
import {
  rejectionsDataSource,
  reputationDataSource,
  searchWordsDataSource,
  skillDataSource,
  unitDataSource,
  voteDataSources,
} from './personal-data.ts'
import { reputationService } from './reputation/service.ts'
import { warningsOf } from './rules.ts'
import { searchJobs } from './search/jobs.ts'
import { searchService } from './search/paging.ts'
import { knowledgeService } from './service.ts'
import { skillsService } from './skills/service.ts'
import { sopsService } from './sops/service.ts'
import { Unit } from './unit.ts'
import type { KnowledgeDeps } from './units/stored-unit.ts'

export const knowledgeData = ({ db, pseudonymOf }: { db: Database; pseudonymOf: AuthorPseudonym }): PersonalData => ({
  dataSources: [
    // Index words are removed while the rows that contain them exist.
    searchWordsDataSource(db),
    ...voteDataSources(db),
    referencesDataSource(db, pseudonymOf),
    rejectionsDataSource(db),
    unitDataSource(db),
    skillDataSource(db),
    reputationDataSource(db),
  ],
  exporters: knowledgeExporters(db),
  expiring: knowledgeExpiry(db),
})

/** Number of newest units checked per visibility, which bounds the cost. */
const looked = 200

/** Data minimisation (GDPR art. 5(1)(c)): recent contributions, checked again with the contribution rules. */
const knowledgeEvidence = (): EvidenceCheck[] => [
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

/** Units, skills and procedures that agents share, with search, reputation and safety. */
export const knowledgeModule = (deps: KnowledgeDeps & Parameters<typeof referenceDecisions>[0]) => ({
  useCases: {
    safety: safetyService(deps.db),
    search: searchService(deps.db),
    knowledge: knowledgeService(deps),
    skills: skillsService(deps),
    references: referenceDecisions(deps),
    inspection: { ...inspection(deps), ...records(deps) },
    reputation: reputationService(deps.db),
    sops: sopsService(deps),
  },
  jobs: [...searchJobs(deps.db), ...knowledgeJobs(deps.db)],
  checks: knowledgeEvidence(),
})

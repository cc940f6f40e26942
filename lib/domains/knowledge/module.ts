import { type DecisionDeps, referenceDecisions } from '#lib/domains/knowledge/erasure/reference-decisions.ts'
import { referencesDataSource } from '#lib/domains/knowledge/erasure/references-data-source.ts'
import type { AuthorPseudonym } from '#lib/domains/knowledge/erasure/suppression.ts'
import { type InspectionDeps, inspection } from '#lib/domains/knowledge/inspection/inspection.ts'
import { records } from '#lib/domains/knowledge/inspection/records.ts'
import { rejectionsDataSource } from '#lib/domains/knowledge/moderation/data-source.ts'
import { safetyService } from '#lib/domains/knowledge/moderation/safety.ts'
import { reputationDataSource } from '#lib/domains/knowledge/reputation/data-source.ts'
import { searchWordsDataSource } from '#lib/domains/knowledge/search/data-source.ts'
import { skillDataSource } from '#lib/domains/knowledge/skills/data-source.ts'
import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import { voteDataSources } from '#lib/domains/knowledge/votes/data-sources.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import { unitDataSource } from './data-source.ts'
import { knowledgeEvidence } from './evidence.ts'
import { knowledgeExpiry } from './expiry.ts'
import { knowledgeExporters } from './exporters.ts'
import { knowledgeJobs } from './jobs.ts'
import { reputationService } from './reputation/service.ts'
import { searchJobs } from './search/indexing/jobs.ts'
import { searchService } from './search/service.ts'
import { knowledgeService } from './service.ts'
import { skillsService } from './skills/service.ts'
import { sopsService } from './sops/service.ts'

export interface KnowledgeDataDeps extends Pick<KnowledgeDeps, 'db' | 'withdrawAnswers' | 'withdrawNaming'> {
  pseudonymOf: AuthorPseudonym
}

export const knowledgeData = ({ db, pseudonymOf, ...ports }: KnowledgeDataDeps): PersonalData => ({
  dataSources: [
    // Index words are removed while the rows that contain them exist.
    searchWordsDataSource(db),
    ...voteDataSources(db),
    referencesDataSource(db, { ...ports, pseudonymOf }),
    rejectionsDataSource(db),
    unitDataSource(db, ports),
    skillDataSource(db, ports),
    reputationDataSource(db),
  ],
  exporters: knowledgeExporters(db),
  expiring: knowledgeExpiry(db),
})

/** Units, skills and procedures that agents share, with search, reputation and safety. */
export const knowledgeModule = (deps: KnowledgeDeps & InspectionDeps & DecisionDeps) => ({
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

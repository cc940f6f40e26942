import type { PersonalData } from '#lib/kernel/module.ts'
import { knowledgeEvidence } from './evidence.ts'
import { knowledgeExpiry } from './expiry.ts'
import { knowledgeExporters } from './exporters.ts'
import { unitHolder } from './holders.ts'
import { type InspectionParts, inspection } from './inspection.ts'
import { knowledgeJobs } from './jobs.ts'
import { records } from './records.ts'
import { type DecisionParts, referenceDecisions } from './reference-decisions.ts'
import { referencesHolder } from './references-held.ts'
import { rejectionsHolder } from './rejections-held.ts'
import { reputationHolder } from './reputation/holders.ts'
import { reputationService } from './reputation/service.ts'
import { safetyService } from './safety.ts'
import { searchJobs } from './search/jobs.ts'
import { searchService } from './search/service.ts'
import { wordsHolder } from './search/words-held.ts'
import { knowledgeService } from './service.ts'
import { skillHolder } from './skills/holders.ts'
import { skillsService } from './skills/service.ts'
import { sopsService } from './sops/service.ts'
import type { KnowledgeParts } from './stored-unit.ts'
import type { PseudonymOf } from './suppression.ts'
import { saidHolders } from './votes-held.ts'

export interface KnowledgeDataDeps extends Pick<KnowledgeParts, 'db' | 'withdrawAnswers' | 'withdrawNaming'> {
  pseudonymOf: PseudonymOf
}

export const knowledgeData = ({ db, pseudonymOf, ...ports }: KnowledgeDataDeps): PersonalData => ({
  dataSources: [
    // Index words are removed while the rows that contain them exist.
    wordsHolder(db),
    ...saidHolders(db),
    referencesHolder(db, { ...ports, pseudonymOf }),
    rejectionsHolder(db),
    unitHolder(db, ports),
    skillHolder(db, ports),
    reputationHolder(db),
  ],
  exporters: knowledgeExporters(db),
  expiring: knowledgeExpiry(db),
})

/** Units, skills and procedures that agents share, with search, reputation and safety. */
export const knowledgeModule = (deps: KnowledgeParts & InspectionParts & DecisionParts) => ({
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

import { erasedSubjects } from '#lib/domains/erasure/erased-names.ts'
import { withdrawNaming } from '#lib/domains/idempotency/holders.ts'
import { withdrawAnswers } from '#lib/domains/idempotency/records.ts'
import { knowledgeExpiry } from '#lib/domains/knowledge/expiry.ts'
import { knowledgeExporters } from '#lib/domains/knowledge/exporters.ts'
import { unitHolder } from '#lib/domains/knowledge/holders.ts'
import { inspection } from '#lib/domains/knowledge/inspection.ts'
import { knowledgeJobs } from '#lib/domains/knowledge/jobs.ts'
import { records } from '#lib/domains/knowledge/records.ts'
import { referenceDecisions } from '#lib/domains/knowledge/reference-decisions.ts'
import { referencesHolder } from '#lib/domains/knowledge/references-held.ts'
import { rejectionsHolder } from '#lib/domains/knowledge/rejections-held.ts'
import { reputationHolder } from '#lib/domains/knowledge/reputation/holders.ts'
import { reputationService } from '#lib/domains/knowledge/reputation/service.ts'
import { safetyService } from '#lib/domains/knowledge/safety.ts'
import { searchJobs } from '#lib/domains/knowledge/search/jobs.ts'
import { searchService } from '#lib/domains/knowledge/search/service.ts'
import { wordsHolder } from '#lib/domains/knowledge/search/words-held.ts'
import { knowledgeService } from '#lib/domains/knowledge/service.ts'
import { skillHolder } from '#lib/domains/knowledge/skills/holders.ts'
import { skillsService } from '#lib/domains/knowledge/skills/service.ts'
import { sopsService } from '#lib/domains/knowledge/sops/service.ts'
import { saidHolders } from '#lib/domains/knowledge/votes-held.ts'
import { periodsOf } from '#lib/domains/retention/rules.ts'
import { lazily } from '#lib/kernel/lazily.ts'
import { deriveKey } from '#lib/secret.ts'
import type { Domain, Parts } from './domain.ts'

/** Knowledge that agents share. */
export function sharedKnowledge(parts: Parts) {
  const { chosenIds, db, env, erasures, ledger, pseudonymOf, recognise, retention, secret } = parts
  return {
    safety: { offers: safetyService(db) },
    // Before knowledge: index words are removed while the rows that contain them exist.
    search: { offers: searchService(db), jobs: searchJobs(db), holders: [wordsHolder(db)] },
    knowledge: {
      offers: knowledgeService({
        db,
        erasures,
        strict: env.KP_SANITIZER_STRICT,
        withdrawAnswers,
        withdrawNaming,
        networkKey: lazily(() => deriveKey(secret(), 'report networks')),
        names: recognise,
        chosenIds,
      }),
      jobs: knowledgeJobs(db),
      expiring: knowledgeExpiry(db),
      exporters: knowledgeExporters(db),
      holders: [
        ...saidHolders(db),
        referencesHolder(db, { withdrawAnswers, pseudonymOf }),
        rejectionsHolder(db),
        unitHolder(db, { withdrawNaming }),
      ],
    },
    skills: {
      offers: skillsService({
        db,
        erasures,
        strict: env.KP_SANITIZER_STRICT,
        withdrawAnswers,
        names: recognise,
      }),
      holders: [skillHolder(db, { withdrawNaming })],
    },
    references: {
      offers: referenceDecisions({
        db,
        pseudonymOf,
        withdrawAnswers,
        erasedSubject: erasedSubjects({ ledger, backupDays: env.KP_BACKUP_DAYS }),
        noteItems: (id, holder, items) => ledger.append({ kind: 'items', id, holder, items }),
      }),
    },
    inspection: {
      offers: {
        ...inspection({ db, erasures, periods: async () => periodsOf(await retention.policyNow()) }),
        ...records({ db, periods: async () => periodsOf(await retention.policyNow()) }),
      },
    },
    reputation: { offers: reputationService(db), holders: [reputationHolder(db)] },
    sops: {
      offers: sopsService({
        db,
        erasures,
        strict: env.KP_SANITIZER_STRICT,
        withdrawAnswers,
        names: recognise,
        chosenIds,
      }),
    },
  } satisfies Record<string, Domain>
}

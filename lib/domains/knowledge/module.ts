import { z } from 'zod'
import { erasedOf, erasedSubjects, receiptFinder } from '#lib/domains/erasure/queries.ts'
import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import type { Counts, Expiring, Periods } from '#lib/kernel/expiring.ts'
import { job } from '#lib/kernel/job.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { referenceDecisions, referencesDataSource } from './erasure/references.ts'
import type { AuthorPseudonym, ErasedAgents } from './erasure/suppression.ts'
import { knowledgeExporters } from './exporters.ts'
import { skillImporter, unitImporter } from './imports.ts'
import { inspection, records } from './inspection/service.ts'
import { deleteRejectionsBefore } from './moderation/repository.ts'
import { quarantineEntry, quarantineReported, safetyService } from './moderation/service.ts'
import {
  rejectionsDataSource,
  reputationDataSource,
  searchWordsDataSource,
  skillDataSource,
  unitDataSource,
  voteDataSources,
} from './personal-data.ts'
import type { ChosenIdPorts } from './refusals.ts'
import {
  countExpired,
  countExpiredUnderHold,
  type ExpiringTable,
  expiringTables,
  listExpired,
  removalSql,
} from './repository.ts'
import { reputationService } from './reputation/service.ts'
import { rejectionRetention, warningsOf } from './rules.ts'
import { searchJobs } from './search/jobs.ts'
import { searchService } from './search/paging.ts'
import { knowledgeService } from './service.ts'
import { skillsService } from './skills/service.ts'
import { sopsService } from './sops/service.ts'
import type { KnowledgeDeps } from './stored-unit.ts'
import { Unit } from './unit.ts'
import { weighWaitingVotes } from './votes/service.ts'

const knowledgeJobs = (db: Database) => [
  job({
    name: 'knowledge.forget-rejections',
    payload: z.unknown(),
    cron: '31 * * * *',
    async run(ctx) {
      await deleteRejectionsBefore(db, { before: new Date(ctx.now.getTime() - rejectionRetention) })
    },
  }),
  job({
    // Reports by unclaimed agents count from the agent's second day; no request may happen then to trigger the check.
    name: 'knowledge.weigh-reports',
    payload: z.unknown(),
    cron: '7 * * * *',
    run: (ctx) =>
      ctx.pipeline.transaction(async (tx) => {
        const quarantined = await quarantineReported(tx, null, ctx.now)
        const entries = quarantined.map((unit) => ({ ...quarantineEntry(unit), at: ctx.now, ip: '' }))
        await ctx.pipeline.auditWithin(tx, ...entries)
      }),
  }),
  job({
    // The same applies to votes of unclaimed agents, and to votes of agents claimed since.
    name: 'knowledge.weigh-votes',
    payload: z.unknown(),
    cron: '11 * * * *',
    async run(ctx) {
      await weighWaitingVotes(db, ctx.now)
    },
  }),
]

const day = 86_400_000
const visibilities = ['network', 'org', 'private'] as const

const expiringRows = (db: Database, kind: ExpiringTable): Expiring => {
  const limitsOf = (periods: Periods, now: Date) => {
    const limited = visibilities.flatMap((visibility) => {
      const days = periods[visibility]
      return days === null ? [] : [{ visibility, before: new Date(now.getTime() - days * day) }]
    })
    return { visibilities: limited.map(({ visibility }) => visibility), before: limited.map(({ before }) => before) }
  }
  const held = (periods: Periods, now: Date) => countExpiredUnderHold(db, { ...limitsOf(periods, now), now }, kind)

  return {
    name: `knowledge.${kind.table}`,
    resourceType: kind.resourceType,
    scope: kind.scope,
    removal: removalSql(kind),
    async due(periods, now): Promise<Counts> {
      const counts: Counts = { network: 0, org: 0, private: 0, held: 0 }
      const expired = await countExpired(db, limitsOf(periods, now), kind)
      for (const { visibility, n } of expired) counts[visibility] += n
      for (const { visibility, n } of await held(periods, now)) {
        counts[visibility] -= n
        counts.held += n
      }
      return counts
    },
    list: (periods, now, limit) => listExpired(db, { ...limitsOf(periods, now), now, limit }, kind),
    held: async (periods, now) => (await held(periods, now)).reduce((sum, { n }) => sum + n, 0),
  }
}

/** Deletion of expired units and skills. Dependent rows (votes, reports, versions, files) are deleted with them. */
const knowledgeExpiry = (db: Database): Expiring[] => expiringTables.map((kind) => expiringRows(db, kind))

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
export function knowledgeModule({
  keyFor,
  recognise,
  records: erasures,
  ledger,
  facts,
  ...parts
}: Omit<KnowledgeDeps, 'chosenIds' | 'erasures' | 'names' | 'networkKey'> & {
  keyFor(purpose: string): () => Uint8Array
  recognise: KnowledgeDeps['names']
  /** Erases single units and skills. */
  records: Omit<KnowledgeDeps['erasures'], 'receiptFor'>
  ledger: Pick<Ledger, 'append' | 'read'>
  facts: { backupDays: number | undefined }
  pseudonymOf: AuthorPseudonym
  erasedAgents: ErasedAgents
  outsideNamespace: ChosenIdPorts['outsideNamespace']
}) {
  const { db } = parts
  const deps = {
    ...parts,
    chosenIds: { outsideNamespace: parts.outsideNamespace, erasedOf },
    names: recognise,
    networkKey: keyFor('report networks'),
    erasures: { ...erasures, receiptFor: receiptFinder(db) },
    erasedSubject: erasedSubjects({ ledger, backupDays: facts.backupDays }),
    appendToLedger: (id: string, holder: string, items: readonly string[]) =>
      ledger.append({ kind: 'items', id, holder, items }),
  }
  return {
    useCases: {
      safety: safetyService(db),
      search: searchService(db),
      knowledge: knowledgeService(deps),
      skills: skillsService(deps),
      references: referenceDecisions(deps),
      inspection: { ...inspection(deps), ...records(deps) },
      reputation: reputationService(db),
      sops: sopsService(deps),
    },
    jobs: [...searchJobs(db), ...knowledgeJobs(db)],
    checks: knowledgeEvidence(),
    importers: [unitImporter(deps), skillImporter(deps)],
  }
}

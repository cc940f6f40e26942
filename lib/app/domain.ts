import { agentsInRegions } from '#lib/domains/agents/in-region.ts'
import { erasableAgent, ownAgent, ownAgentLocked, writableAgent } from '#lib/domains/agents/life/whose.ts'
import { withheldWhile } from '#lib/domains/pii/withholding.ts'
import { projectsInRegions } from '#lib/domains/projects/in-region.ts'
import { regionsAround } from '#lib/domains/residency/rules.ts'
import type { Env } from '#lib/env.ts'
import type { Clock } from '#lib/kernel/clock.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { AskDatabase } from '#lib/kernel/evidence.ts'
import type { DataHolder, Expiring, Exporter, Kept, PersonExporter } from '#lib/kernel/holder.ts'
import type { RunnableJob } from '#lib/kernel/job.ts'
import type { Patience, Services } from '#lib/services.ts'

/** What a domain provides to the application: its use cases, jobs, personal data sources and exporters. */
export interface Domain {
  offers: object
  jobs?: RunnableJob[]
  holders?: DataHolder[]
  exporters?: Exporter[]
  personExporters?: PersonExporter[]
  /** Records that are retained whatever is erased. */
  kept?: Kept[]
  expiring?: Expiring[]
}

/** The dependencies of the domains: the services, and helpers that several domains share. */
export function partsOf(services: Services, { env, clock, patience }: { env: Env; clock: Clock; patience: Patience }) {
  const { accounts, db, judged, presidio } = services
  /** For queries about the whole database, such as counts and names. */
  const query: AskDatabase = <R extends Record<string, unknown>>(text: string, values?: readonly unknown[]) =>
    db.query<R>(undefined, text, values)
  const analyzed = judged.filter(({ name }) => name === 'presidio').flatMap(regionsAround)
  return {
    ...services,
    env,
    clock,
    patience,
    query,
    /** Finds people's names in texts, if Presidio is connected and allowed to process them. */
    recognise:
      presidio &&
      withheldWhile(
        async () => (await agentsInRegions(query, analyzed)) > 0 || (await projectsInRegions(query, analyzed)) > 0,
        presidio.recognise,
      ),
    /** Name and email address of an account's person. */
    async namesOf(tx: Transaction | undefined, accountId: string): Promise<string[]> {
      const found = await accounts.contactOf(tx ?? db.prisma, accountId)
      return found ? [found.name, found.email] : []
    },
    /** Access to the actor's agents for other domains. */
    ownAgents: {
      own: (actor: Actor, id: string) => ownAgent(db, actor, id),
      locked: ownAgentLocked,
      erasable: erasableAgent,
      writable: writableAgent(services.regions),
    },
  }
}
export type Parts = ReturnType<typeof partsOf>

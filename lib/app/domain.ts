import { agentsInEu } from '#lib/domains/agents/in-region.ts'
import { erasableAgent, ownAgent, ownAgentLocked, writableAgent } from '#lib/domains/agents/life/whose.ts'
import { withheldWhile } from '#lib/domains/pii/withholding.ts'
import { hindering } from '#lib/domains/residency/rules.ts'
import type { Env } from '#lib/env.ts'
import type { Clock } from '#lib/kernel/clock.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import type { AskDatabase } from '#lib/kernel/evidence.ts'
import type { DataHolder, Expiring, Exporter, Kept, PersonExporter } from '#lib/kernel/holder.ts'
import type { RunnableJob } from '#lib/kernel/job.ts'
import type { Patience, Services } from '#lib/services.ts'

/** What a domain is to the rest: what it offers, what it does by the clock, and what it answers for. */
export interface Domain {
  offers: object
  jobs?: RunnableJob[]
  holders?: DataHolder[]
  exporters?: Exporter[]
  personExporters?: PersonExporter[]
  /** What stays whatever is erased. */
  kept?: Kept[]
  expiring?: Expiring[]
}

/** Of what domains are put together: the services, and what several of them are handed alike. */
export function partsOf(services: Services, { env, clock, patience }: { env: Env; clock: Clock; patience: Patience }) {
  const { accounts, db, judged, presidio } = services
  /** Of the whole database: what is counted, and who is named. */
  const query: AskDatabase = <R extends Record<string, unknown>>(text: string, values?: readonly unknown[]) =>
    db.query<R>(undefined, text, values)
  return {
    ...services,
    env,
    clock,
    patience,
    query,
    /** Finds people's names in texts, where that is connected and may be asked. */
    recognise:
      presidio &&
      (hindering('eu', judged).includes('presidio')
        ? withheldWhile(async () => (await agentsInEu(query)) > 0, presidio.recognise)
        : presidio.recognise),
    /** What an account's person is called by. */
    async namesOf(tx: Transaction | undefined, accountId: string): Promise<string[]> {
      const found = await accounts.contactOf(tx ?? db.prisma, accountId)
      return found ? [found.name, found.email] : []
    },
    /** The actor's agents, as other domains ask for them. */
    ownAgents: {
      own: (actor: Actor, id: string) => ownAgent(db, actor, id),
      locked: ownAgentLocked,
      erasable: erasableAgent,
      writable: writableAgent,
    },
  }
}
export type Parts = ReturnType<typeof partsOf>

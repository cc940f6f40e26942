import { z } from 'zod'
import { seal, sealedPurposes, unseal } from '#lib/config/secret.ts'
import { type Recognise, withNames } from '#lib/domains/pii/analyzer.ts'
import type { Actor, Context, Transaction } from '#lib/kernel/context.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Exporter } from '#lib/kernel/exporter.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { PersonalData } from '#lib/kernel/module.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, preparedMutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { rowsOfAgents } from '#lib/stores/postgres/personal-tables.ts'
import { openedPages } from '#lib/stores/postgres/record-pages.ts'
import { deleteExchange, ExchangeMessage, listExchanges, logExchange, Redacted, readExchange } from './contract.ts'
import { llmLogEvidence, llmLogJobs, llmLogMeasures } from './jobs.ts'
import {
  countExchanges,
  type ExchangeRow,
  type ExchangeSummaryRow,
  exchange,
  exchangesPage,
  exportedExchanges,
} from './repository.ts'
import { exchangeRetention, maxStoredExchanges } from './rules.ts'
import { exposedIn, without } from './scanning.ts'

/** Dependencies of the domain; its module makes them. */
export interface LlmLogPorts {
  db: Database
  /** The key that seals messages at rest. */
  key(): Uint8Array
  /** Finds names of people in messages. Undefined when no analyzer is connected. */
  recognise: Recognise | undefined
  agents: {
    /** The actor itself, or an agent that the actor owns. @throws Problem `not_found` */
    own(actor: Actor, id: string): Promise<unknown>
    /** Locks the agent until the transaction ends, for a deletion. @throws Problem `held` under legal hold */
    erasable(tx: Transaction, actor: Actor, id: string, now: Date): Promise<unknown>
    /** Locks the agent until the transaction ends, for a write. */
    writable(tx: Transaction, actor: Actor, id: string): Promise<unknown>
  }
}

const noExchange = () =>
  new Problem(
    'not_found',
    'No exchange of your agents has this id. Exchanges are deleted 24 hours after they were logged.',
  )

const described = (row: ExchangeSummaryRow) => ({
  id: row.id,
  agent_id: row.agent_id,
  model: row.model,
  redacted: Redacted.parse(row.redacted),
  created_at: row.created_at,
  expires_at: row.expires_at,
})
/** An exchange as its agent and its owner see it. @throws when it cannot be opened */
const exchangeOf = (row: ExchangeRow, key: () => Uint8Array) => ({
  ...described(row),
  messages: z.array(ExchangeMessage).parse(JSON.parse(unseal(key(), row.sealed, row.id).toString('utf8'))),
})

/** The agents whose exchanges the actor can see: the named one, or all its agents. */
async function agentsSeen(agents: LlmLogPorts['agents'], actor: Actor, named: string | undefined) {
  if (actor.kind === 'anonymous') throw new Problem('token_missing')
  if (named === undefined) return actor.agents
  await agents.own(actor, named)
  return [named]
}

/** Scans an exchange, with names when an analyzer is connected. An exchange with a secret is rejected before the analyzer is called. */
const scanned =
  ({ recognise }: Pick<LlmLogPorts, 'recognise'>) =>
  async ({ actor }: Pick<Context, 'actor'>, { body }: Input<typeof logExchange>) => {
    if (actor.kind !== 'agent')
      throw new Problem('forbidden', 'Only the agent itself can log an exchange. Use its token.')
    const { ofModel, found: ours } = exposedIn(body)
    const texts = body.messages.map(({ content }) => content)
    const { findings: found, missing } = await withNames(recognise, texts, ours)
    return { exposed: { ofModel, found }, isDegraded: missing.size > 0 }
  }

const add = (ports: Pick<LlmLogPorts, 'key' | 'agents' | 'recognise'>) => {
  const { key, agents } = ports
  return preparedMutation(
    logExchange,
    scanned(ports),
    async ({ tx, actor, now }, { body }, { exposed, isDegraded }) => {
      const { model, messages, redacted } = without(exposed, body)
      const agentId = actor.id
      await agents.writable(tx, actor, agentId)
      if ((await tx.llmLogEntry.count({ where: { agentId, expiresAt: { gt: now } } })) >= maxStoredExchanges)
        throw new Problem(
          'quota_exceeded',
          `This agent has ${maxStoredExchanges.toLocaleString('en')} exchanges of the last 24 hours, which is the limit. Nothing was stored. Delete some, or wait until the oldest expire.`,
        )
      const id = newId('llm')
      const expiresAt = new Date(now.getTime() + exchangeRetention)
      await tx.llmLogEntry.create({
        data: {
          id,
          agentId,
          model: model ?? null,
          sealed: new Uint8Array(seal(key(), Buffer.from(JSON.stringify(messages)), id)),
          redacted,
          createdAt: now,
          expiresAt,
        },
      })
      return {
        resourceId: id,
        details: { agent_id: agentId, messages: messages.length, redacted },
        body: {
          data: {
            id,
            redacted,
            expires_at: expiresAt,
            ...(isDegraded && { degraded: ['presidio' as const] }),
          },
        },
      }
    },
  )
}

const list = ({ db, agents }: Pick<LlmLogPorts, 'db' | 'agents'>) =>
  read(listExchanges, async ({ actor, now }, { query: { agent_id, cursor, limit } }) => {
    const after = parseCursor(cursor)
    const seen = await agentsSeen(agents, actor, agent_id)
    const visible = { agents: seen, now }
    const [rows, [count]] = await Promise.all([
      exchangesPage(db, { ...visible, at: after?.at ?? null, id: after?.id ?? '', limit: limit + 1 }),
      countExchanges(db, visible),
    ])
    const { shown, page } = pageOf(rows, limit, count?.n ?? 0, ({ created_at, id }) => ({ at: created_at, id }))
    return {
      resourceId: agent_id ?? actor.id,
      resourceType: agent_id !== undefined || actor.kind === 'agent' ? 'agent' : 'account',
      details: { count: shown.length },
      body: {
        data: shown.map((row) => ({ ...described(row), bytes: row.bytes })),
        ...page,
      },
    }
  })

const readOne = ({ db, key }: Pick<LlmLogPorts, 'db' | 'key'>) =>
  read(readExchange, async ({ actor, now }, { params: { id } }) => {
    const [row] = await exchange(db, { id, now, agents: actor.agents })
    if (!row) throw noExchange()
    return { resourceId: id, details: { agent_id: row.agent_id }, body: { data: exchangeOf(row, key) } }
  })

const remove = ({ agents }: Pick<LlmLogPorts, 'agents'>) =>
  mutation(deleteExchange, async ({ tx, actor, now }, { params: { id } }) => {
    const where = { id, agentId: { in: [...actor.agents] }, expiresAt: { gt: now } }
    const row = await tx.llmLogEntry.findFirst({ where, select: { agentId: true } })
    if (!row) throw noExchange()
    await agents.erasable(tx, actor, row.agentId, now)
    if ((await tx.llmLogEntry.deleteMany({ where })).count === 0) throw noExchange()
    return { body: undefined, resourceId: id, details: { agent_id: row.agentId } }
  })

/** Exchanges of agents with language models: redacted before storage, sealed, and deleted after 24 hours. */
const llmLogService = (ports: LlmLogPorts) => ({
  add: add(ports),
  list: list(ports),
  read: readOne(ports),
  remove: remove(ports),
})

const exchangeDataSource = (db: Database): DataSource =>
  rowsOfAgents(db, {
    name: 'llm-log.entries',
    stage: 'content',
    table: 'llm_log_entries',
    id: 'id',
    at: 'created_at',
    until: 'expires_at',
    what: 'logged exchanges of agents with language models, scanned before they were stored and sealed with the installation’s key',
    purpose: 'to let an agent and its owner see the exchanges with models on their behalf',
    kept: 'for 24 hours, or until the agent or its owner deletes them',
  })

/** Exchanges in plain text as they were stored, after redaction. */
const llmLogExporters = (db: Database, key: () => Uint8Array): Exporter[] => [
  {
    part: 'llm_log',
    bases: ['provided', 'all'],
    tables: ['llm_log_entries'],
    pages: (agentId, { until }) =>
      openedPages(
        (after) => exportedExchanges(db, { agent: agentId, until, ...after }),
        (row) => ({ at: row.created_at, id: row.id }),
        (row) => exchangeOf(row, key),
      ),
  },
]

interface Keys {
  keyFor(purpose: string): () => Uint8Array
}

export const llmLogData = ({ db, keyFor }: Keys & { db: Database }): PersonalData => ({
  dataSources: [exchangeDataSource(db)],
  exporters: llmLogExporters(db, keyFor(sealedPurposes.llmLog)),
})

/** The log of texts that agents exchange with language models. */
export const llmLogModule = ({
  db,
  keyFor,
  ownAgents,
  recognise,
}: Keys & Pick<LlmLogPorts, 'db' | 'recognise'> & { ownAgents: LlmLogPorts['agents'] }) => ({
  useCases: { llmLog: llmLogService({ db, key: keyFor(sealedPurposes.llmLog), recognise, agents: ownAgents }) },
  jobs: llmLogJobs(db),
  checks: llmLogEvidence(),
  measures: [llmLogMeasures(db)],
})

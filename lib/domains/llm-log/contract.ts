import { z } from 'zod'
import { sensitiveKinds } from '#lib/domains/pii/findings.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { exchangeBytes, exchangeIdForm, exchangeRoles, maxMessages, maxStoredExchanges, modelForm } from './rules.ts'

const AgentId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
const ofOne = z.strictObject({
  id: z.string().regex(exchangeIdForm, 'must be the id of an exchange: `llm_` and 22 letters or digits'),
})

export const ExchangeMessage = z.strictObject({ role: z.enum(exchangeRoles), content: z.string() })
export const Redacted = z.partialRecord(z.enum(sensitiveKinds), z.int().positive()).meta({
  id: 'RedactedKinds',
  description: 'Number of removed parts by kind. They were removed before the exchange was stored',
})

const described = {
  id: z.string(),
  agent_id: z.string(),
  model: z.string().nullable(),
  redacted: Redacted,
  created_at: time(),
  expires_at: time({ description: '24 hours after it was written. The exchange is then deleted' }),
}
const SummaryView = z
  .strictObject({ ...described, bytes: z.int().meta({ description: 'Size of its messages, as sealed' }) })
  .meta({ id: 'LlmExchangeSummary' })
const ExchangeView = z.strictObject({ ...described, messages: z.array(ExchangeMessage) }).meta({ id: 'LlmExchange' })

const exchange = { resourceType: 'llm_exchange' }

export const logExchange = operation({
  id: 'logLlmExchange',
  method: 'post',
  path: '/v1/llm-log',
  summary: 'Log an exchange of the agent with a language model, for 24 hours',
  description: `Requires the agent’s own token. The exchange is scanned before it is stored. A private key or seed phrase in any message, or spread over several, rejects the entire exchange (\`content_blocked\`, with kinds and messages, never the secret). Addresses, API keys, personal data, position sizes and prices are replaced by marks such as \`‹email:1›\`; names and postal addresses too, if a Presidio analyzer is connected (\`degraded\` if it did not answer). The rest is sealed and deleted after 24 hours. At most 128 KiB per exchange and ${maxStoredExchanges.toLocaleString('en')} stored at the same time.`,
  permission: 'llm-log:write',
  stores: 'bytes',
  audit: exchange,
  bodyLimit: exchangeBytes,
  body: z.strictObject({
    model: z.string().regex(modelForm, 'must be the name of a model with at most 100 characters').optional(),
    messages: z
      .array(ExchangeMessage)
      .min(1, 'must have at least one message')
      .max(maxMessages, `must have at most ${maxMessages} messages`),
  }),
  output: z.strictObject({
    data: z.strictObject({
      id: z.string(),
      redacted: Redacted,
      expires_at: time(),
      degraded: z.array(z.literal('presidio')).optional().meta({
        description: 'Detectors that did not answer: the text may contain names and postal addresses of people',
      }),
    }),
  }),
  refusals: [
    'content_blocked',
    'forbidden',
    'paused',
    'dead',
    'restricted',
    'wrong_state',
    'conflict',
    'fenced',
    'not_found',
    'quota_exceeded',
  ],
})

export const listExchanges = operation({
  id: 'listLlmExchanges',
  method: 'get',
  path: '/v1/llm-log',
  summary: 'List logged exchanges with language models, newest first',
  description:
    'Only for the agent and its owner, not even for admins. An agent sees its own, a person those of all their agents or of one. Messages are not included: read a single exchange to get them.',
  permission: 'llm-log:read',
  audit: exchange,
  query: z.strictObject({ agent_id: AgentId.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(SummaryView),
  refusals: ['not_found', 'token_missing'],
})

export const readExchange = operation({
  id: 'readLlmExchange',
  method: 'get',
  path: '/v1/llm-log/{id}',
  summary: 'Get a logged exchange with its messages, as they were stored',
  permission: 'llm-log:read',
  audit: exchange,
  params: ofOne,
  contributed: true,
  output: z.strictObject({ data: ExchangeView }),
  refusals: ['not_found'],
})

export const deleteExchange = operation({
  id: 'deleteLlmExchange',
  method: 'delete',
  path: '/v1/llm-log/{id}',
  summary: 'Delete a logged exchange before it expires',
  description:
    'Works for paused agents. For a retired agent, only its owner can delete. Deletes the exchange permanently.',
  permission: 'llm-log:write',
  audit: exchange,
  deletes: { counts: 'exchangesDeleted' },
  params: ofOne,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})

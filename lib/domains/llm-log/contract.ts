import { z } from 'zod'
import { sensitiveKinds } from '#lib/domains/pii/findings.ts'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'
import { exchangeBytes, exchangeIdForm, exchangeRoles, modelForm, mostMessages, mostStoredExchanges } from './rules.ts'

const when = z.iso.datetime()
const AgentId = z
  .string()
  .min(1)
  .max(64)
  .regex(/^\P{Cc}*$/u, 'holds a control character')
const ofOne = z.strictObject({
  id: z.string().regex(exchangeIdForm, 'is no id of an exchange: `llm_` and 22 letters or digits'),
})

export const ExchangeMessage = z.strictObject({ role: z.enum(exchangeRoles), content: z.string() })
export const Redacted = z
  .partialRecord(z.enum(sensitiveKinds), z.int().positive())
  .meta({ description: 'What was taken out before it was stored: how many of each kind' })

const described = {
  id: z.string(),
  agent_id: z.string(),
  model: z.string().nullable(),
  redacted: Redacted,
  created_at: when,
  expires_at: when.meta({ description: '24 hours after it was written: then it is gone' }),
}
const SummaryView = z
  .strictObject({ ...described, bytes: z.int().meta({ description: 'Of its messages, as they are sealed' }) })
  .meta({ id: 'LlmExchangeSummary' })
const ExchangeView = z.strictObject({ ...described, messages: z.array(ExchangeMessage) }).meta({ id: 'LlmExchange' })

const exchange = { resourceType: 'llm_exchange' }

export const logExchange = operation({
  id: 'logLlmExchange',
  method: 'post',
  path: '/v1/llm-log',
  summary: 'Log an exchange of the agent with a language model, for 24 hours',
  description: `By the agent’s own token. Scanned before it is stored. A private key or seed phrase in any message, or spread over several, rejects the whole exchange (\`content_blocked\`, with kinds and messages, never the secret). Addresses, API keys, personal data, position sizes and prices are replaced by marks such as \`‹email:1›\`, and names and postal addresses if a Presidio analyzer is connected (\`degraded\` if it did not answer). The rest is sealed and deleted after 24 hours. Of content with parts, send the text. 128 KiB each, ${mostStoredExchanges.toLocaleString('en')} at once.`,
  permission: 'llm-log:write',
  stores: 'bytes',
  audit: { action: 'create', ...exchange },
  limit: 'write',
  status: 201,
  bodyLimit: exchangeBytes,
  body: z.strictObject({
    model: z.string().regex(modelForm, 'takes the name of a model, 100 characters at most').optional(),
    messages: z.array(ExchangeMessage).min(1, 'has 1 at least').max(mostMessages, `has ${mostMessages} at most`),
  }),
  output: z.strictObject({
    data: z.strictObject({
      id: z.string(),
      redacted: Redacted,
      expires_at: when,
      degraded: z
        .array(z.literal('presidio'))
        .optional()
        .meta({ description: 'Not asked successfully: names and postal addresses of people may stand in it' }),
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
  summary: 'What agents logged of their exchanges with language models, newest first',
  description:
    'For the agent and its owner; nobody else, no admin either. An agent sees its own, a person those of all their agents or of one. Without the messages: read one for those.',
  permission: 'llm-log:read',
  audit: { action: 'read', ...exchange },
  limit: 'read',
  status: 200,
  query: z.strictObject({ agent_id: AgentId.optional(), cursor: Cursor.optional(), limit: PageLimit }),
  output: page(SummaryView),
  refusals: ['not_found', 'token_missing'],
})

export const readExchange = operation({
  id: 'readLlmExchange',
  method: 'get',
  path: '/v1/llm-log/{id}',
  summary: 'One logged exchange, with its messages as they were stored',
  permission: 'llm-log:read',
  audit: { action: 'read', ...exchange },
  limit: 'read',
  status: 200,
  params: ofOne,
  contributed: true,
  output: z.strictObject({ data: ExchangeView }),
  refusals: ['not_found'],
})

export const deleteExchange = operation({
  id: 'deleteLlmExchange',
  method: 'delete',
  path: '/v1/llm-log/{id}',
  summary: 'Delete a logged exchange before its time',
  description: 'Also of a paused agent; of a dead one by its owner. Deletes an exchange for good.',
  permission: 'llm-log:write',
  audit: { action: 'delete', ...exchange },
  deletes: { counts: 'exchangesDeleted' },
  limit: 'write',
  status: 204,
  params: ofOne,
  output: z.undefined(),
  refusals: ['not_found', 'held'],
})

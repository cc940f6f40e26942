import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { findingActions, sensitiveKinds } from './findings.ts'

/** Maximum UTF-16 units of one text, which limits the cost of a request for others. */
const mostUnits = 100_000

const Finding = z
  .strictObject({
    kind: z.enum(sensitiveKinds),
    start: z.int().meta({ description: 'In UTF-16 units, as JavaScript counts' }),
    end: z.int().meta({ description: 'Behind the last unit' }),
    score: z.number().meta({ description: '1: proven by a checksum or a marker; below, how sure it is' }),
    action: z
      .enum(findingActions)
      .meta({ description: '`block`: never store the text; `redact`: not with this in it' }),
    confidence: z.literal('low').optional().meta({
      description:
        'Present for placeholders and what many have: reserved domains, private, documentation and public resolver addresses, tokens with a wrong checksum',
    }),
  })
  .meta({ id: 'PiiFinding' })

export const scanText = operation({
  id: 'scanText',
  method: 'post',
  path: '/v1/pii/scan',
  summary: 'Find secrets and personal data in a text; nothing is stored',
  description:
    'Private keys and seed phrases (`block`); API keys, web tokens, headers and addresses with a password, addresses of chains, e-mail addresses, telephone numbers, IBANs, cards, social security numbers and IP addresses (`redact`), each by its checksum or its form; with `strategy`, sizes of positions and prices. Names and postal addresses are found where a Presidio analyzer is connected; where it does not answer, `degraded` names it and the rest is told. Findings are places, in their order and without overlaps.',
  permission: 'pii:read',
  audit: { none: 'nothing is stored and nothing of anybody’s is read' },
  limit: 'write',
  status: 200,
  body: z.strictObject({
    text: z.string().max(mostUnits, `takes ${mostUnits.toLocaleString('en')} characters at most`),
    strategy: z.boolean().default(false),
    language: z
      .string()
      .regex(/^[a-z]{2}$/, 'takes two letters, such as en')
      .default('en')
      .meta({ description: 'Of the text, for the analyzer of names' }),
  }),
  bodyLimit: 1024 * 1024,
  output: z.strictObject({
    data: z.strictObject({
      findings: z.array(Finding),
      degraded: z.array(z.literal('presidio')).optional().meta({ description: 'What was not asked successfully' }),
    }),
  }),
})

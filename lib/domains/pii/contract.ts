import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { findingActions, sensitiveKinds } from './findings.ts'

/** Maximum UTF-16 units of one text, which limits the cost of a request for others. */
const maxUnits = 100_000

const Finding = z
  .strictObject({
    kind: z.enum(sensitiveKinds),
    start: z.int().meta({ description: 'In UTF-16 units, as JavaScript counts' }),
    end: z.int().meta({ description: 'Position after the last unit' }),
    score: z.number().meta({ description: '1: proven by a checksum or a marker; less than 1: the confidence' }),
    action: z
      .enum(findingActions)
      .meta({ description: '`block`: never store the text; `redact`: do not store the text with this in it' }),
    confidence: z.literal('low').optional().meta({
      description:
        'Present for placeholders and widely shared values: reserved domains; private, documentation and public resolver addresses; tokens with a wrong checksum',
    }),
  })
  .meta({ id: 'PiiFinding' })

export const scanText = operation({
  id: 'scanText',
  method: 'post',
  path: '/v1/pii/scan',
  summary: 'Detect secrets and personal data in a text; nothing is stored',
  description:
    'Detects private keys and seed phrases (`block`). Detects API keys, web tokens, headers and URLs with a password, blockchain addresses, email addresses, telephone numbers, IBANs, card numbers, social security numbers and IP addresses (`redact`), each by its checksum or its form. With `strategy`, also position sizes and prices. Names and postal addresses are detected if a Presidio analyzer is connected. If it does not answer, `degraded` names it. Findings are ordered by position and do not overlap.',
  permission: 'pii:read',
  audit: { none: 'nothing is stored, and no stored data is read' },
  body: z.strictObject({
    text: z.string().max(maxUnits, `must have at most ${maxUnits.toLocaleString('en')} characters`),
    strategy: z.boolean().default(false),
    language: z
      .string()
      .regex(/^[a-z]{2}$/, 'must be a two-letter language code, such as en')
      .default('en')
      .meta({ description: 'Language of the text, for the name analyzer' }),
  }),
  bodyLimit: 1024 * 1024,
  output: z.strictObject({
    data: z.strictObject({
      findings: z.array(Finding),
      degraded: z.array(z.literal('presidio')).optional().meta({ description: 'Detectors that did not answer' }),
    }),
  }),
})

import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { StoredUnit } from '../contract.ts'
import { visibilities } from '../unit.ts'

const unitTypes = ['ReasoningTrace', 'ToolCallPattern', 'ExpertSOP'] as const
const isUnitType = (text: string): text is (typeof unitTypes)[number] => unitTypes.some((type) => type === text)

/** Search matches; shared by all searchable lists. */
const Snippet = z
  .strictObject({
    text: z.string(),
    highlights: z
      .array(z.strictObject({ start: z.int(), end: z.int() }))
      .meta({ description: 'Where the words are: UTF-16 offsets into the text' }),
  })
  .meta({ id: 'Snippet' })
export const searchResultFields = {
  score: z.number().optional().meta({ description: 'How well it fits, with `q`; compares within one answer only' }),
  snippet: Snippet.optional().meta({ description: 'With `q`' }),
}
export const Corrected = z
  .array(z.strictObject({ from: z.string(), to: z.string() }))
  .optional()
  .meta({ description: 'Words that nothing has, and what was looked for in their place' })

/** Query parameters of all searchable lists. */
export const searching = {
  q: z
    .string()
    .min(1)
    .max(1_000, 'takes 1,000 characters at most')
    .optional()
    .meta({ description: 'Words; the first 24 count. "In quotes": better where they are neighbours.' }),
  agent_id: z.string().max(300).optional(),
  mine: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Of your own agents alone: those that you own, or the one that asks' }),
  visibility: z.enum(visibilities).optional(),
  limit: PageLimit,
  offset: z.coerce
    .number()
    .int()
    .min(0, 'takes 0 at least')
    .max(10_000, 'takes 10,000 at most; use the cursor')
    .default(0),
  cursor: Cursor.optional(),
}

/** Query parameters that filter by columns of every table. */
export const narrowing = {
  min_quality: z.coerce.number().min(0, 'takes 0 to 1').max(1, 'takes 0 to 1').optional(),
  from: Timestamp.optional().meta({ description: 'Stored at this time or later' }),
  to: Timestamp.optional().meta({ description: 'Stored at this time or earlier' }),
}

export const listUnits = operation({
  id: 'listUnits',
  method: 'get',
  path: '/v1/knowledge',
  summary: 'Search units, or list them, newest first',
  description:
    'With `q` ranked by words, place of the words and quality: units that have all words, else those that have most; a typing error is corrected to a word that you may see. Ranked results end after 300. Without `q` the newest first. Only what you may see. `total` stops counting at 1,001. A page whose units are large ends early; `next_cursor` goes on.',
  permission: 'knowledge:read',
  audit: { action: 'read', resourceType: 'knowledge' },
  limit: 'read',
  status: 200,
  query: z.strictObject({
    ...searching,
    types: z
      .string()
      .max(200)
      .transform((text) => text.split(',').map((type) => type.trim()))
      .refine((types) => types.every(isUnitType), `takes ${unitTypes.join(', ')}, separated by commas`)
      .optional(),
    domain: z.string().min(1).max(300).optional(),
    ...narrowing,
  }),
  contributed: true,
  output: page(StoredUnit.extend({ agent_id: z.string(), ...searchResultFields })).extend({ corrected: Corrected }),
})

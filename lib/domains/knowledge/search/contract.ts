import { z } from 'zod'
import { visibilities } from '#lib/domains/knowledge/contract.ts'
import { operation, sharedFields } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page, Timestamp } from '#lib/kernel/pages.ts'
import { StoredUnit } from '../contract.ts'

const unitTypes = ['ReasoningTrace', 'ToolCallPattern', 'ExpertSOP'] as const
const isUnitType = (text: string): text is (typeof unitTypes)[number] => unitTypes.some((type) => type === text)

/** Search matches; shared by all searchable lists. */
const Snippet = z
  .strictObject({
    text: z.string(),
    highlights: z
      .array(z.strictObject({ start: z.int(), end: z.int() }))
      .meta({ description: 'Positions of the matched words: UTF-16 offsets into the text' }),
  })
  .meta({ id: 'Snippet' })
export const searchResultFields = sharedFields('SearchResult', {
  score: z.number().optional().meta({ description: 'Relevance, with `q`. Comparable only within one response' }),
  snippet: Snippet.optional().meta({ description: 'Only with `q`' }),
})
export const Corrected = z
  .array(z.strictObject({ from: z.string(), to: z.string() }))
  .meta({ id: 'CorrectedWords', description: 'Words without a match, and the words searched instead' })
  .optional()

/** Query parameters of all searchable lists. */
export const searching = {
  q: z
    .string()
    .min(1)
    .max(1_000, 'must have at most 1,000 characters')
    .optional()
    .meta({ description: 'Words; the first 24 count. Words in "quotes" rank higher if they are adjacent.' }),
  agent_id: z.string().max(300).optional(),
  mine: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Only units of your own agents: those that you own, or the agent that sends the request' }),
  visibility: z.enum(visibilities).optional(),
  limit: PageLimit,
  offset: z.coerce
    .number()
    .int()
    .min(0, 'must be at least 0')
    .max(10_000, 'must be at most 10,000. Use the cursor for later pages')
    .default(0),
  cursor: Cursor.optional(),
}

/** Query parameters that filter by columns of every table. */
export const narrowing = {
  min_quality: z.coerce.number().min(0, 'must be from 0 to 1').max(1, 'must be from 0 to 1').optional(),
  from: Timestamp.optional().meta({ description: 'Stored at this time or later' }),
  to: Timestamp.optional().meta({ description: 'Stored at this time or earlier' }),
}

export const listUnits = operation({
  id: 'listUnits',
  method: 'get',
  path: '/v1/knowledge',
  summary: 'Search units, or list them newest first',
  description:
    'With `q`, results are ranked by words, their position, and quality: units with all words, otherwise those with most of them. Typing errors are corrected to words that you may see. Ranked results end after 300. Without `q`, the newest come first. Returns only units that you may see. `total` stops counting at 1,001. A page of large units ends early; `next_cursor` continues.',
  permission: 'knowledge:read',
  audit: { resourceType: 'knowledge' },
  query: z.strictObject({
    ...searching,
    types: z
      .string()
      .max(200)
      .transform((text) => text.split(',').map((type) => type.trim()))
      .refine((types) => types.every(isUnitType), `must be one or more of ${unitTypes.join(', ')}, separated by commas`)
      .optional(),
    domain: z.string().min(1).max(300).optional(),
    ...narrowing,
  }),
  contributed: true,
  output: page(StoredUnit.extend({ agent_id: z.string(), ...searchResultFields })).extend({ corrected: Corrected }),
})

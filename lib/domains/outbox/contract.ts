import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'

const when = z.iso.datetime()
const LetterId = z.string().regex(/^[\w.-]{30,100}$/, 'is not the id of a letter')
const count = z.number().int()

export const EmailView = z
  .strictObject({
    id: z.string(),
    to: z.string(),
    subject: z.string(),
    written_at: when,
    expires_at: when.meta({ description: 'When it goes' }),
    bytes: count,
  })
  .meta({ id: 'OutboxLetter' })
export type EmailView = z.output<typeof EmailView>

const Job = z.strictObject({
  id: z.string(),
  name: z.string(),
  state: z.enum(['waiting', 'retrying', 'failed']),
  attempts: count,
  most_attempts: count,
  at: when.meta({ description: 'When it is tried next; of one that failed for good, when it was tried last' }),
})
const letter = { resourceType: 'letter' }

export const listLetters = operation({
  id: 'listOutboxLetters',
  method: 'get',
  path: '/api/admin/outbox',
  summary: 'Letters that lie in the mail folder, newest first, and those still to be sent',
  description: [
    'Without a mail server letters are files, for 7 days. With one the list is empty, or has what was written before it was set. `queue` counts jobs that write letters and are not done:',
    'waiting, tried in vain so far, failed for good; ids and counts, never whom they are for.',
  ].join(' '),
  permission: 'outbox:admin',
  audit: { action: 'read', ...letter },
  limit: 'read',
  status: 200,
  query: z.strictObject({ cursor: Cursor.optional(), limit: PageLimit }),
  output: page(EmailView).extend({
    delivery: z.enum(['folder', 'server']).meta({ description: 'Where letters go now' }),
    queue: z.strictObject({ waiting: count, retrying: count, failed: count, jobs: z.array(Job) }),
  }),
})

export const readLetter = operation({
  id: 'readOutboxLetter',
  method: 'get',
  path: '/api/admin/outbox/{id}',
  summary: 'What a letter says',
  description:
    'Links stand as ‹1›, ‹2› …: who has one may do what it says. `links=show` gives them to an admin’s own session, not to a token, and the audit entry says that it did, whom the letter is about and what its links are for.',
  permission: 'outbox:admin',
  audit: { action: 'read', ...letter },
  limit: 'read',
  status: 200,
  params: z.strictObject({ id: LetterId }),
  query: z.strictObject({ links: z.enum(['hide', 'show']).default('hide') }),
  output: z.strictObject({
    data: z.strictObject({
      ...EmailView.shape,
      text: z.string().nullable().meta({ description: 'Null where the file has no text that could be read' }),
      is_cut: z.boolean().meta({ description: 'Only its beginning was read: it is larger than any letter of ours' }),
      link_count: count,
      links: z
        .array(z.string())
        .nullable()
        .meta({ description: 'In the order of their numbers; null unless asked for' }),
    }),
  }),
  refusals: ['not_found'],
})

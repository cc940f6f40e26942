import { z } from 'zod'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit, page } from '#lib/kernel/pages.ts'

const EmailFileName = z.string().regex(/^[\w.-]{30,100}$/, 'is not the id of an email')
const count = z.number().int()

export const EmailView = z
  .strictObject({
    id: z.string(),
    to: z.string(),
    subject: z.string(),
    written_at: time(),
    expires_at: time({ description: 'When the file is deleted' }),
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
  at: time({ description: 'Time of the next attempt, or of the last attempt for a permanently failed email' }),
})
const emailResource = { resourceType: 'letter' }

export const listOutboxEmails = operation({
  id: 'listOutboxLetters',
  method: 'get',
  path: '/api/admin/outbox',
  summary: 'List the emails in the email folder, newest first, and emails that are not sent yet',
  description: [
    'Without a mail server, emails are stored as files for 7 days. With one, the list is empty or contains emails written before it was configured. `queue` counts unfinished email jobs:',
    'waiting, failed so far, and permanently failed. Ids and counts, never recipients.',
  ].join(' '),
  permission: 'outbox:admin',
  audit: emailResource,
  query: z.strictObject({
    q: z
      .string()
      .trim()
      .min(1)
      .max(200)
      .optional()
      .meta({ description: 'Part of the recipient or the subject, case-insensitive' }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: page(EmailView).extend({
    delivery: z.enum(['folder', 'server']).meta({ description: 'Where emails are delivered now' }),
    queue: z.strictObject({ waiting: count, retrying: count, failed: count, jobs: z.array(Job) }),
  }),
})

export const sendTest = operation({
  id: 'sendTestEmail',
  method: 'post',
  path: '/api/admin/outbox/test',
  summary: 'Send a test email to my own address',
  description: 'Waits until the mail server has accepted or refused it. It is not tried again.',
  permission: 'outbox:admin',
  audit: emailResource,
  status: 200,
  output: z.strictObject({
    data: z.strictObject({
      result: z.enum(['sent', 'folder', 'failed']),
      to: z.string(),
      reason: z.string().nullable().meta({ description: 'The codes of a failure, for example ECONNREFUSED' }),
    }),
  }),
  refusals: ['forbidden', 'rate_limited'],
})

export const readOutboxEmail = operation({
  id: 'readOutboxLetter',
  method: 'get',
  path: '/api/admin/outbox/{id}',
  summary: 'Read an email in the folder',
  description:
    'Links are replaced by ‹1›, ‹2› …. `links=show` reveals them in an admin’s own session, not for a token: in emails to the admin’s own verified address, in invitations that nobody has accepted, and in answers to people without an account. Links that confirm a new address are never shown. The audit entry records this, with the recipient and the purposes of the links.',
  permission: 'outbox:admin',
  audit: emailResource,
  params: z.strictObject({ id: EmailFileName }),
  query: z.strictObject({ links: z.enum(['hide', 'show']).default('hide') }),
  output: z.strictObject({
    data: z.strictObject({
      ...EmailView.shape,
      text: z.string().nullable().meta({ description: 'Null if the file contains no readable text' }),
      is_cut: z.boolean().meta({
        description: 'True if only the beginning was read',
      }),
      link_count: count,
      links: z
        .array(z.string())
        .nullable()
        .meta({ description: 'In the order of their numbers; null unless requested' }),
    }),
  }),
  refusals: ['not_found'],
})

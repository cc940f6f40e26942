import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { emailDeliveries, emailKinds } from './rules.ts'

const Kind = z.enum(emailKinds)
const Delivery = z.enum(emailDeliveries)

export const EmailChoiceView = z
  .strictObject({
    kind: Kind.meta({
      description:
        'requests: privacy requests that are nearly due, overdue or failed; outages: stores that do not respond or reject erasures; controls: compliance checks that fail; safety: content that waits for a review; approvals: actions that wait for the approval of a second admin, and decisions about my own; storage: the storage quota is nearly used',
    }),
    delivery: Delivery,
    choices: z.array(Delivery),
    is_only_receiver: z.boolean().meta({
      description: 'True if nobody else gets these emails and somebody must. They cannot be turned off then',
    }),
  })
  .meta({ id: 'EmailChoice' })
export type EmailChoiceView = z.output<typeof EmailChoiceView>

const own = { permission: 'accounts:person' } as const

export const listEmailChoices = operation({
  ...own,
  id: 'listEmailChoices',
  method: 'get',
  path: '/api/account/emails',
  summary: 'List the emails that I can turn off',
  description:
    'Other emails are always sent: about the security of the account and its tokens, privacy requests and their outcomes, and projects that are closed.',
  audit: { none: 'people read their own preferences' },
  output: z.strictObject({ data: z.array(EmailChoiceView) }),
})

export const chooseEmail = operation({
  ...own,
  id: 'chooseEmail',
  method: 'put',
  path: '/api/account/emails/{kind}',
  summary: 'Choose when I get emails of a kind',
  audit: { resourceType: 'account' },
  params: z.strictObject({ kind: Kind }),
  body: z.strictObject({ delivery: Delivery }),
  output: z.strictObject({ data: EmailChoiceView }),
  refusals: ['not_found', 'conflict'],
})

const path = '/api/emails/unsubscribe'
const query = z.strictObject({ token: z.string().min(1).max(500) })
const Unsubscription = z
  .strictObject({
    kinds: z.array(Kind).meta({ description: 'The kinds of the email that contained the link' }),
    is_off: z.boolean().meta({ description: 'True if all of them are turned off' }),
  })
  .meta({ id: 'Unsubscription' })

export const readUnsubscription = operation({
  id: 'readUnsubscription',
  method: 'get',
  path,
  summary: 'Get what the link in an email turns off',
  permission: 'public',
  audit: { none: 'it reveals only the kind of an email that the caller has' },
  limit: 'exempt',
  perAddress: 60,
  query,
  output: z.strictObject({ data: Unsubscription }),
  refusals: ['not_found'],
})

export const unsubscribe = operation({
  id: 'unsubscribe',
  method: 'post',
  path,
  summary: 'Turn off emails with the link in one of them',
  description:
    'For mail programs (RFC 8058, one-click unsubscription): needs no session, and ignores the body. Repeating it has no further effect.',
  permission: 'public',
  audit: { action: 'update', resourceType: 'account' },
  limit: 'exempt',
  perAddress: 60,
  query,
  output: z.strictObject({ data: Unsubscription }),
  refusals: ['not_found', 'conflict'],
})

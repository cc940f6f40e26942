import { z } from 'zod'
import { AuditAct } from '#lib/domains/audit/contract.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { erasedKinds } from '#lib/kernel/receipt.ts'
import {
  expiringWithin,
  noticeKinds,
  readerKinds,
  searchHitKinds,
  setupSteps,
  shownAgents,
  shownChanges,
  shownReceipts,
  trendWeeks,
  workKinds,
  workStates,
} from './rules.ts'

const whenever = time().nullable()
const count = z.number().int()

const OpenRequest = z
  .strictObject({
    id: z.string(),
    kinds: z.array(z.string()),
    state: z.string(),
    agent_id: z
      .string()
      .nullable()
      .meta({ description: 'The agent concerned; null: your account with all your agents' }),
    received_at: time(),
    waiting_until: whenever.meta({ description: 'When the grace period of an erasure ends' }),
    due_at: whenever.meta({
      description: 'Our own deadline; null until identity is confirmed, or for an erasure until its grace period ends',
    }),
    legal_due_at: time({ description: 'The legal deadline (GDPR art. 12(3))' }),
    due: z.string().meta({ description: 'ok, near, overdue, paused or stopped' }),
    seconds_left: count.nullable(),
    can_cancel: z.boolean(),
  })
  .meta({ id: 'OverviewRequest' })

const NewReceipt = z
  .strictObject({
    receipt_id: z.string(),
    deleted_id: z.string(),
    kind: z.enum(erasedKinds),
    deleted_at: time(),
    signed_at: whenever.meta({ description: 'Null if the erasure is not verified yet: no receipt can be read' }),
  })
  .meta({ id: 'OverviewReceipt' })

export const readOverview = operation({
  id: 'readOverview',
  method: 'get',
  path: '/api/overview',
  summary: 'Get a summary of my data, open requests and upcoming expirations',
  description:
    'Covers the person and the agents that they own. Each number has a list that shows the records behind it.',
  permission: 'console:person',
  audit: {
    none: 'people read counts of their own data whenever they open the console; the lists behind them are audited',
  },
  output: z.strictObject({
    data: z.strictObject({
      as_of: time(),
      held: z.strictObject({
        records: count.meta({ description: 'The same as `total` of GET /api/privacy/inventory' }),
        stores: count.meta({ description: 'Number of stores that contain your data' }),
        since: whenever,
      }),
      agents: z.strictObject({
        total: count,
        restricted: count.meta({ description: 'Of these, agents whose processing is restricted (GDPR art. 18)' }),
        suspended: count.meta({ description: 'Of these, agents whose erasure is scheduled' }),
      }),
      tokens: z.strictObject({
        active: count,
        expiring: count.meta({ description: `Of these, tokens that expire within ${expiringWithin.tokens} days` }),
        next_expiry: whenever,
        last_used_at: whenever,
      }),
      requests: z.strictObject({ open: count, shown: z.array(OpenRequest).max(5) }),
      expiring: z.strictObject({
        days: count.meta({ description: 'Number of days covered by this forecast' }),
        total: count.meta({
          description: 'Units and skills that retention deletes within this period; excludes those under a legal hold',
        }),
        by_visibility: z.array(
          z.strictObject({
            visibility: z.enum(['network', 'org', 'private']),
            count,
            first_at: time({ description: 'When the first of them is deleted' }),
          }),
        ),
        exports: z.array(
          z.strictObject({ id: z.string(), expires_at: time(), records: count, is_downloaded: z.boolean() }),
        ),
      }),
      closing: z
        .array(z.strictObject({ project_id: z.string(), name: z.string(), closes_at: time() }))
        .max(5)
        .meta({
          description: 'Closed projects of yours whose data is deleted when their grace period ends, earliest first',
        }),
      addresses: z
        .array(z.strictObject({ project_id: z.string(), name: z.string(), count }))
        .max(5)
        .meta({ description: 'Projects with addresses to confirm' }),
      receipts: z.array(NewReceipt).max(5),
      sign_ins: z.array(z.strictObject({ at: time(), browser: z.string(), is_current: z.boolean() })).max(3),
    }),
  }),
})

export const WorkItem = z
  .strictObject({
    kind: z.enum(workKinds),
    id: z.string().meta({ description: 'Id of the export, the erasure run or the retention sweep' }),
    request_id: z
      .string()
      .nullable()
      .meta({ description: 'The privacy request that it answers; null if you cannot see that request' }),
    project_id: z.string().nullable().meta({
      description:
        'For an erasure of part of a project that the reader requested. Its page is /projects/{project_id}/erasures/{id}',
    }),
    is_own: z.boolean().meta({
      description: 'True: about the reader or requested by them. False: visible to the reader as an admin or auditor',
    }),
    state: z.enum(workStates).meta({ description: 'stuck: an admin must act' }),
    done: count,
    total: count.meta({
      description: 'Parts of an export, or steps of an erasure; 0 if the total is not known yet',
    }),
    started_at: time(),
  })
  .meta({ id: 'WorkItem' })
export type WorkItem = z.output<typeof WorkItem>

export const readWork = operation({
  id: 'readWork',
  method: 'get',
  path: '/api/work',
  summary: 'List running exports, erasures and sweeps',
  description:
    'Includes exports in preparation for the reader, running erasures of the reader, and erasures of messages, conversations and documents that they requested. Readers who can see all erasures also get those, and a retention sweep. The reader’s own come first, then the newest. At most 20.',
  permission: 'console:person',
  audit: { none: 'the console polls this every few seconds; each activity is audited where it starts' },
  output: z.strictObject({
    data: z.strictObject({ as_of: time(), total: count, stuck: count, items: z.array(WorkItem).max(20) }),
  }),
})

export const readWaiting = operation({
  id: 'readWaiting',
  method: 'get',
  path: '/api/admin/waiting',
  summary: 'Get the number of items that wait for an admin',
  description: 'Counts for the badges of the admin pages; null if the reader cannot open the page.',
  permission: 'console:audit',
  audit: { none: 'only counts, polled repeatedly; the lists behind them are audited' },
  output: z.strictObject({
    data: z.strictObject({
      as_of: time(),
      requests: z
        .strictObject({
          open: count,
          near: count,
          week: count,
          overdue: count,
          unconfirmed: count.meta({ description: 'Requests from the form whose link an admin has to forward' }),
        })
        .nullable(),
      erasures: z
        .strictObject({ running: count, stuck: count, failed: count })
        .meta({ description: 'Running erasures; stuck: at least one step has stopped retrying' })
        .nullable(),
      quarantined: count.nullable().meta({ description: 'Units and skills that wait for review' }),
      holds: z
        .strictObject({ ending: count.meta({ description: `Holds that end within ${expiringWithin.holds} days` }) })
        .nullable(),
      outbox: z
        .strictObject({
          undelivered: count.meta({ description: 'Emails whose first delivery attempt failed' }),
          files: count.nullable().meta({ description: 'Emails in the folder; null if a mail server delivers them' }),
        })
        .nullable(),
      notices: z
        .strictObject({ unread: count })
        .nullable()
        .meta({ description: 'Notifications that the reader has not read' }),
      approvals: z
        .strictObject({ waiting: count.meta({ description: 'Actions of other admins that you can approve' }) })
        .nullable(),
      revocations: z
        .strictObject({
          recent: count.meta({
            description: `Tokens revoked by rate limits within ${expiringWithin.revocations} days`,
          }),
        })
        .nullable(),
    }),
  }),
})

const Notice = z
  .strictObject({
    id: z.string().meta({ description: 'Its kind and the id of what it is about; new when the kind changes' }),
    kind: z.enum(noticeKinds),
    resource_id: z.string(),
    name: z.string().nullable().meta({ description: 'Of the person, agent or project, or null' }),
    at: time(),
    due_at: whenever,
    is_read: z.boolean(),
  })
  .meta({ id: 'Notice' })

export const readNotices = operation({
  id: 'listNotifications',
  method: 'get',
  path: '/api/notifications',
  summary: 'List what the reader should look at, the most urgent first',
  permission: 'console:audit',
  audit: { none: 'names and ids of lists that are audited when they are opened; polled repeatedly' },
  output: z.strictObject({ data: z.array(Notice), unread: count }),
})

export const markNotices = operation({
  id: 'readNotifications',
  method: 'put',
  path: '/api/notifications/read',
  summary: 'Mark notifications as read',
  permission: 'console:audit',
  audit: { none: 'only which notifications the reader has read' },
  body: z.strictObject({ ids: z.array(z.string().max(100)).max(400) }),
  output: z.undefined(),
})

export const SearchHit = z
  .strictObject({
    kind: z.enum(searchHitKinds),
    id: z.string(),
    title: z.string().meta({ description: 'A name, an objective or an id' }),
    detail: z
      .string()
      .nullable()
      .meta({ description: 'An email address, an agent id or the erased id; null if there is nothing to add' }),
    request_kinds: z.array(z.string()).meta({ description: 'What a privacy request asks for; empty for other kinds' }),
    is_own: z.boolean().meta({ description: 'Belongs to the reader. False: visible to the reader by their role' }),
  })
  .meta({ id: 'SearchHit' })
export type SearchHit = z.output<typeof SearchHit>

export const searchConsole = operation({
  id: 'searchConsole',
  method: 'get',
  path: '/api/search',
  summary: 'Search people, agents, requests, receipts, knowledge and projects',
  description:
    'For the command palette: a few results of each kind, by name, words or id. Contains only what the reader may open. Names and emails of people are found by admins, and by managers within their organization.',
  permission: 'console:person',
  audit: { resourceType: 'console_search' },
  query: z.strictObject({
    q: z.string().trim().min(1, 'must not be empty').max(200, 'must have at most 200 characters'),
  }),
  contributed: true,
  output: z.strictObject({ data: z.array(SearchHit) }),
})

export const readDashboard = operation({
  id: 'readDashboard',
  method: 'get',
  path: '/api/admin/dashboard',
  summary: 'Get the setup status, the trend of requests, recent activity and changes since the last visit',
  description:
    'For the overview of admins and auditors. `trend` and `since` are null for readers who may not see all privacy requests. The live checks are at /api/admin/compliance and /api/stores.',
  permission: 'console:audit',
  audit: { resourceType: 'dashboard' },
  output: z.strictObject({
    data: z.strictObject({
      as_of: time(),
      setup: z
        .array(z.strictObject({ step: z.enum(setupSteps), is_done: z.boolean() }))
        .meta({ description: 'Settings of a complete installation, from its present state' }),
      trend: z
        .array(
          z.strictObject({
            from: time({ description: 'Start of the week' }),
            received: count,
            closed: count,
            answered: count.meta({ description: 'Closed and not cancelled' }),
            on_time: count.meta({ description: 'Answered within the legal deadline' }),
            median_days: z.number().nullable().meta({ description: 'Of the requests that staff worked on' }),
            deletions: count,
          }),
        )
        .nullable()
        .meta({ description: `Privacy requests in each of the last ${trendWeeks} weeks, oldest first` }),
      since: z
        .strictObject({
          at: time({ description: 'The reader’s sign-in before the current one' }),
          received: count.meta({ description: 'Privacy requests received since then' }),
          closed: count.meta({ description: 'Privacy requests closed since then' }),
          receipts: count.meta({ description: 'Deletion receipts signed since then' }),
        })
        .nullable(),
      activity: z
        .array(
          z.strictObject({
            id: z.string(),
            at: time(),
            action: z.string().meta({ description: 'As in the audit log, or `revoke` for a revoked token' }),
            actor_id: z.string(),
            actor_name: z.string().nullable().meta({ description: 'Null if the account is deleted' }),
            resource_type: z.string(),
            resource_id: z.string(),
            resource_name: z.string().nullable().meta({
              description:
                'The name of an account, an agent or the subject of a request, or the name and prefix of a token; null for other types and after deletion',
            }),
            act: AuditAct,
          }),
        )
        .max(8)
        .meta({ description: 'Recent changes and exports by people, newest first' }),
    }),
  }),
})

const Reader = z
  .strictObject({
    who: z.enum(readerKinds).meta({ description: '`member`: another person; `system`: a job or the operator' }),
    action: z.enum(['read', 'export']),
    resource_type: z.string(),
    count: count.meta({ description: 'How often' }),
    last_at: time(),
  })
  .meta({ id: 'DataReader' })

export const listReaders = operation({
  id: 'listReaders',
  method: 'get',
  path: '/api/privacy/readers',
  summary: 'List who read my data',
  description:
    'Other people, agents and jobs that opened or exported the account, its agents, its requests or one of its units and skills, by role, within 90 days. Searches and lists are not included: the audit log does not record what they showed.',
  permission: 'console:person',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'audit' },
  output: z.strictObject({
    data: z.array(Reader).max(50),
    records: count.meta({ description: 'Number of units and skills that were considered: the newest' }),
    is_complete: z.boolean().meta({ description: 'False if there are older units or skills' }),
  }),
})

export const readPerson = operation({
  id: 'readPerson',
  method: 'get',
  path: '/api/admin/users/{id}/data',
  summary: 'Get what is stored about a person: counts, agents, holds, receipts, readers and changes',
  description: 'Contains no content. The last reads and changes are those within 90 days.',
  permission: 'console:admin',
  audit: { resourceType: 'account' },
  params: z.strictObject({ id: z.string().regex(/^usr_[0-9A-Za-z]{22}$/, 'is not the id of an account') }),
  output: z.strictObject({
    data: z.strictObject({
      as_of: time(),
      held: z.array(z.strictObject({ holder: z.string(), store: z.string(), count })),
      agents: z.array(z.strictObject({ id: z.string(), name: z.string().nullable() })).max(shownAgents),
      agents_total: count,
      holds: z.array(z.string()).meta({ description: 'Legal holds in force on the person or an agent' }),
      receipts: z.array(NewReceipt).max(shownReceipts),
      readers: z.array(Reader.extend({ actor_id: z.string(), actor_name: z.string().nullable() })).max(50),
      changes: z.array(AuditAct).max(shownChanges),
    }),
  }),
  refusals: ['not_found'],
})

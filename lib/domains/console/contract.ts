import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { erasedKinds } from '#lib/kernel/receipt.ts'
import { expiringWithin, workKinds, workStates } from './rules.ts'

const when = z.iso.datetime()
const whenever = when.nullable()
const count = z.number().int()

const OpenRequest = z
  .strictObject({
    id: z.string(),
    kinds: z.array(z.string()),
    state: z.string(),
    agent_id: z.string().nullable().meta({ description: 'The one agent that it is about; null: you with everything' }),
    received_at: when,
    waiting_until: whenever.meta({ description: 'The end of the grace of an erasure' }),
    due_at: whenever.meta({ description: 'Ours; null until identity is settled, or the grace is over' }),
    legal_due_at: when.meta({ description: 'The law’s (GDPR art. 12(3))' }),
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
    deleted_at: when,
    signed_at: whenever.meta({ description: 'Null: the erasure is not verified yet, and there is no receipt to read' }),
  })
  .meta({ id: 'OverviewReceipt' })

export const readOverview = operation({
  id: 'readOverview',
  method: 'get',
  path: '/api/overview',
  summary: 'What is held on me, what is open, and what expires soon',
  description: 'Of the person and the agents that they own, at a glance; each number is proved by a list of its own.',
  permission: 'console:person',
  audit: {
    none: 'people look at counts of their own, whenever they open the console; the lists behind them are audited',
  },
  limit: 'read',
  status: 200,
  output: z.strictObject({
    data: z.strictObject({
      as_of: when,
      held: z.strictObject({
        records: count.meta({ description: 'The `total` of GET /api/privacy/inventory' }),
        stores: count.meta({ description: 'Stores that have some of it' }),
        since: whenever,
      }),
      agents: z.strictObject({
        total: count,
        restricted: count.meta({ description: 'Of them: processing is restricted (GDPR art. 18)' }),
        suspended: count.meta({ description: 'Of them: an erasure waits' }),
      }),
      tokens: z.strictObject({
        active: count,
        expiring: count.meta({ description: `Of them: those that end within ${expiringWithin.tokens} days` }),
        next_expiry: whenever,
        last_used_at: whenever,
      }),
      requests: z.strictObject({ open: count, shown: z.array(OpenRequest).max(5) }),
      expiring: z.strictObject({
        days: count.meta({ description: 'How far ahead it looks' }),
        total: count.meta({
          description: 'Units and skills that go by themselves within these days; none that a legal hold keeps',
        }),
        by_visibility: z.array(
          z.strictObject({
            visibility: z.enum(['network', 'org', 'private']),
            count,
            first_at: when.meta({ description: 'When the first of them goes' }),
          }),
        ),
        exports: z.array(
          z.strictObject({ id: z.string(), expires_at: when, records: count, is_downloaded: z.boolean() }),
        ),
      }),
      closing: z
        .array(z.strictObject({ project_id: z.string(), name: z.string(), closes_at: when }))
        .max(5)
        .meta({ description: 'Projects of yours whose data goes when their window ends; the next to go first' }),
      receipts: z.array(NewReceipt).max(5),
      sign_ins: z.array(z.strictObject({ at: when, browser: z.string(), is_current: z.boolean() })).max(3),
    }),
  }),
})

export const WorkItem = z
  .strictObject({
    kind: z.enum(workKinds),
    id: z.string().meta({ description: 'Of the export, the erasure’s run, or the sweep' }),
    request_id: z
      .string()
      .nullable()
      .meta({ description: 'The privacy request that it answers; null where it is not yours to see' }),
    project_id: z.string().nullable().meta({
      description:
        'Of an erasure of a part of a project that the reader asked for; its page is /projects/{project_id}/erasures/{id}',
    }),
    is_own: z
      .boolean()
      .meta({ description: 'About the reader, or asked for by them; false: seen as an admin or auditor' }),
    state: z.enum(workStates).meta({ description: 'stuck: it waits for an admin' }),
    done: count,
    total: count.meta({
      description: 'Parts of an export, steps of an erasure; 0 where it is not known how much there is',
    }),
    started_at: when,
  })
  .meta({ id: 'WorkItem' })
export type WorkItem = z.output<typeof WorkItem>

export const readWork = operation({
  id: 'readWork',
  method: 'get',
  path: '/api/work',
  summary: 'What runs now',
  description:
    'Exports that are being prepared for the reader, erasures of theirs that are under way, and those of messages, conversations and documents that they asked for; for those who may see all erasures, those too, and a retention sweep. The reader’s own first, then the newest; 20 at most.',
  permission: 'console:person',
  audit: { none: 'the console asks every few seconds whether something runs; what runs is audited where it was begun' },
  limit: 'read',
  status: 200,
  output: z.strictObject({
    data: z.strictObject({ as_of: when, total: count, stuck: count, items: z.array(WorkItem).max(20) }),
  }),
})

export const readWaiting = operation({
  id: 'readWaiting',
  method: 'get',
  path: '/api/admin/waiting',
  summary: 'How much waits for an admin',
  description: 'Counts beside the pages of the administration; null where the page is not the reader’s to see.',
  permission: 'console:audit',
  audit: { none: 'counts alone, asked again and again; the lists behind them are audited' },
  limit: 'read',
  status: 200,
  output: z.strictObject({
    data: z.strictObject({
      as_of: when,
      requests: z.strictObject({ open: count, near: count, overdue: count }).nullable(),
      erasures: z
        .strictObject({ running: count, stuck: count, failed: count })
        .meta({ description: 'Runs; stuck: one of its steps at least gave up' })
        .nullable(),
      quarantined: count.nullable().meta({ description: 'Units and skills that wait for review' }),
      holds: z.strictObject({ ending: count.meta({ description: `Within ${expiringWithin.holds} days` }) }).nullable(),
      outbox: z
        .strictObject({
          undelivered: count.meta({ description: 'Letters that could not be handed over at the first try' }),
          files: count.nullable().meta({ description: 'Letters in the folder; null where a mail server takes them' }),
        })
        .nullable(),
      revocations: z
        .strictObject({
          recent: count.meta({
            description: `Tokens that the limits revoked within ${expiringWithin.revocations} days`,
          }),
        })
        .nullable(),
    }),
  }),
})

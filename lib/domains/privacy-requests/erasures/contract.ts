import { z } from 'zod'
import { requestSubjects } from '#lib/domains/privacy-requests/rules.ts'
import { DeletedFrom } from '#lib/kernel/deleted-from.ts'
import { runTroubles } from '#lib/kernel/erasure-run.ts'
import { partKinds } from '#lib/kernel/erasure-scope.ts'
import { operation, time } from '#lib/kernel/operation.ts'
import { Cursor, PageLimit } from '#lib/kernel/pages.ts'

const when = time()
const whenever = when.nullable()
/** Why a deletion or a request is not complete, or took long. */
const causes = [
  'store_down',
  'store_refuses',
  'step_stuck',
  'thread_undecided',
  'planning',
  'verification',
  'residue',
  'residue_left',
  'search_failed',
  'second_search',
  'legal_hold',
  'unverified',
  'grace',
  'paused',
  'last_admin',
  'copy',
  'copy_preparing',
  'copy_failed',
  'decision',
  'step_failed',
  'slow_step',
  'slow_planning',
  'slow_verification',
  'late_start',
  'in_progress',
] as const
export const RequestCause = z
  .strictObject({
    code: z.enum(causes),
    store: z.string().nullable(),
    fault: z.string().nullable().meta({ description: 'The code of the error, or why the store rejects requests' }),
  })
  .meta({ id: 'ErasureCause' })
export type RequestCause = z.output<typeof RequestCause>

const runStates = ['planning', 'erasing', 'verifying', 'held', 'done', 'failed'] as const

const StepView = z
  .strictObject({
    holder: z.string(),
    store: z.string(),
    state: z.enum(['waiting', 'running', 'done', 'stuck']),
    planned: z.number().int(),
    erased: z.number().int(),
    held: z.array(z.strictObject({ hold_id: z.string(), count: z.number().int() })),
    residue: z.number().int().nullable(),
    results: z.record(z.string(), z.number().int()).meta({
      description:
        'Further counts by name: derived data that was deleted, and derived data that remained without its link',
    }),
    attempts: z.number().int(),
    fault: z.string().nullable(),
    waiting_since: whenever.meta({
      description:
        'The store has not answered since then. The step is retried without limit and does not count as stuck',
    }),
    started_at: whenever,
    finished_at: whenever,
    verified_at: whenever,
  })
  .meta({ id: 'ErasureStep' })
export const RunDetail = z
  .strictObject({
    run_id: z.string(),
    request_id: z.string().nullable().meta({ description: 'Null if an operator requested it' }),
    state: z.enum(runStates),
    created_at: when,
    fenced_at: whenever,
    finished_at: whenever,
    receipt_id: z.string().nullable().meta({ description: 'Set when the receipt is signed' }),
    waits_for: z.array(z.strictObject({ store: z.string(), since: when })).meta({
      description: 'Stores that do not answer. The erasure continues automatically within a minute after they return',
    }),
    steps: z.array(StepView),
  })
  .meta({ id: 'ErasureRun' })
export type RunDetail = z.output<typeof RunDetail>
/** An erasure read by its own id. */
export const ErasureDetail = z
  .strictObject({
    ...RunDetail.shape,
    audit_id: z
      .string()
      .nullable()
      .meta({ description: 'Id of its entry in the deletion log; absent for older erasures' }),
    success: z
      .boolean()
      .meta({ description: 'All stores are erased and were searched again, and nothing was retained' }),
    part: z
      .strictObject({
        kind: z.enum(partKinds),
        id: z.string(),
        project_id: z.string(),
        conversation_id: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'For an erasure of part of a project, and not of a person or agent' }),
    deleted_from: DeletedFrom,
    remaining_mentions: z
      .array(
        z.strictObject({
          store: z.string(),
          kind: z.string(),
          id: z.string(),
          field: z.string(),
          is_redacted: z.boolean(),
        }),
      )
      .meta({
        description: 'Places where names of the erased person remain in texts of others; never the words',
      }),
    recheck_at: whenever.meta({ description: 'When stores that others write to are searched again' }),
    rechecked_at: whenever,
    late_found: z.number().int().meta({ description: 'Data that others had written again by then; it is erased' }),
    fault: z.string().nullable().meta({ description: 'Why planning or verification failed, as the code of a problem' }),
  })
  .meta({ id: 'ErasureDetail' })
export type ErasureDetail = z.output<typeof ErasureDetail>

const ErasureView = z
  .strictObject({
    run_id: z.string(),
    request_id: z.string().nullable(),
    receipt_id: z.string().nullable().meta({ description: 'Set when the receipt is signed' }),
    state: z.enum(runStates),
    created_at: when,
    finished_at: whenever,
    subject: z
      .enum([...requestSubjects, ...partKinds])
      .nullable()
      .meta({
        description: 'What is deleted: a person, an agent, a participant or a part of a project; null if unknown',
      }),
    subject_name: z
      .string()
      .nullable()
      .meta({ description: 'The name of the person or agent; null once it is deleted, and for parts of projects' }),
    steps_done: z.number().int(),
    steps_total: z.number().int(),
    stuck: z.number().int(),
    planned: z.number().int(),
    erased: z.number().int(),
    held: z.number().int().meta({ description: 'Records that legal holds retain; `planned` does not count them' }),
    causes: z.array(RequestCause).meta({
      description: 'Why it is not complete, needs attention, or took more than 72 hours, as far as it is recorded',
    }),
  })
  .meta({ id: 'Erasure' })

export const listErasures = operation({
  id: 'listErasures',
  method: 'get',
  path: '/api/erasures',
  summary: 'List erasures of people, agents and parts of projects, newest first',
  description: '`open` counts all unfinished erasures, regardless of the query.',
  permission: 'erasures:audit',
  audit: { resourceType: 'erasure' },
  query: z.strictObject({
    state: z
      .enum([...runStates, ...runTroubles])
      .optional()
      .meta({
        description:
          'stuck: with a stuck step, or not plannable or verifiable; waiting: for a store for over 15 minutes; residue: done, but data was found again; unsearched: its second search is overdue by 6 hours',
      }),
    q: z.string().trim().min(1).max(100).optional().meta({
      description:
        'A part of the name of the person or agent, while it is stored; or the beginning of the id of the erasure, its receipt, its request, its entry in the deletion log, or the erased part of a project',
    }),
    cursor: Cursor.optional(),
    limit: PageLimit,
  }),
  output: z.strictObject({
    data: z.array(ErasureView),
    limit: z.number().int(),
    next_cursor: z.string().nullable(),
    open: z
      .strictObject({
        planning: z.number().int(),
        erasing: z.number().int(),
        verifying: z.number().int(),
        held: z.number().int(),
        failed: z.number().int(),
        stuck: z.number().int().meta({ description: 'Of these, erasures with a stuck step' }),
      })
      .meta({ id: 'OpenErasures' }),
  }),
})

export const readErasure = operation({
  id: 'readErasure',
  method: 'get',
  path: '/api/erasures/{id}',
  summary: 'Get an erasure with its steps',
  description:
    'By its own id, or by the id of its entry in the deletion log. For admins, auditors and the subject. For part of a project: the requester, the author of the part while its row exists, the project’s owners, and the managers of the organization.',
  permission: 'privacy:self',
  isOpenWithoutSecondFactor: true,
  audit: { resourceType: 'erasure' },
  params: z.strictObject({ id: z.string().regex(/^[\w-]{1,64}$/, 'is not the id of an erasure') }),
  output: z.strictObject({ data: ErasureDetail }),
  refusals: ['not_found'],
})

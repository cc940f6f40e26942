import { z } from 'zod'
import { declared } from './declaration.ts'

export const durations = ['under_minute', 'under_hour', 'under_day', 'longer'] as const
export type Duration = (typeof durations)[number]

/** Every event that can be sent, with all its properties. */
export const events = {
  contribution: declared('A contribution was made.', {
    kind: z.enum(['unit', 'sop', 'skill']),
    visibility: z.enum(['private', 'org', 'network']),
  }),
  search: declared('Somebody searched or listed knowledge; the search text is never sent.', {
    of: z.enum(['units', 'sops', 'skills']),
    mode: z.enum(['words', 'list']),
    has_results: z.boolean(),
  }),
  export_prepared: declared('A copy of personal data was requested.', { basis: z.enum(['provided', 'all']) }),
  request_filed: declared('A privacy request was submitted: one event for each kind in it.', {
    kind: z.enum(['access', 'portability', 'rectification', 'restriction', 'erasure', 'objection']),
  }),
  erasure_completed: declared(
    'A deletion was completed and verified. Sent without a user, under a random number used only once.',
    {
      of: z.enum(['subject', 'project', 'conversation', 'message', 'document']),
      steps: z.int().min(0).max(200),
      duration: z.enum(durations),
    },
  ),
  entry_written: declared('An entry was written into a grimoire.', {
    kind: z.enum(['episode', 'insight', 'heuristic', 'warning', 'causal_link']),
    scope: z.enum(['private', 'clade']),
  }),
  exchange_logged: declared('An exchange with a language model was logged.', { was_redacted: z.boolean() }),
  snapshot_made: declared('A snapshot was requested.', {}),
  share_sent: declared('An entry was shared with sibling agents.', { was_stripped: z.boolean() }),
}
export type Events = typeof events
export type TelemetryEventName = keyof Events
export type Properties<N extends TelemetryEventName> = z.input<Events[N]['schema']>

export const isEventName = (name: string): name is TelemetryEventName => Object.hasOwn(events, name)

const minute = 60_000
/** A duration as one of four words. */
export const durationOf = (milliseconds: number): Duration =>
  milliseconds < minute
    ? 'under_minute'
    : milliseconds < 60 * minute
      ? 'under_hour'
      : milliseconds < 1440 * minute
        ? 'under_day'
        : 'longer'

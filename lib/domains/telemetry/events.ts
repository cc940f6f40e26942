import { z } from 'zod'

const durations = ['under_minute', 'under_hour', 'under_day', 'longer'] as const
type Duration = (typeof durations)[number]

/** Allowed properties: a word of a closed list, a bounded integer or a boolean. Nothing that could contain a text, an id or an amount. */
type Closed = z.ZodEnum<Readonly<Record<string, string>>> | z.ZodNumberFormat | z.ZodBoolean
type EventShape = Readonly<Record<string, Closed>>

/** A larger count could identify a person: larger values are sent as buckets. */
const largestCount = 1_000
const wordForm = /^[a-z][a-z0-9_]{0,39}$/

/** What is wrong with a property, or undefined. Checked at runtime, because types can be bypassed. */
function faultOf(property: unknown): string | undefined {
  if (property instanceof z.ZodBoolean) return undefined
  if (property instanceof z.ZodEnum) {
    const bad = property.options.find((word) => typeof word !== 'string' || !wordForm.test(word))
    return bad === undefined ? undefined : 'has an invalid value'
  }
  if (property instanceof z.ZodNumberFormat) {
    const { minValue, maxValue, isInt } = property
    const isBounded = isInt && minValue !== null && minValue >= 0 && maxValue !== null && maxValue <= largestCount
    return isBounded ? undefined : `must have bounds from 0 to ${largestCount}`
  }
  return 'must be a list of words, a whole number, or yes or no'
}

/** Declares the properties of an event. @throws TypeError when the module is loaded, for a property that could identify a person */
export function declared<const S extends EventShape>(what: string, shape: S) {
  for (const [name, property] of Object.entries(shape)) {
    const fault = wordForm.test(name) ? faultOf(property) : 'has an invalid name'
    if (fault !== undefined) throw new TypeError(`telemetry: the property "${name}" ${fault}`)
  }
  return { what, schema: z.strictObject(shape) }
}

interface PropertyView {
  name: string
  type: 'enum' | 'integer' | 'boolean'
  /** The words of an enum. */
  values: string[] | null
  /** The maximum of an integer. */
  most: number | null
}
/** The properties of a declaration, as a page shows them. */
export const propertiesOf = (schema: z.ZodObject): PropertyView[] =>
  Object.entries(schema.shape).map(([name, property]) => ({
    name,
    type: property instanceof z.ZodEnum ? 'enum' : property instanceof z.ZodNumberFormat ? 'integer' : 'boolean',
    values: property instanceof z.ZodEnum ? property.options.map(String) : null,
    most: property instanceof z.ZodNumberFormat ? property.maxValue : null,
  }))

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
type Events = typeof events
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

const day = 86_400_000
/** Lifetime of a key in milliseconds. Afterwards its events are anonymous. */
export const pseudonymKeyRetention = 30 * day
/** Maximum number of waiting events. Further events are dropped and counted. */
export const maxWaiting = 1_000

export const dropReasons = ['undeclared', 'invalid', 'withheld', 'full', 'failed'] as const
export type DropReason = (typeof dropReasons)[number]

/** The subject of an event. Null: no subject, and the event gets a random id. */
export type EventSubject = { kind: 'account' | 'agent'; id: string } | null

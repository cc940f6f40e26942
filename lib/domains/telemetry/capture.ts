import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Actor } from '#lib/kernel/context.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'

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
type TelemetryEventName = keyof Events
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

const dropReasons = ['undeclared', 'invalid', 'withheld', 'full', 'failed'] as const
type DropReason = (typeof dropReasons)[number]

/** The subject of an event. Null: no subject, and the event gets a random id. */
export type EventSubject = { kind: 'account' | 'agent'; id: string } | null

/** An event as it is sent. */
export interface Sent {
  event: TelemetryEventName
  /** A pseudonym, or a random id for this event. */
  distinctId: string
  properties: Readonly<Record<string, string | number | boolean>>
  /** Rounded to the hour. The exact time is not sent. */
  at: Date
}
/** Receives events. Implemented in lib/stores. */
interface Sink {
  capture(sent: Sent): Promise<void>
  /** The number of requests, each with several events, that were not delivered. */
  lost(): number
  /** Sends waiting events for a few seconds at most. Never throws. */
  close(): Promise<void>
}

const hour = 3_600_000

/** Captures usage events. The caller never waits and never sees an error. */
export function telemetry({
  sink,
  pseudonymOf,
  now,
}: {
  /** Undefined when telemetry is off. */
  sink: Sink | undefined
  pseudonymOf(reported: NonNullable<EventSubject>, now: Date): Promise<string | undefined>
  now(): Date
}) {
  const dropped: Record<DropReason, number> = { undeclared: 0, invalid: 0, withheld: 0, full: 0, failed: 0 }
  const waiting = new Set<Promise<void>>()

  async function send(
    to: Sink,
    name: string,
    properties: unknown,
    subject: EventSubject,
  ): Promise<DropReason | undefined> {
    if (!isEventName(name)) return 'undeclared'
    const parsed = events[name].schema.safeParse(properties)
    if (!parsed.success) return 'invalid'
    const at = now()
    const distinctId = subject === null ? randomUUID() : await pseudonymOf(subject, at)
    if (distinctId === undefined) return 'withheld'
    await to.capture({
      event: name,
      distinctId,
      properties: parsed.data,
      at: new Date(Math.floor(at.getTime() / hour) * hour),
    })
    return undefined
  }
  /** Drops and counts an event that does not match its declaration. */
  function offer(name: string, properties: unknown, subject: EventSubject): void {
    if (!sink) return
    if (waiting.size >= maxWaiting) {
      dropped.full += 1
      return
    }
    const one = send(sink, name, properties, subject)
      .catch((error: unknown): DropReason => (Problem.is(error, 'fenced', 'erased') ? 'withheld' : 'failed'))
      .then((reason) => {
        if (reason !== undefined) dropped[reason] += 1
        waiting.delete(one)
      })
    waiting.add(one)
  }

  return {
    isOn: sink !== undefined,
    capture: <N extends TelemetryEventName>(name: N, properties: Properties<N>, subject: EventSubject): void =>
      offer(name, properties, subject),
    /** For callers without types, such as a job with a payload. */
    offer,
    /** Events not sent since the process began, by reason. `undelivered` counts requests. */
    dropped: () => [
      ...dropReasons.map((reason) => ({ reason, count: dropped[reason] })),
      { reason: 'undelivered', count: sink?.lost() ?? 0 },
    ],
    /** Resolves when every captured event was passed to the sink or dropped. */
    async settled(): Promise<void> {
      while (waiting.size > 0) await Promise.all(waiting)
    },
    async close(): Promise<void> {
      await this.settled()
      await sink?.close()
    },
  }
}
export type Telemetry = ReturnType<typeof telemetry>

/** The number of events that were not sent, by reason. */
export const telemetryMeasures = ({ dropped }: Pick<Telemetry, 'dropped'>): Measuring => ({
  name: 'telemetry',
  measure: async () => [
    {
      name: 'kp_telemetry_dropped',
      help: 'Usage events that this process has not sent since it started, by reason',
      type: 'gauge',
      samples: dropped().map(({ reason, count }) => ({ labels: { reason }, value: count })),
    },
  ],
})

export type CaptureEvent = (name: string, properties: unknown, subject: EventSubject) => void

/** An event with its name and properties; telemetry drops those that it does not know. */
interface Offered {
  name: string
  properties: Record<string, unknown>
}
interface Answered {
  input: Pick<RawInput, 'body' | 'query'>
  body: unknown
}

const Listed = z.object({ data: z.array(z.unknown()) })
const searched =
  (of: string) =>
  (answered: Answered): Offered[] => {
    const { data } = Listed.parse(answered.body)
    const mode = answered.input.query.q === undefined ? 'list' : 'words'
    return [{ name: 'search', properties: { of, mode, has_results: data.length > 0 } }]
  }
const Unit = z.object({ '@type': z.string(), metadata: z.object({ visibility: z.string() }) })
const unit = ({ input }: Answered): Offered[] => {
  const { '@type': type, metadata } = Unit.parse(input.body)
  const kind = type === 'ExpertSOP' ? 'sop' : 'unit'
  return [{ name: 'contribution', properties: { kind, visibility: metadata.visibility } }]
}
const Skill = z.object({ data: z.object({ visibility: z.string() }) })
const Export = z.object({ scope: z.string().default('all') }).prefault({})
const Request = z.object({ kinds: z.array(z.string()) })
const Entry = z.object({ data: z.object({ kind: z.string(), scope: z.string() }) })
const Exchange = z.object({ data: z.object({ redacted: z.record(z.string(), z.number()) }) })
const Share = z.object({ data: z.object({ removed: z.record(z.string(), z.number()) }) })

/** The events of completed operations, by operation id: words of closed lists, counts and booleans, never the input. */
const observed: Readonly<Record<string, (answered: Answered) => Offered[]>> = {
  contributeUnit: unit,
  contributeSop: unit,
  contributeSkill: ({ body }) => [
    { name: 'contribution', properties: { kind: 'skill', visibility: Skill.parse(body).data.visibility } },
  ],
  listUnits: searched('units'),
  listSops: searched('sops'),
  listSkills: searched('skills'),
  prepareExport: ({ input }) => [{ name: 'export_prepared', properties: { basis: Export.parse(input.body).scope } }],
  filePrivacyRequest: ({ input }) =>
    Request.parse(input.body).kinds.map((kind) => ({ name: 'request_filed', properties: { kind } })),
  addGrimoireEntry: ({ body }) => {
    const { kind, scope } = Entry.parse(body).data
    return [{ name: 'entry_written', properties: { kind, scope } }]
  },
  logLlmExchange: ({ body }) => [
    {
      name: 'exchange_logged',
      properties: { was_redacted: Object.keys(Exchange.parse(body).data.redacted).length > 0 },
    },
  ],
  makeSnapshot: () => [{ name: 'snapshot_made', properties: {} }],
  addCladeShare: ({ body }) => [
    { name: 'share_sent', properties: { was_stripped: Object.keys(Share.parse(body).data.removed).length > 0 } },
  ],
}

const notifiedOf = ({ kind, id, accountId }: Actor): EventSubject =>
  kind === 'agent' ? { kind, id } : accountId === undefined ? null : { kind: 'account', id: accountId }

/**
 * Sends an operation to telemetry after its transaction has committed. Errors here never reach the caller: an unexpected response is
 * offered without a name, so that it counts as dropped.
 */
export function observer(offer: CaptureEvent) {
  return (operationId: string, actor: Actor, answered: Answered): void => {
    const look = Object.hasOwn(observed, operationId) ? observed[operationId] : undefined
    if (!look) return
    const subject = notifiedOf(actor)
    try {
      for (const { name, properties } of look(answered)) offer(name, properties, subject)
    } catch {
      offer('', undefined, null)
    }
  }
}

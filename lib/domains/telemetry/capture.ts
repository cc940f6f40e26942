import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Actor } from '#lib/kernel/context.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import {
  type DropReason,
  dropReasons,
  type EventSubject,
  events,
  isEventName,
  maxWaiting,
  type Properties,
  type TelemetryEventName,
} from './events.ts'

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

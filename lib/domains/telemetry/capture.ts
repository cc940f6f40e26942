import { randomUUID } from 'node:crypto'
import type { Measuring } from '#lib/kernel/measure.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { events, isEventName, type Properties, type TelemetryEventName } from './events.ts'
import { type DropReason, dropReasons, type EventSubject, maxWaiting } from './rules.ts'

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
  pseudonymOf(told: NonNullable<EventSubject>, now: Date): Promise<string | undefined>
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

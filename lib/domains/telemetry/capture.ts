import { randomUUID } from 'node:crypto'
import { Problem } from '#lib/kernel/problem.ts'
import { type EventName, events, isEventName, type Properties } from './events.ts'
import { type DropReason, dropReasons, mostWaiting, type Told } from './rules.ts'

/** One event as it leaves. */
export interface Sent {
  event: EventName
  /** A pseudonym, or a number drawn for this event alone. */
  distinctId: string
  properties: Readonly<Record<string, string | number | boolean>>
  /** Of the hour: when within it stays here. */
  at: Date
}
/** Who takes events; in lib/stores. */
export interface Sink {
  capture(sent: Sent): Promise<void>
  /** Requests, each with some events, that did not arrive. */
  lost(): number
  /** Sends what waits, for some seconds at most. Never throws. */
  close(): Promise<void>
}

export interface CapturePorts {
  /** Undefined: telemetry is off. */
  sink: Sink | undefined
  pseudonymOf(told: NonNullable<Told>, now: Date): Promise<string | undefined>
  now(): Date
}
const hour = 3_600_000

/** Says what happened to whoever counts such things. Nothing that it does reaches the caller: no wait, no error. */
export function telemetry({ sink, pseudonymOf, now }: CapturePorts) {
  const dropped: Record<DropReason, number> = { undeclared: 0, invalid: 0, withheld: 0, full: 0, failed: 0 }
  const waiting = new Set<Promise<void>>()

  async function send(to: Sink, name: string, properties: unknown, told: Told): Promise<DropReason | undefined> {
    if (!isEventName(name)) return 'undeclared'
    const parsed = events[name].schema.safeParse(properties)
    if (!parsed.success) return 'invalid'
    const at = now()
    const distinctId = told === null ? randomUUID() : await pseudonymOf(told, at)
    if (distinctId === undefined) return 'withheld'
    await to.capture({
      event: name,
      distinctId,
      properties: parsed.data,
      at: new Date(Math.floor(at.getTime() / hour) * hour),
    })
    return undefined
  }
  /** An event that is not declared, or says something else, is dropped and counted. */
  function offer(name: string, properties: unknown, told: Told): void {
    if (!sink) return
    if (waiting.size >= mostWaiting) {
      dropped.full += 1
      return
    }
    const one = send(sink, name, properties, told)
      .catch((error: unknown): DropReason => (Problem.is(error, 'fenced', 'erased') ? 'withheld' : 'failed'))
      .then((reason) => {
        if (reason !== undefined) dropped[reason] += 1
        waiting.delete(one)
      })
    waiting.add(one)
  }

  return {
    isOn: sink !== undefined,
    capture: <N extends EventName>(name: N, properties: Properties<N>, told: Told): void =>
      offer(name, properties, told),
    /** For what has lost its types on the way, a job's payload say. */
    offer,
    /** How many were not sent, by reason, since the process began; of those that did not arrive, how many requests. */
    dropped: () => [
      ...dropReasons.map((reason) => ({ reason, count: dropped[reason] })),
      { reason: 'undelivered', count: sink?.lost() ?? 0 },
    ],
    /** Once everything offered so far was handed to the sink or dropped. */
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

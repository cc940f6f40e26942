import { randomBytes } from 'node:crypto'
import { events, isEventName, type Sent, telemetry } from '#lib/domains/telemetry/capture.ts'
import { pseudonymUnder } from '#lib/domains/telemetry/personal-data.ts'

/** Prefixes of ids, in lower-case texts. No event contains one. */
export const loggedIdForm = /\b(usr|agent|kp|tok|ses|preq|run|rcpt|prj|conv|msg|llm|ent|org|shr|cld|snap)_[0-9a-z]{6}/

function faultOf({ event, properties, distinctId, at }: Sent): string | undefined {
  if (!isEventName(event)) return 'is not declared'
  if (!events[event].schema.safeParse(properties).success) return 'does not match the declared properties'
  if (loggedIdForm.test(JSON.stringify(properties).toLowerCase())) return 'names somebody'
  if (!/^([\w-]{43}|[0-9a-f-]{36})$/.test(distinctId)) return 'is under no pseudonym'
  return at.getTime() % 3_600_000 === 0 ? undefined : 'has a time within the hour'
}

/**
 * Records everything that a test application would send to telemetry if it were on. Sends nothing and creates no key.
 * `check` throws when an event was undeclared or had undeclared properties.
 */
export function overhearing(now: () => Date) {
  /** Distinct events only: a suite may cause a hundred thousand. */
  const heard = new Set<string>()
  const faults = new Set<string>()
  const made = telemetry({
    sink: {
      async capture(sent) {
        const fault = faultOf(sent)
        if (fault !== undefined) faults.add(`"${sent.event}" ${fault}`)
        heard.add(JSON.stringify({ event: sent.event, properties: sent.properties }))
      },
      lost: () => 0,
      close: async () => {},
    },
    pseudonymOf: async () => pseudonymUnder(randomBytes(32)),
    now,
  })
  return {
    offer: made.offer,
    async heard(): Promise<unknown[]> {
      await made.settled()
      return [...heard].sort().map((text) => JSON.parse(text))
    },
    async check(): Promise<void> {
      await made.settled()
      for (const { reason, count } of made.dropped())
        if (count > 0 && reason !== 'full') faults.add(`${count} were dropped: ${reason}`)
      if (faults.size > 0) throw new Error(`telemetry was offered what it may not tell: ${[...faults].join('; ')}`)
    },
  }
}

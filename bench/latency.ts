import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { LoadTarget } from './load.ts'

const CONNECTIONS = 32

/** Sends one request. Returns milliseconds until the complete response. @throws for an unexpected response */
export function timeRequest(agent: Agent, { url, method, headers, body, status }: LoadTarget): Promise<number> {
  const started = performance.now()
  return new Promise((answered, failed) => {
    const sent = request(url, { agent, method, headers: headers ?? {} }, (response) => {
      response.resume()
      response.once('end', () =>
        response.statusCode === status
          ? answered(performance.now() - started)
          : failed(new Error(`${method} ${url} answered ${response.statusCode}`)),
      )
    })
    sent.once('error', failed)
    sent.end(body)
  })
}

export interface Rate {
  target: LoadTarget
  perSecond: number
}

/**
 * Sends requests at a steady rate whether or not responses keep up, like independent users: a stalled response delays
 * all later ones, and each counts. Returns milliseconds per request, until the signal.
 */
export async function steadily(rates: readonly Rate[], signal: AbortSignal): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const taken: number[] = []
  let fault: unknown
  const asking = new Set<Promise<void>>()
  const one = async (target: LoadTarget, due: number) => {
    try {
      await timeRequest(agent, target)
      taken.push(performance.now() - due)
    } catch (error) {
      fault ??= error
    }
  }
  const stream = async ({ target, perSecond }: Rate) => {
    const started = performance.now()
    for (let n = 0; !signal.aborted && fault === undefined; n++) {
      const due = started + (n * 1000) / perSecond
      const wait = due - performance.now()
      if (wait > 1) await delay(wait)
      const asked = one(target, Math.max(due, started)).finally(() => asking.delete(asked))
      asking.add(asked)
    }
  }
  await Promise.all(rates.map(stream))
  await Promise.all(asking)
  agent.destroy()
  if (fault !== undefined) throw fault
  return taken
}

/** The value that this share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

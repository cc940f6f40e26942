import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Target } from './load.ts'

const CONNECTIONS = 32

/** One request; milliseconds until its answer has come whole. Throws when it is not the expected one. */
export function ask(agent: Agent, { url, method, headers, body, status }: Target): Promise<number> {
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
  target: Target
  perSecond: number
}

/**
 * Asks at a steady rate, whether or not answers keep up, as many users would: an answer that stalls is counted by all who wait behind it.
 * Milliseconds of each request, until the signal.
 */
export async function steadily(rates: readonly Rate[], signal: AbortSignal): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const taken: number[] = []
  let fault: unknown
  const asking = new Set<Promise<void>>()
  const one = async (target: Target, due: number) => {
    try {
      await ask(agent, target)
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

/** The value that such a share of them does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

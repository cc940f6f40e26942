import { Agent } from 'node:http'
import { attempt, countsOf, type LoadAttempt, tookOf } from './attempt.ts'
import { type Agent as Client, registerBenchAgent, startCluster, storeUnit } from './installation.ts'
import { percentile } from './latency.ts'
import type { BenchRow } from './row.ts'
import { withScope } from './scope.ts'
import { buildPages, startApiServer } from './server.ts'
import { benchTrace } from './trace.ts'

const SECONDS = 15
const DELETIONS = 117
const CONTRIBUTIONS = 233
const REVOCATIONS = 2
/** Bars. */
const SHARE = 1 / 2
const SLOWEST = 3

/** Sends requests at a fixed rate, without waiting for answers. */
async function openLoop(perSecond: number, one: (n: number) => Promise<LoadAttempt>): Promise<LoadAttempt[]> {
  const sent: Promise<LoadAttempt>[] = []
  const started = performance.now()
  await new Promise<void>((done) => {
    const timer = setInterval(() => {
      const due = Math.min(perSecond * SECONDS, ((performance.now() - started) / 1_000) * perSecond)
      while (sent.length < due) sent.push(one(sent.length))
      if (sent.length < perSecond * SECONDS) return
      clearInterval(timer)
      done()
    }, 5)
  })
  return Promise.all(sent)
}

const isDone = ({ status }: LoadAttempt): boolean => status >= 200 && status < 300
const listed = (attempts: readonly LoadAttempt[]): string =>
  [...countsOf(attempts)]
    .sort(([one], [other]) => one - other)
    .map(([status, count]) => `${count.toLocaleString('en')} × ${status}`)
    .join(', ')

/** 350 requests a second, two thirds contributions and one third erasures, and revocations beside them. */
export const run = async (): Promise<BenchRow[]> => {
  await buildPages()
  return measureOverload(startApiServer)
}

/** Measures any server of the API. */
export const measureOverload = (start: typeof startApiServer): Promise<BenchRow[]> =>
  withScope(async (scope) => {
    const installation = await (await startCluster(scope)).open('overload')
    const { url } = await start(scope, { ...installation.env, KP_TRUSTED_PROXIES: '127.0.0.1' })
    const client: Client = await registerBenchAgent(url, installation)
    const headers = { Authorization: `Bearer ${client.token}`, 'Content-Type': 'application/json' }
    const agent = new Agent({ keepAlive: true, maxSockets: 1_000 })
    const stored = async (count: number) => {
      const ids: string[] = []
      while (ids.length < count)
        ids.push(
          ...(await Promise.all(
            Array.from({ length: Math.min(8, count - ids.length) }, () => storeUnit(url, client.token)),
          )),
        )
      return ids
    }
    const erase = (ids: readonly string[]) =>
      openLoop(DELETIONS, (n) => attempt(agent, { url: `${url}/v1/knowledge/${ids[n]}`, method: 'DELETE', headers }))
    const tokens: string[] = []
    while (tokens.length < SECONDS * REVOCATIONS) {
      const body = JSON.stringify({ scopes: ['read'] })
      const { status, body: made } = await attempt(agent, {
        url: `${url}/v1/auth/tokens`,
        method: 'POST',
        headers,
        body,
      })
      if (status !== 201) throw new Error(`a token answered ${status}: ${made}`)
      tokens.push(JSON.parse(made).data.id)
    }
    const [first, second] = [await stored(DELETIONS * SECONDS), await stored(DELETIONS * SECONDS)]
    const alone = await erase(first)
    const [erased, contributed, revoked] = await Promise.all([
      erase(second),
      openLoop(CONTRIBUTIONS, () =>
        attempt(agent, { url: `${url}/v1/knowledge`, method: 'POST', headers, body: JSON.stringify(benchTrace) }),
      ),
      openLoop(REVOCATIONS, (n) =>
        attempt(agent, { url: `${url}/v1/auth/tokens/${tokens[n]}`, method: 'DELETE', headers }),
      ),
    ])
    agent.destroy()
    const [aloneDone, done] = [alone.filter(isDone).length, erased.filter(isDone).length]
    const p99 = percentile(erased.map(tookOf), 0.99) / 1_000
    const lost = revoked.filter((one) => !isDone(one)).length
    return [
      {
        name: `erasures beside ${CONTRIBUTIONS} contributions/s for ${SECONDS} s: ${listed(erased)}`,
        value: done,
        unit: 'erasures',
        ceiling: { name: `alone: ${listed(alone)}`, value: aloneDone },
        bar: 'at least half',
        met: done >= SHARE * aloneDone,
      },
      { name: 'their p99', value: p99, unit: 's', bar: `under ${SLOWEST}`, met: p99 < SLOWEST },
      { name: `contributions: ${listed(contributed)}`, value: contributed.filter(isDone).length, unit: 'units' },
      { name: `revocations: ${listed(revoked)}`, value: lost, unit: 'rejected', bar: '0', met: lost === 0 },
    ]
  })

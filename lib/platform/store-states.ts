import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Limiter } from '#lib/access/limiter.ts'
import type { Site } from '#lib/config/locations.ts'
import { anotherFolder } from '#lib/domains/stores/rules.ts'
import type { StoreCheck } from '#lib/http/service.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { isDiskFull } from '#lib/stores/postgres/problems.ts'
import type { Presidio } from '#lib/stores/presidio.ts'
import { type RememberedPort, rememberedPorts, type StorePort, storePorts } from '#lib/stores/registered-store.ts'
import type { OpenStores } from './open-stores.ts'
import { checkDatabase } from './repository.ts'

export interface LocationState {
  state: 'ok' | 'degraded' | 'down'
  /** The duration of one round trip in milliseconds. */
  latency: number
  /** Never contains addresses or credentials. */
  detail?: string
}
export type StateOf = (name: string) => Promise<LocationState | undefined>

/** The time limit for the state of a store, in milliseconds. */
const patience = 3_000
/** For how many milliseconds a state is cached, so that frequent requests cost nothing more. */
const retainedFor = 1_000
const isPort = (name: string): name is StorePort => (storePorts as readonly string[]).includes(name)

async function timed(ask: () => Promise<Pick<LocationState, 'state' | 'detail'>>): Promise<LocationState> {
  const began = performance.now()
  const answer = await ask()
  return { ...answer, latency: performance.now() - began }
}

/** Whether a folder is writable, or the nearest existing folder in which it would be created. */
async function folderState(folder: string): Promise<Pick<LocationState, 'state' | 'detail'>> {
  for (let path = folder; ; path = dirname(path)) {
    try {
      await access(path, constants.W_OK | constants.X_OK)
      return { state: 'ok' }
    } catch (error) {
      if (errorCode(error) === 'ENOENT' && path !== dirname(path)) continue
      return { state: 'down', detail: `cannot be written (${errorCode(error) ?? 'no answer'})` }
    }
  }
}

/** Returns the state of a store by name, within a time limit; undefined for a place without a state. */
export function storeStates({
  db,
  limiter,
  stores,
  presidio,
  sites,
  isAnother,
}: {
  db: Database
  limiter: Pick<Limiter, 'degraded' | 'store'>
  stores: OpenStores
  /** Undefined if none is connected. */
  presidio: Presidio | undefined
  sites: readonly Site[]
  /** Whether a folder is not the one that was used before; undefined if no database can tell. */
  isAnother: ((port: RememberedPort) => Promise<boolean>) | undefined
}): StateOf {
  const known = new Map<string, { until: number; answer: Promise<LocationState | undefined> }>()

  async function ask(name: string): Promise<LocationState | undefined> {
    if (isPort(name)) return stores[name].state()
    if (name === 'presidio') return presidio?.state()
    if (name === 'postgresql')
      return timed(async () => {
        await checkDatabase(db, {})
        return isDiskFull()
          ? { state: 'degraded', detail: 'its disk is full, so nothing can be written' }
          : { state: 'ok' }
      })
    if (name === 'limits')
      return timed(async () =>
        limiter.degraded
          ? { state: 'degraded', detail: `${limiter.store} does not answer; limits are per process` }
          : { state: 'ok' },
      )
    const site = sites.find((one) => one.name === name)
    if ((name === 'exports' || name === 'snapshot_keys') && site?.provider !== 'files') return stores.files?.state()
    const address = site?.provider === 'files' ? site.address : undefined
    return address?.startsWith('file:') ? timed(() => folderState(address.slice('file:'.length))) : undefined
  }
  async function recognised(name: string): Promise<LocationState | undefined> {
    const answer = await ask(name)
    const port = rememberedPorts.find((one) => one === name)
    if (answer?.state !== 'ok' || port === undefined || !(await isAnother?.(port))) return answer
    return { state: 'down', latency: answer.latency, detail: anotherFolder }
  }
  async function asked(name: string): Promise<LocationState | undefined> {
    const gaveUp = new AbortController()
    try {
      return await Promise.race([
        recognised(name),
        delay(patience, { state: 'down', latency: patience, detail: 'no answer in time' } as const, {
          signal: gaveUp.signal,
        }),
      ])
    } catch (error) {
      return { state: 'down', latency: 0, detail: errorCode(error) ?? 'no answer' }
    } finally {
      gaveUp.abort()
    }
  }

  return (name) => {
    if (!isPort(name) && name !== 'presidio') return asked(name)
    const before = known.get(name)
    if (before && performance.now() < before.until) return before.answer
    const made = { until: performance.now() + patience, answer: asked(name) }
    known.set(name, made)
    made.answer.then(() => {
      made.until = performance.now() + retainedFor
    })
    return made.answer
  }
}

/** A Presidio that is only mentioned in KP_REGIONS has no address. */
const isAskedFor = ({ kind, name, address }: Pick<Site, 'kind' | 'name' | 'address'>): boolean =>
  kind === 'store' || (name === 'presidio' && address !== null)

/** The stores, and the analyzer of names, whose state readiness reports. Only the database is needed to serve requests. */
export const storeChecks = (
  sites: readonly (Pick<Site, 'kind' | 'name' | 'address'> & { region: string | null })[],
  stateOf: StateOf,
): Record<string, StoreCheck> =>
  Object.fromEntries(
    ['limits', ...sites.filter(isAskedFor).map(({ name }) => name)].map((name) => {
      const { region = null, address = null } = sites.find((site) => site.name === name) ?? {}
      return [name, { isNeeded: name === 'postgresql', region, address, ask: () => stateOf(name) }]
    }),
  )

/** Metrics: whether each store answers. A store with a fallback counts as up. */
export const storeMeasures = (checks: Record<string, Pick<StoreCheck, 'ask'>>): Measuring => ({
  name: 'stores',
  async measure() {
    const states = await Promise.all(
      Object.entries(checks).map(async ([store, { ask }]) => ({ store, answer: await ask() })),
    )
    return [
      {
        name: 'kp_store_up',
        help: '1 if the store answers, otherwise 0',
        type: 'gauge',
        samples: states.map(({ store, answer }) => ({ labels: { store }, value: answer?.state === 'down' ? 0 : 1 })),
      },
    ]
  },
})

import { BadVariable, type Env } from '#lib/config/env.ts'
import { assessLocations, ownDatabaseLocation, type Site, sitesOf } from '#lib/config/locations.ts'
import { explainOutside, outside, type StoreLocation } from '#lib/domains/residency/rules.ts'
import { registeredStores } from '#lib/domains/stores/registered-stores.ts'
import { storeUseInterval } from '#lib/domains/stores/rules.ts'
import { systemClock } from '#lib/kernel/context.ts'
import { isEmptyStore, openStores, rememberedStores } from '#lib/platform/open-stores.ts'
import { type LocationState, storeStates } from '#lib/platform/store-states.ts'
import type { KeyLifetimes } from '#lib/stores/cache/cache.ts'
import { openDatabase } from '#lib/stores/postgres/database.ts'
import { openPresidio } from '#lib/stores/presidio.ts'
import { type RegisteredStore, rememberedPorts } from '#lib/stores/registered-store.ts'
import { fault, type HealthCheck, ok, warning } from './health.ts'

const regionWords = (location: StoreLocation | undefined): string => {
  if (!location?.region) return 'region not stated'
  const by = [location.provider === 'own' ? null : location.provider, location.country].filter((word) => word !== null)
  return `in ${location.region} (${by.join(', ')})`
}
const variables: Partial<Record<Site['name'], string>> = {
  graph: 'KP_GRAPH_URL',
  cache: 'KP_REDIS_URL',
  objects: 'KP_OBJECTS_URL',
  checkpoints: 'KP_CHECKPOINTS_URL',
  exports: 'KP_FILES_URL',
  snapshot_keys: 'KP_FILES_URL',
}

/** One line for a store: provider, address without credentials, response time and region. */
export function locationCheck(
  site: Site,
  location: StoreLocation | undefined,
  asked: LocationState | undefined,
): HealthCheck {
  const { address } = site
  const isUrl = address !== null && /^[a-z0-9+]+:/.test(address)
  const what = `${site.provider}${isUrl ? ' at ' : ', '}${address ?? 'inside the process'}`
  const words = `${what}, ${regionWords(location)}`
  if (!asked) return ok(site.name, words)
  const why = asked.detail === undefined ? '' : ` (${asked.detail})`
  if (asked.state === 'ok') return ok(site.name, `${words}; answers in ${asked.latency.toFixed(1)} ms`)
  const variable = variables[site.name]
  return fault(
    site.name,
    `${words}; does not answer${why}`,
    variable === undefined
      ? 'Fix the cause above.'
      : `Start it, or correct ${variable}. Erasures that concern it wait and are not reported as complete.`,
  )
}

/** A process records its use of a folder once a day: milliseconds, with a margin of an hour. */
const storeUseMargin = storeUseInterval + 3_600_000

/** A store with data that is not connected here. A folder that another machine uses must be shared, not retired. */
export function missingCheck(
  port: string,
  { id, provider, shown, lastSeen }: Pick<RegisteredStore, 'id' | 'provider' | 'shown' | 'lastSeen'>,
  now = new Date(),
): HealthCheck {
  if (provider === 'files' && now.getTime() - lastSeen.getTime() < storeUseMargin)
    return fault(
      port,
      `${shown} was used within the last day, but this machine uses another folder; erasures that concern it wait`,
      `Give all machines of the installation the same folder: mount it here${port === 'objects' ? ', or connect a bucket with KP_OBJECTS_URL' : ''}.`,
    )
  return warning(
    port,
    `${provider} at ${shown} stored data and is no longer connected; erasures that concern it wait`,
    `Connect it again, or confirm that it no longer contains data: POST /api/stores/${id}/retire`,
  )
}

/** Maximum keys that the check of TTLs examines. */
const maxKeys = 1_000_000

/** Whether Redis keys live longer than the 24 hours of cached data. */
export function lifetimesCheck({ examined, isComplete, unlimited, tooLong, prefixed }: KeyLifetimes): HealthCheck {
  const name = 'cache TTLs'
  const scope = isComplete ? `${examined} key(s)` : `the first ${examined} keys`
  if (unlimited + tooLong === 0)
    return isComplete
      ? ok(name, `no TTL of ${scope} is above 24 hours`)
      : warning(name, `no TTL of ${scope} is above 24 hours; the other keys were not examined`, 'Use a smaller Redis.')
  return warning(
    name,
    `of ${scope}, ${unlimited} have no TTL and ${tooLong} have one above 24 hours; ${prefixed} of these begin with a prefix from KP_POINTER_PREFIXES`,
    'Have the applications set a TTL of at most 24 hours, or set KP_CACHE_TTL_LIMIT=true for keys that begin with a prefix from KP_POINTER_PREFIXES.',
  )
}

/** Checks all stores and their residency. `databaseUrl`: the application's database, if reachable. */
export async function checkStores(env: Env, databaseUrl: string | undefined): Promise<HealthCheck[]> {
  const sites = sitesOf(env)
  let assessedLocations: StoreLocation[]
  try {
    assessedLocations = assessLocations(env)
  } catch (error) {
    if (error instanceof BadVariable) return [fault('regions', error.message, 'Correct the variable.')]
    throw error
  }
  const db = openDatabase(databaseUrl ?? 'postgresql://localhost/knowledgepulse', { max: 2 })
  const stores = openStores(env, db)
  const known = registeredStores({
    db,
    clock: systemClock,
    connected: rememberedStores(env, sites),
    isEmpty: isEmptyStore,
  })
  const presidio = env.KP_PRESIDIO_URL === undefined ? undefined : openPresidio(env.KP_PRESIDIO_URL)
  try {
    const isAsked = ({ name, address }: Site) =>
      name !== 'limits' && (databaseUrl !== undefined || (name !== 'postgresql' && address !== ownDatabaseLocation))
    const askedOf = async () => {
      const stateOf = storeStates({
        db,
        limiter: { degraded: false, store: 'memory' },
        stores,
        presidio,
        sites,
        isAnother: databaseUrl === undefined ? undefined : known.isAnother,
      })
      const answers: (LocationState | undefined)[] = []
      // In sequence, so that loading one does not slow down the measurement of another.
      for (const site of sites) answers.push(isAsked(site) ? await stateOf(site.name) : undefined)
      return answers
    }
    // The first round connects and loads modules. The second is measured.
    await askedOf()
    const answers = await askedOf()
    const checks = sites.map((site, index) => locationCheck(site, assessedLocations[index], answers[index]))
    const isCacheUp = answers[sites.findIndex(({ name }) => name === 'cache')]?.state === 'ok'
    if (isCacheUp && stores.cache.provider === 'redis')
      checks.push(
        lifetimesCheck(
          await stores.cache.lifetimes({ prefixes: env.KP_POINTER_PREFIXES, shorten: false, max: maxKeys }),
        ),
      )
    if (databaseUrl !== undefined)
      for (const port of rememberedPorts)
        for (const store of await known.missing(port)()) checks.push(missingCheck(port, store))
    return [...checks, ...residencyChecks(env.KP_RESIDENCY, assessedLocations)]
  } finally {
    await stores.close()
    await db.close()
  }
}

/** Whether KP_RESIDENCY can be satisfied, with every place that prevents it. */
export function residencyChecks(
  residency: 'eu' | undefined,
  assessedLocations: readonly StoreLocation[],
): HealthCheck[] {
  if (residency === undefined) return []
  const found = outside(assessedLocations)
  if (found.length === 0) return [ok('residency', 'all stores are in the European Economic Area')]
  return found.map((location) =>
    fault('residency', explainOutside(location), 'With KP_RESIDENCY=eu, nothing starts until you fix this.'),
  )
}

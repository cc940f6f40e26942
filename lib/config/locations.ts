import { resolve } from 'node:path'
import {
  parseRegions,
  regionOfHost,
  residencyFault,
  type StoreLocation,
  type StoreLocationFact,
  storeLocationOf,
} from '#lib/domains/residency/rules.ts'
import { isInDataFolder, ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { objectsAddress } from '#lib/stores/objects/address.ts'
import { isEmbedded } from '#lib/stores/postgres/cluster.ts'
import type { RememberedPort } from '#lib/stores/registered-store.ts'
import { areSnapshotKeysInBucket, exportsFolder, snapshotKeysFolder } from './data-folder.ts'
import { BadVariable, type Env, hasMailServer, telemetryTarget } from './env.ts'
import { sentinelsOf } from './sentinels.ts'

/**
 * Where data is stored and who else receives some of it, as far as the settings show: kinds of places, never their addresses. KP_REGIONS
 * states the region, or the address proves it.
 */
export interface StoreLocations {
  postgresql: 'embedded' | 'server'
  files: 'folder'
  ledger: 'folder' | 'apart'
  snapshot_keys: 'folder' | 'apart' | 's3' | 'gcs'
  exports: 'folder' | 's3' | 'gcs'
  graph: 'here' | 'neo4j'
  cache: 'here' | 'redis'
  objects: 'folder' | 's3' | 'gcs'
  checkpoints: 'here' | 'server'
  /** Where emails are sent. */
  mail: 'folder' | 'server'
  /** Where requests are counted, for a minute. */
  limits: 'here' | 'redis'
}

type Settings = Pick<
  Env,
  | 'DATABASE_URL'
  | 'KP_DATA_DIR'
  | 'KP_LEDGER_URL'
  | 'HOME'
  | 'XDG_STATE_HOME'
  | 'XDG_DATA_HOME'
  | 'KP_LEDGER_MARK'
  | 'KP_SNAPSHOT_KEYS_DIR'
  | 'KP_FILES_URL'
  | 'KP_SMTP_URL'
  | 'KP_REDIS_URL'
  | 'KP_LIMITS'
  | 'KP_GRAPH_URL'
  | 'KP_OBJECTS_URL'
  | 'KP_CHECKPOINTS_URL'
  | 'KP_OIDC_ISSUER'
  | 'KP_PRESIDIO_URL'
  | 'KP_POSTHOG_HOST'
  | 'KP_POSTHOG_KEY'
  | 'KP_TELEMETRY'
  | 'BARDO_TELEMETRY'
  | 'KP_BACKUP_DAYS'
  | 'KP_REGIONS'
  | 'KP_RESIDENCY'
>

const objectsKind = (url: string | undefined): StoreLocations['objects'] =>
  url === undefined || url.startsWith('file:') ? 'folder' : url.startsWith('gs:') ? 'gcs' : 's3'

export const storeLocationsOf = (env: Settings): StoreLocations => ({
  postgresql: isEmbedded(env.DATABASE_URL, env.KP_DATA_DIR) ? 'embedded' : 'server',
  files: 'folder',
  ledger: isInDataFolder(env) ? 'folder' : 'apart',
  snapshot_keys: env.KP_SNAPSHOT_KEYS_DIR === undefined ? objectsKind(env.KP_FILES_URL) : 'apart',
  exports: objectsKind(env.KP_FILES_URL),
  graph: env.KP_GRAPH_URL === undefined ? 'here' : 'neo4j',
  cache: env.KP_REDIS_URL === undefined ? 'here' : 'redis',
  objects: objectsKind(env.KP_OBJECTS_URL),
  checkpoints: env.KP_CHECKPOINTS_URL === undefined ? 'here' : 'server',
  mail: hasMailServer(env) ? 'server' : 'folder',
  limits: env.KP_REDIS_URL !== undefined && ['auto', 'redis'].includes(env.KP_LIMITS) ? 'redis' : 'here',
})

/** One place named by the settings. */
export interface Site extends StoreLocationFact {
  kind: 'store' | 'processor'
  /** The port, if its store may change with the settings. */
  port: RememberedPort | null
  /** The kind of store: postgresql, neo4j, redis, memory, s3, gcs, files, smtp … */
  provider: string
  /** Its address without credentials; null if it has none or none is known. */
  address: string | null
  /**
   * Distinguishes it from other stores of its port, whatever the credentials; null if it stores nothing permanently, or if a mark in it
   * identifies it.
   */
  identity: string | null
}

/** The address of data in tables of this installation's own database. */
export const ownDatabaseLocation = 'this database'

const portsOfSchemes: Record<string, string> = {
  bolt: '7687',
  neo4j: '7687',
  redis: '6379',
  rediss: '6379',
  postgres: '5432',
  postgresql: '5432',
  smtp: '587',
  smtps: '465',
}
interface Server {
  host: string
  /** `scheme://host:port/path`, without credentials and parameters. */
  address: string
  /** `host:port/path` */
  identity: string
}
/** Parses the URL of a server; `path` is used if the URL has none. The folder of a socket replaces the host. */
function serverAt(text: string, path = ''): Server {
  const url = new URL(text)
  const scheme = url.protocol.slice(0, -1)
  const host = (url.searchParams.get('host') ?? url.hostname).toLowerCase()
  const port = url.port || portsOfSchemes[scheme.replace(/\+.*/, '')]
  const rest = url.pathname.replace(/^\//, '') || path
  const at = `${host}${port === undefined ? '' : `:${port}`}${rest === '' ? '' : `/${rest}`}`
  return { host, address: `${scheme}://${at}`, identity: at }
}

function graphSite(env: Settings): Omit<Site, 'name' | 'kind' | 'port'> {
  if (env.KP_GRAPH_URL === undefined)
    return {
      provider: 'postgresql',
      address: ownDatabaseLocation,
      identity: 'own',
      derived: null,
      within: 'postgresql',
    }
  const { host, address, identity } = serverAt(env.KP_GRAPH_URL, 'neo4j')
  return { provider: 'neo4j', address, identity, derived: regionOfHost(host), within: null }
}
function cacheSite(env: Settings): Omit<Site, 'name' | 'kind' | 'port'> {
  if (env.KP_REDIS_URL === undefined)
    return { provider: 'memory', address: null, identity: null, derived: null, within: 'files' }
  const sentinels = sentinelsOf(env.KP_REDIS_URL)
  if (sentinels) {
    // Many primaries have the same name, so their Sentinels distinguish them.
    const listed = sentinels.addresses.map(({ host, port }) => `${host}:${port}`).sort()
    const regions = new Set(sentinels.addresses.map(({ host }) => regionOfHost(host)))
    const at = `${sentinels.url.host}${sentinels.url.pathname.replace(/^\/?$/, '/0')} (Sentinels ${listed.join(', ')})`
    const [derived = null] = regions.size === 1 ? regions : []
    return { provider: 'redis', address: `${sentinels.url.protocol}//${at}`, identity: at, derived, within: null }
  }
  const { host, address, identity } = serverAt(env.KP_REDIS_URL, '0')
  return { provider: 'redis', address, identity, derived: regionOfHost(host), within: null }
}
function objectsSite(url: string | undefined, dataDir: string): Omit<Site, 'name' | 'kind' | 'port'> {
  const address = objectsAddress(url, dataDir)
  if (address.provider === 'files') {
    // The installation's own folder moves with its data: it stays the same when it is moved or restored elsewhere.
    const [within, identity] = url === undefined ? (['files', 'own'] as const) : ([null, address.folder] as const)
    return { provider: 'files', address: `file:${address.folder}`, identity, derived: null, within }
  }
  const { provider, shown } = address
  const isAws = address.provider === 's3' && address.endpoint === undefined
  const ownHost =
    address.provider === 's3' && address.endpoint !== undefined ? new URL(address.endpoint).hostname : undefined
  return {
    provider,
    address: shown,
    identity: isAws ? address.bucket : shown.toLowerCase(),
    derived: isAws
      ? { region: address.region.toLowerCase(), provider: 'aws' }
      : ownHost === undefined
        ? null
        : regionOfHost(ownHost),
    within: null,
  }
}
function checkpointsSite({ KP_CHECKPOINTS_URL: url }: Settings): Omit<Site, 'name' | 'kind' | 'port'> {
  if (url === undefined)
    return {
      provider: 'postgresql',
      address: ownDatabaseLocation,
      identity: 'own',
      derived: null,
      within: 'postgresql',
    }
  const { host, address, identity } = serverAt(url)
  const schema = new URL(url).searchParams.get('schema') ?? 'public'
  return {
    provider: 'postgresql',
    address: `${address} (schema ${schema})`,
    identity: `${identity}?schema=${schema}`,
    derived: regionOfHost(host),
    within: null,
  }
}

function exportsSite(env: Settings): Omit<Site, 'name' | 'kind' | 'port'> {
  if (env.KP_FILES_URL !== undefined) return objectsSite(env.KP_FILES_URL, env.KP_DATA_DIR)
  return { provider: 'files', identity: null, address: `file:${exportsFolder(env)}`, derived: null, within: 'files' }
}
function snapshotKeysSite(env: Settings): Omit<Site, 'name' | 'kind' | 'port'> {
  if (areSnapshotKeysInBucket(env)) return objectsSite(env.KP_FILES_URL, env.KP_DATA_DIR)
  return {
    provider: 'files',
    identity: null,
    address: `file:${snapshotKeysFolder(env)}`,
    derived: null,
    within: env.KP_SNAPSHOT_KEYS_DIR === undefined ? 'files' : null,
  }
}

const processors = ['llm', 'presidio', 'posthog'] as const

/** Every place that stores or receives data with these settings. It connects to none. */
export function sitesOf(env: Settings): Site[] {
  const storeLocations = storeLocationsOf(env)
  const stated = parseRegions(env.KP_REGIONS)
  const here = resolve(env.KP_DATA_DIR)
  const own = { kind: 'store', port: null, identity: null } as const
  const database = env.DATABASE_URL === undefined ? undefined : serverAt(env.DATABASE_URL)
  const sites: Site[] = [
    {
      ...own,
      name: 'postgresql',
      provider: 'postgresql',
      address: storeLocations.postgresql === 'embedded' ? `embedded in ${here}` : (database?.address ?? null),
      derived: database ? regionOfHost(database.host) : null,
      within: storeLocations.postgresql === 'embedded' ? 'files' : null,
    },
    { ...own, name: 'files', provider: 'files', address: `file:${here}`, derived: null, within: null },
    {
      kind: 'store',
      name: 'ledger',
      port: 'ledger',
      provider: 'files',
      identity: null,
      address: `file:${ledgerFolder(env)}`,
      derived: null,
      within: env.KP_LEDGER_URL === undefined ? 'files' : null,
    },
    { kind: 'store', name: 'snapshot_keys', port: 'snapshot_keys', ...snapshotKeysSite(env) },
    { kind: 'store', name: 'exports', port: 'exports', ...exportsSite(env) },
    { kind: 'store', name: 'graph', port: 'graph', ...graphSite(env) },
    { kind: 'store', name: 'cache', port: 'cache', ...cacheSite(env) },
    { kind: 'store', name: 'objects', port: 'objects', ...objectsSite(env.KP_OBJECTS_URL, env.KP_DATA_DIR) },
    { kind: 'store', name: 'checkpoints', port: 'checkpoints', ...checkpointsSite(env) },
  ]
  if (storeLocations.limits === 'redis') {
    const { provider, address, derived } = cacheSite(env)
    sites.push({ ...own, name: 'limits', provider, address, derived, within: 'cache' })
  }
  if ((env.KP_BACKUP_DAYS ?? 0) > 0 || stated.has('backups'))
    sites.push({ ...own, name: 'backups', provider: 'copies', address: null, derived: null, within: null })
  if (env.KP_SMTP_URL !== undefined) {
    const { host, address } = serverAt(env.KP_SMTP_URL)
    const processor = { kind: 'processor', name: 'mail', port: null, provider: 'smtp', identity: null } as const
    sites.push({ ...processor, address, derived: regionOfHost(host), within: null })
  }
  if (env.KP_OIDC_ISSUER !== undefined) {
    const { origin, hostname } = new URL(env.KP_OIDC_ISSUER)
    const processor = { kind: 'processor', name: 'oidc', port: null, provider: 'openid', identity: null } as const
    sites.push({ ...processor, address: origin, derived: regionOfHost(hostname), within: null })
  }
  if (env.KP_PRESIDIO_URL !== undefined) {
    const { origin, hostname } = new URL(env.KP_PRESIDIO_URL)
    const processor = { kind: 'processor', name: 'presidio', port: null, provider: 'presidio', identity: null } as const
    sites.push({ ...processor, address: origin, derived: regionOfHost(hostname), within: null })
  }
  const telemetry = telemetryTarget(env)
  if (telemetry !== undefined) {
    const { origin, hostname } = new URL(telemetry.host)
    const processor = { kind: 'processor', name: 'posthog', port: null, provider: 'posthog', identity: null } as const
    sites.push({ ...processor, address: origin, derived: regionOfHost(hostname), within: null })
  }
  for (const name of processors)
    if (stated.has(name) && sites.every((site) => site.name !== name))
      sites.push({
        kind: 'processor',
        name,
        port: null,
        provider: stated.get(name)?.provider ?? name,
        address: null,
        identity: null,
        derived: null,
        within: null,
      })
  return sites
}

/** Each place with its jurisdiction from the table of regions. @throws BadVariable if KP_REGIONS contradicts an address */
export function assessLocations(env: Settings): StoreLocation[] {
  try {
    return storeLocationOf(sitesOf(env), parseRegions(env.KP_REGIONS))
  } catch (error) {
    if (error instanceof RangeError) throw new BadVariable('KP_REGIONS', error.message)
    throw error
  }
}

/** Sites with their jurisdictions. */
export const assessSites = (sites: readonly Site[], assessedLocations: readonly StoreLocation[]) =>
  sites.map(({ name, kind, port, provider, address }, index) => {
    const { region, source, provider: host, country, jurisdiction } = assessedLocations[index] ?? unplaced
    return { name, kind, port, provider, address, region, regionSource: source, host, country, jurisdiction }
  })
const unplaced = { region: null, source: null, provider: null, country: null, jurisdiction: 'unknown' } as const

/** @throws BadVariable with the name of the place if KP_RESIDENCY does not allow these settings */
export function refuseOutside(env: Settings): void {
  const fault = residencyFault(env.KP_RESIDENCY, assessLocations(env))
  if (fault !== undefined) throw new BadVariable('KP_RESIDENCY', fault)
}

const ownBuckets = {
  s3: 'the S3 bucket that the operator set for them, apart from the database and the objects',
  gcs: 'the Google Cloud Storage bucket that the operator set for them, apart from the database and the objects',
}
const words = {
  postgresql: {
    embedded: 'the embedded PostgreSQL on this installation’s machine',
    server: 'PostgreSQL on the operator’s server',
  },
  files: { folder: 'the data folder of this installation' },
  ledger: {
    folder: 'the data folder of this installation, outside the database',
    apart: 'the folder that the operator set for it, apart from the database',
  },
  snapshot_keys: {
    folder: 'the data folder of this installation, outside the database',
    apart: 'the folder that the operator set for it, apart from the database',
    s3: ownBuckets.s3,
    gcs: ownBuckets.gcs,
  },
  exports: { folder: 'the data folder of this installation', s3: ownBuckets.s3, gcs: ownBuckets.gcs },
  graph: { here: 'tables of this installation’s database', neo4j: 'the Neo4j that the operator connected' },
  cache: { here: 'the memory of this installation', redis: 'the Redis that the operator connected' },
  objects: {
    folder: 'a folder on this installation’s machine',
    s3: 'the S3 bucket that the operator connected',
    gcs: 'the Google Cloud Storage bucket that the operator connected',
  },
  checkpoints: { here: 'this installation’s database', server: 'the other PostgreSQL that the operator connected' },
}
const kindOf = (storeLocations: StoreLocations, store: string): string | undefined => {
  if (store === 'postgresql') return words.postgresql[storeLocations.postgresql]
  if (store === 'ledger') return words.ledger[storeLocations.ledger]
  if (store === 'snapshot_keys') return words.snapshot_keys[storeLocations.snapshot_keys]
  if (store === 'graph') return words.graph[storeLocations.graph]
  if (store === 'cache') return words.cache[storeLocations.cache]
  if (store === 'objects') return words.objects[storeLocations.objects]
  if (store === 'checkpoints') return words.checkpoints[storeLocations.checkpoints]
  if (store === 'exports') return words.exports[storeLocations.exports]
  return store === 'files' ? words.files[storeLocations.files] : undefined
}
/** Describes where a store is, for the inventory, with its region if known. Never contains an address. */
export function storeLocationNamed(
  storeLocations: StoreLocations,
  store: string,
  assessedLocations: readonly StoreLocation[] = [],
): string {
  const kind = kindOf(storeLocations, store) ?? 'this installation'
  const at = assessedLocations.find(({ name }) => name === store)
  if (at?.region == null) return kind
  return `${kind}, in ${at.region} (${[at.provider === 'own' ? null : at.provider, at.country].filter((word) => word !== null).join(', ')})`
}

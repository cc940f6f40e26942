import { isIP } from 'node:net'
import { z } from 'zod'
import { parseDataRegions, parseRegions } from '#lib/domains/residency/rules.ts'
import { EmailAddress } from '#lib/kernel/email-address.ts'

import { objectsAddress } from '#lib/stores/objects/address.ts'
import { sentinelsOf } from './sentinels.ts'

/** Thrown for an invalid setting; the message names the variable and says what it accepts. */
export class BadVariable extends Error {
  readonly variable: string
  constructor(variable: string, message: string) {
    super(`${variable}: ${message}`)
    this.name = 'BadVariable'
    this.variable = variable
  }
}

const flag = z
  .enum(['true', 'false', '1', '0'], 'must be true or false')
  .transform((text) => text === 'true' || text === '1')
const whole = (least: number, max: number) =>
  z
    .string()
    .regex(/^-?\d+$/, `must be a whole number from ${least} to ${max}`)
    .transform(Number)
    .pipe(z.number().min(least, `must be at least ${least}`).max(max, `must be at most ${max}`))
const url = (schemes: readonly string[]) =>
  z.string().refine(
    (text) => {
      const scheme = URL.canParse(text) ? new URL(text).protocol.slice(0, -1) : ''
      return schemes.includes(scheme)
    },
    `must be a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
  )

/** OpenID Connect Discovery 1.0 §3: https, without query or fragment; plain http only on this machine. */
const issuer = z.string().refine((text) => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, search, hash } = new URL(text)
  const isOwnMachine = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  return (protocol === 'https:' || (protocol === 'http:' && isOwnMachine)) && search === '' && hash === ''
}, 'must be the https:// issuer URL of an OpenID provider, exactly as the provider states it')

const period = 'must be -1 (forever) or a whole number of days from 1 to 36500'
/** A retention period in days; null: unlimited. */
const retainedDays = z
  .string()
  .regex(/^(-1|[1-9]\d{0,4})$/, period)
  .transform(Number)
  .pipe(z.number().max(36500, period))
  .transform((days) => (days === -1 ? null : days))

/** A server, or the name of a primary with `?sentinels=host:port,…`. */
const redisUrl = url(['redis', 'rediss']).superRefine((text, issue) => {
  if (!URL.canParse(text)) return
  try {
    sentinelsOf(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    issue.addIssue({ code: 'custom', message: error.message })
  }
})

/** The URL of a graph: Bolt, with or without TLS, at most one database in the path. */
const graphUrl = z.string().refine((text) => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, pathname, hash } = new URL(text)
  const isBolt = /^(bolt|neo4j)(\+s|\+ssc)?:$/.test(protocol)
  return isBolt && hostname !== '' && /^\/?[A-Za-z0-9.-]*$/.test(pathname) && hash === ''
}, 'must have the form bolt://user:password@host:7687/database, with bolt://, neo4j://, bolt+s:// or neo4j+s://')
const objectsUrl = z.string().superRefine((text, issue) => {
  try {
    objectsAddress(text, 'var')
  } catch (error) {
    if (!(error instanceof Error)) throw error
    issue.addIssue({ code: 'custom', message: error.message.replace(/^KP_OBJECTS_URL /, '') })
  }
})
/** A bucket; a folder has settings of its own. */
const bucketUrl = objectsUrl.refine((text) => /^(s3|gs):/.test(text), 'must be a bucket: s3://… or gs://…')
/** The URL of a PostgreSQL database; `schema` is the schema of the tables, by default `public`. */
const checkpointsUrl = url(['postgres', 'postgresql']).refine(
  (text) => /^[a-z_][a-z0-9_]{0,62}$/.test(new URL(text).searchParams.get('schema') ?? 'public'),
  'must have only lower-case letters, digits and _ in ?schema=',
)

const dataRegions = z.string().superRefine((text, issue) => {
  try {
    parseDataRegions(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    issue.addIssue({ code: 'custom', message: error.message })
  }
})
const regions = z.string().superRefine((text, issue) => {
  try {
    parseRegions(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    issue.addIssue({ code: 'custom', message: error.message })
  }
})

/** Whether the text is an IP address, alone or with a prefix length. */
function isAddressRange(item: string): boolean {
  const [address = '', length, ...rest] = item.trim().split('/')
  if (item.trim() === '') return true
  const bits = isIP(address) === 4 ? 32 : 128
  return (
    isIP(address) > 0 &&
    rest.length === 0 &&
    (length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= bits))
  )
}

/** A relative folder counts as missing (XDG Base Directory Specification). */
const absoluteFolder = z
  .string()
  .transform((folder) => (folder.startsWith('/') ? folder : undefined))
  .optional()

const variables = z.object({
  NODE_ENV: z.string().default('production'),
  PORT: whole(0, 65535).default(3000),
  HOST: z.string().default('127.0.0.1'),
  DATABASE_URL: url(['postgres', 'postgresql']).optional(),
  /** The address without the pooler, if DATABASE_URL leads to one in transaction mode: for what needs a session. */
  DATABASE_DIRECT_URL: url(['postgres', 'postgresql']).optional(),
  DATABASE_MIGRATION_URL: url(['postgres', 'postgresql']).optional(),
  KP_DATA_DIR: z.string().default('var'),
  KP_URL: url(['http', 'https']).optional(),
  KP_SECRET: z.string().min(32, 'must have at least 32 characters').optional(),
  /** The previous secret: values sealed with it are resealed at the start. */
  KP_SECRET_PREVIOUS: z.string().min(32, 'must have at least 32 characters').optional(),
  KP_ADMIN_EMAIL: EmailAddress.default('admin@localhost.localdomain'),
  KP_ADMIN_PASSWORD: z.string().min(12, 'must have at least 12 characters').optional(),
  KP_REGISTRATION: z.enum(['open', 'invite', 'closed'], 'must be open, invite or closed').default('open'),
  KP_EXPLICIT_CONSENT: flag.default(false),
  KP_LAWFUL_BASIS: z
    .enum(['consent', 'contract', 'legitimate_interest'], 'must be consent, contract or legitimate_interest')
    .default('consent'),
  KP_LEDGER_URL: z
    .string()
    .refine((text) => !/^[a-z][a-z0-9+.-]+:/i.test(text) || text.startsWith('file:'), 'must be a folder or a file: URL')
    .optional(),
  /** The file that records how far the ledger has come; by default in the user's data folder. */
  KP_LEDGER_MARK: z.string().min(1, 'must be a file').optional(),
  HOME: z.string().optional(),
  XDG_STATE_HOME: absoluteFolder,
  XDG_DATA_HOME: absoluteFolder,
  /** The folder of the snapshots' wrapped keys; by default `snapshot-keys` in the data folder. */
  KP_SNAPSHOT_KEYS_DIR: z.string().min(1, 'must be a folder').optional(),
  /** A bucket that several machines share, for prepared exports and snapshot keys; without it, folders of KP_DATA_DIR. */
  KP_FILES_URL: bucketUrl.optional(),
  KP_BACKUP_DAYS: whole(0, 36500).optional(),
  /** Days between complete readings of the connected stores for former erasures. */
  KP_SWEEP_DAYS: whole(1, 365).default(7),
  KP_RETENTION_NETWORK_DAYS: retainedDays.default(null),
  KP_RETENTION_ORG_DAYS: retainedDays.default(730),
  KP_RETENTION_PRIVATE_DAYS: retainedDays.default(365),
  KP_REDIS_URL: redisUrl.optional(),
  /** The knowledge graph; without it, tables of our database. */
  KP_GRAPH_URL: graphUrl.optional(),
  /** Attachments and documents; without it, a folder of KP_DATA_DIR. */
  KP_OBJECTS_URL: objectsUrl.optional(),
  /** LangGraph's tables; without it, a schema of our database. */
  KP_CHECKPOINTS_URL: checkpointsUrl.optional(),
  /** Prefixes of cache keys, separated by commas. Any project may report keys with these prefixes as derived from its messages. */
  KP_POINTER_PREFIXES: z
    .string()
    .refine(
      (text) => text === '' || text.split(',').every((one) => one.trim().length >= 3),
      'must be key prefixes of at least 3 characters, separated by commas',
    )
    .transform((text) =>
      text
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== ''),
    )
    .default([]),
  /** Whether keys in Redis with these prefixes and a longer or no TTL get a TTL of 24 hours. */
  KP_CACHE_TTL_LIMIT: flag.default(false),
  /** Whether an erasure deletes every key in Redis with an id of its project or conversation, also without a TTL. */
  KP_CACHE_INVALIDATE_PROJECT: flag.default(false),
  /** A Presidio analyzer that finds names and postal addresses; without it, none are found. */
  KP_PRESIDIO_URL: url(['http', 'https']).optional(),
  /** A PostHog that receives usage events; both or none. */
  KP_POSTHOG_HOST: url(['http', 'https']).optional(),
  KP_POSTHOG_KEY: z.string().optional(),
  /** `false` in either: no event is sent, whatever else is set. */
  KP_TELEMETRY: flag.default(true),
  BARDO_TELEMETRY: flag.default(true),
  /** The regions of stores and processors: `name=region@provider`, separated by commas. */
  KP_REGIONS: regions.default(''),
  /** The regions that agents, projects and conversations can require: `eu`, or countries of two letters. */
  KP_DATA_REGIONS: dataRegions.default('eu'),
  /** `eu`: the start fails if a store or processor is outside the European Economic Area or its region is not stated. */
  KP_RESIDENCY: z.enum(['eu'], 'must be eu').optional(),
  KP_SMTP_URL: url(['smtp', 'smtps']).optional(),
  KP_MAIL_FROM: z.string().default('KnowledgePulse <noreply@localhost.localdomain>'),
  KP_TRUSTED_PROXIES: z
    .string()
    .refine(
      (list) => list.split(',').every(isAddressRange),
      'must be addresses and ranges separated by commas, such as 10.0.0.0/8, 2001:db8::1',
    )
    .default(''),
  /** The bearer token that Prometheus sends to /metrics. */
  KP_METRICS_TOKEN: z.string().min(20, 'must have at least 20 characters').optional(),
  /** An address and port that serve only /metrics, without a token. */
  KP_METRICS_LISTEN: z
    .string()
    .regex(/^(?:\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}$/, 'must be an address and a port, such as 127.0.0.1:9464')
    .optional(),
  /** A collector that receives traces and metrics by OTLP over HTTP. */
  OTEL_EXPORTER_OTLP_ENDPOINT: url(['http', 'https']).optional(),
  OTEL_SERVICE_NAME: z.string().max(100, 'must have at most 100 characters').default('knowledgepulse'),
  /** The share of traces that is recorded. */
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number('must be a number from 0 to 1')
    .min(0, 'must be a number from 0 to 1')
    .max(1, 'must be a number from 0 to 1')
    .default(1),
  KP_SANITIZER_STRICT: flag.default(false),
  /** How many years after closing privacy requests are retained as proof. */
  KP_REQUESTS_YEARS: whole(1, 30).default(3),
  KP_PRIVACY_EMAIL: EmailAddress.optional(),
  /** During the grace period of an erasure: whether the subject's tokens work, and whether the person can sign in. */
  KP_GRACE_TOKENS: z.enum(['stop', 'keep'], 'must be stop or keep').default('stop'),
  KP_GRACE_SIGN_IN: z.enum(['keep', 'stop'], 'must be keep or stop').default('keep'),
  /** Sign-in with an OpenID provider; all three or none. */
  KP_OIDC_ISSUER: issuer.optional(),
  KP_OIDC_CLIENT_ID: z.string().optional(),
  KP_OIDC_CLIENT_SECRET: z.string().optional(),
  /** The name on the sign-in button. */
  KP_OIDC_NAME: z.string().max(60, 'must have at most 60 characters').optional(),
  KP_ROLE: z.enum(['web', 'worker', 'all'], 'must be web, worker or all').default('all'),
  KP_WEB_PROCESSES: whole(1, 64).default(1),
  /** How long a stopping server reports that it is not ready, and still serves, before it stops listening. */
  KP_DRAIN_SECONDS: whole(0, 300).default(0),
  KP_LIMITS: z.enum(['auto', 'memory', 'postgres', 'redis'], 'must be auto, memory, postgres or redis').default('auto'),
  /** For tests: a missing service fails the run instead of skipping the tests that need it. */
  KP_REQUIRE_SERVICES: flag.default(false),
})
export type Env = z.output<typeof variables>
/** The names of the settings that hold an address, a folder, a file or a secret. */
export const placeVariables = Object.keys(variables.shape).filter((name) =>
  /_(?:URL|DIR|MARK|ISSUER|HOST|KEY|ENDPOINT|SECRET(?:_PREVIOUS)?)$/.test(name),
)

/** The validated settings. An empty variable counts as missing. @throws BadVariable for the first invalid one */
export function readEnv(source: Record<string, string | undefined> = process.env): Env {
  const given = Object.fromEntries(
    Object.entries(source).filter(([name, text]) => name in variables.shape && text !== ''),
  )
  const parsed = variables.safeParse(given)
  if (parsed.success) {
    const { KP_LIMITS, KP_REDIS_URL, KP_WEB_PROCESSES } = parsed.data
    if (KP_LIMITS === 'redis' && KP_REDIS_URL === undefined)
      throw new BadVariable('KP_LIMITS', 'redis requires KP_REDIS_URL')
    if (KP_LIMITS === 'memory' && KP_WEB_PROCESSES > 1)
      throw new BadVariable('KP_LIMITS', 'several processes cannot share memory; use postgres or redis')
    checkPooler(parsed.data)
    checkProvider(parsed.data)
    checkBuckets(parsed.data)
    checkPostHog(parsed.data)
    return parsed.data
  }
  const issue = parsed.error.issues[0]
  throw new BadVariable(String(issue?.path[0] ?? 'environment'), issue?.message ?? 'cannot be used')
}

const providerVariables = ['KP_OIDC_ISSUER', 'KP_OIDC_CLIENT_ID', 'KP_OIDC_CLIENT_SECRET'] as const

function checkProvider(env: Env): void {
  const given = [...providerVariables, 'KP_OIDC_NAME' as const].find((name) => env[name] !== undefined)
  const missing = providerVariables.find((name) => env[name] === undefined)
  if (given !== undefined && missing !== undefined) throw new BadVariable(missing, `is required when ${given} is set`)
}

/** A pooler is between the application and the database only for the application's own user. */
function checkPooler({ DATABASE_DIRECT_URL, DATABASE_MIGRATION_URL, DATABASE_URL }: Env): void {
  if (DATABASE_DIRECT_URL === undefined) return
  if (DATABASE_URL === undefined) throw new BadVariable('DATABASE_URL', 'is required when DATABASE_DIRECT_URL is set')
  if (DATABASE_MIGRATION_URL === undefined)
    throw new BadVariable('DATABASE_MIGRATION_URL', 'is required when DATABASE_DIRECT_URL is set')
}

/**
 * The bucket of our files (snapshots and their keys) must not be the bucket of objects: applications write there, and copies of that bucket
 * would contain the keys.
 */
function checkBuckets({ KP_FILES_URL, KP_OBJECTS_URL, KP_DATA_DIR }: Env): void {
  if (KP_FILES_URL === undefined || KP_OBJECTS_URL === undefined) return
  const [files, objects] = [objectsAddress(KP_FILES_URL, KP_DATA_DIR), objectsAddress(KP_OBJECTS_URL, KP_DATA_DIR)]
  if (files.shown.toLowerCase() === objects.shown.toLowerCase())
    throw new BadVariable('KP_FILES_URL', 'must be another bucket than KP_OBJECTS_URL')
}

function checkPostHog({ KP_POSTHOG_HOST: host, KP_POSTHOG_KEY: key }: Env): void {
  if (host === undefined && key !== undefined)
    throw new BadVariable('KP_POSTHOG_HOST', 'is required when KP_POSTHOG_KEY is set')
  if (key === undefined && host !== undefined)
    throw new BadVariable('KP_POSTHOG_KEY', 'is required when KP_POSTHOG_HOST is set')
}

type TelemetrySettings = Pick<Env, 'KP_POSTHOG_HOST' | 'KP_POSTHOG_KEY' | 'KP_TELEMETRY' | 'BARDO_TELEMETRY'>
/** The server for usage events; undefined if none are sent. */
export function telemetryTarget(env: TelemetrySettings): { host: string; key: string } | undefined {
  const { KP_POSTHOG_HOST: host, KP_POSTHOG_KEY: key, KP_TELEMETRY, BARDO_TELEMETRY } = env
  return host === undefined || key === undefined || !KP_TELEMETRY || !BARDO_TELEMETRY ? undefined : { host, key }
}

/** Whether emails are sent. Otherwise they are only stored in a folder, from which an admin can forward them. */
export const hasMailServer = (env: Pick<Env, 'KP_SMTP_URL'>): boolean => env.KP_SMTP_URL !== undefined

export interface OpenIdProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** The name on the sign-in button. */
  name: string
}
/** The OpenID provider for sign-in; undefined without one. */
export function openIdProvider(env: Env): OpenIdProvider | undefined {
  const { KP_OIDC_ISSUER: issuer, KP_OIDC_CLIENT_ID: clientId, KP_OIDC_CLIENT_SECRET: clientSecret } = env
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined
  return { issuer, clientId, clientSecret, name: env.KP_OIDC_NAME ?? new URL(issuer).host }
}

/** The public address of this installation: KP_URL, or the address that it listens on. */
export const publicUrl = (env: Env): string =>
  (
    env.KP_URL ?? `http://${env.HOST === '127.0.0.1' || env.HOST === '0.0.0.0' ? 'localhost' : env.HOST}:${env.PORT}`
  ).replace(/\/$/, '')

const clientVariables = z.object({
  KP_URL: variables.shape.KP_URL,
  KP_TOKEN: z.string().optional(),
  XDG_CONFIG_HOME: absoluteFolder,
  NO_COLOR: z.string().optional(),
  KP_PASSPHRASE_FILE: z.string().optional(),
  /** Set by npm: the folder in which the person ran `npm run`. */
  INIT_CWD: z.string().optional(),
  npm_lifecycle_event: z.string().optional(),
})
export type ClientEnv = z.output<typeof clientVariables>

/** The environment variables of `kp`. @throws BadVariable */
export function readClientEnv(source: Record<string, string | undefined> = process.env): ClientEnv {
  const given = Object.fromEntries(
    Object.entries(source).filter(([name, text]) => name in clientVariables.shape && text !== ''),
  )
  const parsed = clientVariables.safeParse(given)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new BadVariable(String(issue?.path[0] ?? 'environment'), issue?.message ?? 'cannot be used')
}

const storeVariables = z.object({
  KP_CHECKPOINTS_URL: variables.shape.KP_CHECKPOINTS_URL,
  KP_GRAPH_URL: variables.shape.KP_GRAPH_URL,
  KP_REDIS_URL: variables.shape.KP_REDIS_URL,
  KP_OBJECTS_URL: variables.shape.KP_OBJECTS_URL,
})
/** The addresses of an application's stores, without an installation. @throws BadVariable */
export function readStoreEnv(source: Readonly<Record<string, string | undefined>>): z.output<typeof storeVariables> {
  const given = Object.fromEntries(
    Object.entries(source).filter(([name, text]) => name in storeVariables.shape && text !== ''),
  )
  const parsed = storeVariables.safeParse(given)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new BadVariable(String(issue?.path[0] ?? 'environment'), issue?.message ?? 'cannot be used')
}

import { createAccess } from './access/access.ts'
import type { Caller } from './access/actor.ts'
import { trustedProxies } from './access/client-address.ts'
import { nextAuthOptions } from './access/next-auth.ts'
import { createSessions } from './access/sessions.ts'
import { storageAdmission } from './domains/quotas/admission.ts'
import { type Env, openIdProvider } from './env.ts'
import { admission } from './http/admission.ts'
import { clientAddresses, followClientSockets } from './http/client-sockets.ts'
import { createHandle } from './http/handle.ts'
import { createRoute } from './http/route.ts'
import type { Clock } from './kernel/clock.ts'
import type { Context } from './kernel/context.ts'
import { logFault } from './kernel/fault-log.ts'
import { newId } from './kernel/ids.ts'
import { lazily } from './kernel/lazily.ts'
import type { RawInput } from './kernel/operation.ts'
import type { UseCase } from './kernel/use-case.ts'
import { type Offer, observer } from './observed.ts'
import { deriveKey } from './secret.ts'
import type { Services } from './services.ts'
import { asProblem } from './stores/postgres/database.ts'

/** The dependencies of HTTP, pages and sign-in. */
export interface DoorParts
  extends Pick<
    Services,
    | 'db'
    | 'gate'
    | 'secret'
    | 'origin'
    | 'limiter'
    | 'metrics'
    | 'lookup'
    | 'accounts'
    | 'settings'
    | 'restored'
    | 'tokens'
    | 'telemetry'
  > {
  env: Env
  clock: Clock
  /** How long an erasure or registration waits for others, in milliseconds. */
  admissionPatience?: number | undefined
  /** Receives telemetry events if telemetry is disabled. */
  overheard?: Offer | undefined
}

/** Per address: pages, the OpenAPI document and unknown addresses of the API. An office behind one address opens fewer. */
const pagesPerMinute = 3_000

/**
 * How many of these requests a process runs concurrently, and how many wait. Each uses a database connection most of the time, of which
 * there are ten. One tenant can take a quarter of the erasures, and one network half of the registrations.
 */
const pools = {
  erasures: { atOnce: 16, waiting: 400, share: 1 / 4 },
  registrations: { atOnce: 4, waiting: 400, share: 1 / 2 },
}

const refusedByDatabase = (error: unknown): never => {
  throw asProblem(error)
}

export function createDoors({
  env,
  clock,
  db,
  gate,
  secret,
  origin,
  limiter,
  metrics,
  lookup,
  accounts,
  restored,
  settings,
  tokens,
  telemetry,
  admissionPatience = 1_500,
  overheard,
}: DoorParts) {
  const offer = telemetry.isOn ? telemetry.offer : overheard
  const people = lazily(() => createSessions({ db, clock, secret: secret(), origin }))
  const access = createAccess({
    tokens: lookup,
    limiter,
    session: (cookie) => people().caller(cookie),
    anonymousReading: settings.anonymousReading,
    keepRefusal: tokens.keepRefusal,
    countUse: tokens.use.count,
  })
  const countPage = (from: string) => access.countAddress('page', from, pagesPerMinute)
  const handle = createHandle({
    access,
    admit: restored.admit,
    pools: {
      erasures: admission({ ...pools.erasures, patience: admissionPatience }),
      registrations: admission({ ...pools.registrations, patience: admissionPatience }),
    },
    countPage,
    gate,
    metrics,
    origin,
    hashKey: lazily(() => deriveKey(secret(), 'idempotency')),
    admitStorage: storageAdmission(db).admit,
    metricsToken: env.KP_METRICS_TOKEN,
    observe: offer && observer(offer),
  })
  const proxies = lazily(() => trustedProxies(env.KP_TRUSTED_PROXIES))
  const address = () => clientAddresses.getStore() ?? 'unknown'

  return {
    handle,
    countPage,
    route: createRoute(handle),
    proxies,
    followClientSockets: () => followClientSockets(proxies),
    /** Options for one request: what is recorded about a sign-in comes from its headers. */
    authOptions: (headers: { get(name: string): string | null }) =>
      nextAuthOptions({
        accounts,
        provider: openIdProvider(env),
        secret: secret(),
        publicUrl: origin,
        address,
        header: (name) => headers.get(name) ?? '',
        refused: metrics.refused,
        reportFault: (error) => logFault(error, { operationId: 'signIn' }),
      }),
    /** The person behind the browser's cookies, from the current state of the database. */
    async personFromCookies(cookies: string): Promise<Caller | undefined> {
      await restored.admit()
      return people().caller(cookies)
    },
    /** Throws while a restored database still contains erased data. */
    admitPage: restored.admit,
    /** Runs a use case for the person behind a page, through the same pipeline. @throws Problem */
    async asPerson(cookies: string, useCase: UseCase, input: Partial<RawInput> = {}): Promise<unknown> {
      await restored.admit()
      const caller = await access.identify(
        { headers: { get: (name) => (name === 'cookie' ? cookies : null) } },
        address(),
        useCase.operation,
      )
      const ctx: Context = { actor: caller.actor, ip: address(), requestId: newId('req'), gate, now: clock.now() }
      const given = { params: {}, query: {}, headers: {}, body: undefined, ...input }
      return (await useCase.execute(ctx, given).catch(refusedByDatabase)).body
    },
  }
}

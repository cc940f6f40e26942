import { type Caller, createAccess, type TokenLookup } from '#lib/access/access.ts'
import { trustedProxies } from '#lib/access/client-address.ts'
import type { Limiter } from '#lib/access/limiter.ts'
import { nextAuthOptions } from '#lib/access/next-auth.ts'
import { createSessions } from '#lib/access/sessions.ts'
import { type Env, openIdProvider } from '#lib/config/env.ts'
import { deriveKey } from '#lib/config/secret.ts'
import type { FactorPolicy } from '#lib/domains/accounts/second-factors/rules.ts'
import type { accountsService } from '#lib/domains/accounts/service.ts'
import type { restoredDatabase } from '#lib/domains/erasure/ledger/restored-database.ts'
import { storageAdmission } from '#lib/domains/quotas/admission.ts'
import type { settingsService } from '#lib/domains/settings/service.ts'
import { type CaptureEvent, observer, type Telemetry } from '#lib/domains/telemetry/capture.ts'
import type { tokensService } from '#lib/domains/tokens/service.ts'
import { memoize } from '#lib/kernel/concurrency.ts'
import type { Clock, Context, PipelinePorts } from '#lib/kernel/context.ts'
import { logFault } from '#lib/kernel/fault-log.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { RawInput } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { asProblem } from '#lib/stores/postgres/problems.ts'
import { admissionPools } from './admission.ts'
import type { ApiRequest, ApiResponse } from './api-request.ts'
import { clientAddresses, followClientSockets, pageFaults } from './client-sockets.ts'
import { createHandle, type Handle, mayBeRefusedAfterwards } from './handle.ts'
import { createMcp } from './mcp/endpoint.ts'
import type { Metrics } from './metrics.ts'
import { auditedOnce, type PageView } from './page-view.ts'

/** Next leaves `params` undefined if the path has none. */
type RouteContext = { params: Promise<Record<string, string | string[]> | undefined> }
export type RouteHandler = (request: Request, context: RouteContext) => Promise<Response>

/** Pulls pieces as fast as the client reads. */
function encoded(pieces: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}

function toResponse({ status, headers, body }: ApiResponse): Response {
  const isWhole = body === null || typeof body === 'string' || body instanceof Uint8Array
  const content = isWhole ? (body as BodyInit | null) : encoded(body)
  return new Response(content, { status, headers })
}

/** Text with invalid percent-encoding is returned unchanged, and the operation's schema rejects it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Next's route handlers. Without a socket in this process the address is unknown, and all clients without a token share one rate limit. */
const createRoute =
  (handle: Handle) =>
  (useCase: UseCase): RouteHandler =>
  async (request, { params }) => {
    const named = Object.entries((await params) ?? {}).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join('/') : decoded(value),
    ])
    return toResponse(
      await handle(useCase, request, {
        params: Object.fromEntries(named),
        address: clientAddresses.getStore() ?? 'unknown',
      }),
    )
  }

/** A route handler of an address that is no operation. */
const createPlainRoute =
  (endpoint: (request: ApiRequest, address: string) => Promise<ApiResponse>) =>
  async (request: Request): Promise<Response> =>
    toResponse(await endpoint(request, clientAddresses.getStore() ?? 'unknown'))

/** The dependencies of HTTP, pages and sign-in. */
export interface EntryPointDeps {
  env: Env
  clock: Clock
  db: Database
  pipeline: PipelinePorts
  secret(): string
  origin: string
  limiter: Limiter
  metrics: Metrics
  lookup: TokenLookup
  accounts: ReturnType<typeof accountsService>
  settings: Pick<ReturnType<typeof settingsService>, 'anonymousReading'>
  /** Who must have a second factor. */
  factorPolicy(): Promise<FactorPolicy>
  restored: ReturnType<typeof restoredDatabase>
  tokens: ReturnType<typeof tokensService>
  telemetry: Telemetry
  /** How long an erasure, a registration or a contribution waits for others, in milliseconds. */
  admissionPatience?: number | undefined
  /** All operations, for the tools of MCP. */
  useCases(): readonly UseCase[]
  version: string
  /** Receives telemetry events if telemetry is disabled. */
  overheard?: CaptureEvent | undefined
}

/** Per address: pages, the OpenAPI document and unknown addresses of the API. An office behind one address opens fewer. */
const pagesPerMinute = 3_000

/** @throws the error as a problem, which a page request notes for its status */
function refuse(error: unknown): never {
  const problem = asProblem(error)
  const fault = pageFaults.getStore()
  if (fault && Problem.is(problem) && problem.code === 'unavailable') fault.isUnavailable = true
  throw problem
}

/** Everything through which requests arrive: route handlers, the API server, pages and sign-in. */
export function createEntryPoints(deps: EntryPointDeps) {
  const { accounts, clock, db, env, limiter, lookup, metrics, origin, overheard, pipeline, restored, secret } = deps
  const { admissionPatience = 1_500, settings, telemetry, tokens } = deps
  const offer = telemetry.isOn ? telemetry.offer : overheard
  const people = memoize(() => createSessions({ db, clock, secret: secret(), origin, factorPolicy: deps.factorPolicy }))
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
    confirm: restored.confirm,
    pools: admissionPools({ patience: admissionPatience }),
    countPage,
    pipeline,
    metrics,
    origin,
    hashKey: memoize(() => deriveKey(secret(), 'idempotency')),
    admitStorage: storageAdmission(db).admit,
    metricsToken: env.KP_METRICS_TOKEN,
    observe: offer && observer(offer),
  })
  const mcp = createMcp({
    access,
    admit: restored.admit,
    countPage,
    handle,
    origin,
    version: deps.version,
    useCases: deps.useCases,
  })
  const proxies = memoize(() => trustedProxies(env.KP_TRUSTED_PROXIES))
  const address = () => clientAddresses.getStore() ?? 'unknown'

  return {
    handle,
    countPage,
    mcp,
    route: createRoute(handle),
    plainRoute: createPlainRoute,
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
      const admission = await restored.admit()
      const caller = await people().caller(cookies)
      restored.confirm(admission)
      return caller
    },
    /** Throws while a restored database still contains erased data. */
    admitPage: async (): Promise<void> => void (await restored.admit()),
    /** Runs a use case for the person behind a page, through the same pipeline. @throws Problem */
    async asPerson(
      cookies: string,
      useCase: UseCase,
      input: Partial<RawInput> = {},
      view?: PageView,
    ): Promise<unknown> {
      const run = async () => {
        const admission = await restored.admit()
        const caller = await access.identify(
          { headers: { get: (name) => (name === 'cookie' ? cookies : null) } },
          address(),
          useCase.operation,
        )
        const ctx: Context = {
          actor: caller.actor,
          ip: address(),
          requestId: newId('req'),
          pipeline: view ? auditedOnce(pipeline, view) : pipeline,
          now: clock.now(),
        }
        const given = { params: {}, query: {}, headers: {}, body: undefined, ...input }
        const { body } = await useCase.execute(ctx, given)
        if (mayBeRefusedAfterwards(useCase.operation)) restored.confirm(admission)
        return body
      }
      return run().catch(refuse)
    },
  }
}

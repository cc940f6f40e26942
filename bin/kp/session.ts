import { setTimeout as delay } from 'node:timers/promises'
import {
  open,
  type RequestInput,
  RequestRefused,
  type ResponseOf,
  send,
  type UploadedBody,
} from '#lib/client/request.ts'
import { readClientEnv } from '#lib/config/env.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { type Config, checkWritable, configFolder, readConfig, removeConfig, writeConfig } from './config.ts'
import { exitCodes, Failure, usageFailure } from './failure.ts'
import { type Invocation, resolvePath } from './invocation.ts'
import { openPace, type RequestPace } from './pace.ts'
import { isLoopback, registryName } from './pins.ts'
import { openTerminal } from './terminal.ts'

/** The options of every command. */
export interface GlobalOptions {
  url?: string
  token?: string
  json?: boolean
  quiet?: boolean
  color?: boolean
}

const defaultUrl = 'http://localhost:3000'
/** Timeout of a request in milliseconds. */
const patience = 60_000

const withoutSlash = (url: string): string => url.replace(/\/{1,8}$/, '')

function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw usageFailure(`--url must be an address such as ${defaultUrl}, not "${text}".`)
  if (url.username || url.password) throw usageFailure('--url must not contain a user name or a password. Use --token.')
  return withoutSlash(text)
}

/** Everything that a command works with: registry, token, terminal, files. */
export function openCommandSession(invocation: Invocation, options: GlobalOptions) {
  const env = readClientEnv(invocation.env)
  const terminal = openTerminal(invocation, {
    json: options.json ?? false,
    quiet: options.quiet ?? false,
    color: options.color !== false && env.NO_COLOR === undefined,
  })
  const folder = configFolder(env, invocation)
  const stored = readConfig(folder)
  const named = options.url ?? env.KP_URL
  const url = named === undefined ? withoutSlash(stored?.url ?? defaultUrl) : checkedUrl(named)
  // A token is only sent to its own registry.
  const isStoredHere = stored !== undefined && registryName(stored.url) === registryName(url)
  const given = options.token ?? env.KP_TOKEN
  const token = given ?? (isStoredHere ? stored.token : undefined)
  const npmRun = env.npm_lifecycle_event === 'kp'
  let refusals = 0
  let isWarned = false

  async function awaitWindow(pace: RequestPace, requestClass: 'read' | 'write'): Promise<void> {
    const until = performance.now() + pace.pause(requestClass)
    if (performance.now() >= until) return
    const left = () => Math.ceil((until - performance.now()) / 1000)
    terminal.note(`The ${requestClass} limit of this minute is reached. Continuing in ${left()} s.`)
    while (performance.now() < until) await delay(Math.min(1000, until - performance.now()))
  }

  function warnOfPlainText(what = 'token'): void {
    if (isWarned || !url.startsWith('http:') || isLoopback(url)) return
    isWarned = true
    terminal.warning(`The connection to ${url} is not encrypted, so others on the network can read the ${what}.`)
  }

  /**
   * Waits when the rate-limit window is used up and records the window of the response. Waits after the first 429 of a
   * run, and fails at the second.
   */
  async function paced<R extends { headers: Headers }>(
    operation: OperationShape,
    more: { token?: string | undefined },
    ask: (token: string | undefined) => Promise<R>,
  ): Promise<R> {
    // Public operations are called without a token, because a revoked token would be rejected.
    const sent = 'token' in more ? more.token : operation.permission === 'public' ? undefined : token
    if (sent !== undefined) warnOfPlainText()
    const { limit } = operation
    if (limit === 'exempt') return checkedAnswer(await ask(sent))
    const pace = openPace(folder, url, sent)
    for (;;) {
      await awaitWindow(pace, limit)
      try {
        const answer = checkedAnswer(await ask(sent))
        pace.heed(limit, answer.headers)
        return answer
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.problem.code !== 'rate_limited') throw error
        pace.refused(limit, error.retryAfter ?? 60)
        if (++refusals > 1) throw error
      }
    }
  }

  function checkedAnswer<R extends { headers: Headers }>(answer: R): R {
    const version = answer.headers.get('kp-schema-version')
    if (version === 'v1') return answer
    throw new Failure(
      'not_a_registry',
      version === null
        ? `${url} answered, but not like a KnowledgePulse registry.`
        : `${url} uses API version ${version}, but this kp uses v1.`,
      {
        advice: version === null ? 'Check the address (--url or KP_URL).' : 'Use a kp of that version.',
        exitCode: exitCodes.unreachable,
      },
    )
  }

  return {
    invocation,
    terminal,
    url,
    token,
    folder,
    /** The stored configuration, if it is for this registry. */
    stored: isStoredHere ? stored : undefined,
    /** The stored configuration, if it is for another registry. */
    storedElsewhere: stored && !isStoredHere ? stored : undefined,
    /** Whether the token in use is the stored one, and not one given for this run. */
    usesStored: given === undefined && isStoredHere,
    /** How this user calls kp with these words. */
    command: (words: string): string => `${npmRun ? 'npm run --silent kp --' : 'kp'} ${words}`,
    /** Resolves a path that the user typed. */
    pathOf: (path: string): string => resolvePath(invocation, path),
    warnOfPlainText,
    checkedAnswer,
    /** Checks before any request that the token can be stored. @throws when it cannot */
    checkStorage: (): void => checkWritable(folder),
    remember: (config: Config): void => writeConfig(folder, config),
    forget: (): boolean => removeConfig(folder),
    /** Like lib/client's `send`, to this registry and within its rate limits. */
    call: <O extends OperationShape>(
      operation: O,
      parts: RequestInput<O> = {},
      more: { idempotencyKey?: string; token?: string | undefined } = {},
    ): Promise<ResponseOf<O>> =>
      paced(operation, more, (sent) =>
        send(operation, parts, { ...more, baseUrl: url, token: sent, signal: AbortSignal.timeout(patience) }),
      ),
    /** Streams a body without a timeout. Calls `body` again when the request is repeated. */
    upload: <O extends OperationShape>(
      operation: O,
      body: () => UploadedBody,
      parts: RequestInput<O> = {},
    ): Promise<ResponseOf<O>> =>
      paced(operation, {}, (sent) => send(operation, parts, { upload: body(), baseUrl: url, token: sent })),
    /** Like lib/client's `open`. */
    stream: <O extends OperationShape>(operation: O, parts: RequestInput<O> = {}): Promise<Response> =>
      paced(operation, {}, (sent) => open(operation, parts, { baseUrl: url, token: sent })),
  }
}
export type CommandSession = ReturnType<typeof openCommandSession>

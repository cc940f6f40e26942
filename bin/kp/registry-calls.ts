import { setTimeout as delay } from 'node:timers/promises'
import {
  open,
  type RequestInput,
  RequestRefused,
  type ResponseOf,
  send,
  type UploadedBody,
} from '#lib/client/request.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { exitCodes, Failure } from './failure.ts'
import { openPace, type RequestPace } from './pace.ts'
import { isLoopback } from './pins.ts'
import type { Terminal } from './terminal.ts'

/** Timeout of a request in milliseconds. */
const patience = 60_000

/** The answer. @throws Failure if no registry of this API version gave it */
function checkedAnswer<R extends { headers: Headers }>(url: string, answer: R): R {
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

/** Waits until the rate limit allows a request. */
async function awaitWindow(terminal: Terminal, pace: RequestPace, requestClass: 'read' | 'write'): Promise<void> {
  const until = performance.now() + pace.pause(requestClass)
  if (performance.now() >= until) return
  const left = () => Math.ceil((until - performance.now()) / 1000)
  terminal.note(`The ${requestClass} limit of this minute is reached. Continuing in ${left()} s.`)
  while (performance.now() < until) await delay(Math.min(1000, until - performance.now()))
}

interface Registry {
  terminal: Terminal
  url: string
  /** The token of calls that name no other. */
  token: string | undefined
  /** Where the rate limits are stored. */
  folder: string
}

/** Calls operations of a registry, within its rate limits. */
export function openRegistryCalls({ terminal, url, token, folder }: Registry) {
  let refusals = 0
  let isWarned = false

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
    if (limit === 'exempt') return checkedAnswer(url, await ask(sent))
    const pace = openPace(folder, url, sent)
    for (;;) {
      await awaitWindow(terminal, pace, limit)
      try {
        const answer = checkedAnswer(url, await ask(sent))
        pace.heed(limit, answer.headers)
        return answer
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.problem.code !== 'rate_limited') throw error
        pace.refused(limit, error.retryAfter ?? 60)
        if (++refusals > 1) throw error
      }
    }
  }

  return {
    warnOfPlainText,
    checkedAnswer: <R extends { headers: Headers }>(answer: R): R => checkedAnswer(url, answer),
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

import { type ProblemDocument, RequestRefused } from '#lib/client/request.ts'
import { BadVariable } from '#lib/config/env.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { Issue } from '#lib/kernel/problem.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { DatabaseFault } from '#lib/stores/postgres/fault.ts'

/** 0 done, 1 rejected or failed, 2 wrong usage, 3 unreachable, 4 not signed in or not allowed. */
export const exitCodes = { done: 0, failed: 1, usage: 2, unreachable: 3, unauthorised: 4 } as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** An error that `kp` itself reports: what happened, what was not changed, and what to do. */
export class Failure extends Error {
  readonly code: string
  readonly exitCode: ExitCode
  readonly advice: string | undefined

  constructor(
    code: string,
    message: string,
    { advice, exitCode = exitCodes.failed }: { advice?: string; exitCode?: ExitCode } = {},
  ) {
    super(message)
    this.name = 'Failure'
    this.code = code
    this.exitCode = exitCode
    this.advice = advice
  }
}

export const usageFailure = (message: string, advice?: string): Failure =>
  new Failure('usage', message, { exitCode: exitCodes.usage, ...(advice !== undefined && { advice }) })

/** An error as printed on the terminal and as JSON. */
export interface PrintedError {
  code: string
  message: string
  advice?: string
  status?: number
  request_id?: string
  issues?: Issue[]
  exitCode: ExitCode
}

function exitCodeOf({ status, code }: ProblemDocument): ExitCode {
  if (status === 0 || status === 502 || status === 503 || status === 504) return exitCodes.unreachable
  if (status === 401 || code === 'forbidden' || code === 'scope_too_small') return exitCodes.unauthorised
  return exitCodes.failed
}

/** The innermost system error, because `fetch failed` is not specific. */
function networkReason(cause: unknown): string {
  for (let inner = cause; inner instanceof Error; inner = inner.cause) {
    if (inner.name === 'TimeoutError') return 'the connection timed out'
    const reasons: Record<string, string> = {
      ECONNREFUSED: 'connection refused',
      ENOTFOUND: 'the host does not exist',
      EAI_AGAIN: 'the host name could not be resolved',
      ECONNRESET: 'the connection broke',
      UND_ERR_SOCKET: 'the connection broke',
      UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
      UND_ERR_HEADERS_TIMEOUT: 'the connection timed out',
    }
    const code = errorCode(inner) ?? (inner instanceof AggregateError ? errorCode(inner.errors[0]) : undefined)
    if (code !== undefined) return reasons[code] ?? code
  }
  return 'the connection failed'
}

const seconds = (count: number): string => (count === 1 ? '1 second' : `${count} seconds`)

function refusalAdvice(
  { problem: { code, status }, retryAfter }: RequestRefused,
  command: (words: string) => string,
): string | undefined {
  if (code === 'rate_limited') return `Nothing was changed. Run it again in ${seconds(retryAfter ?? 60)}.`
  if (code === 'token_missing' || code === 'sign_in_needed')
    return `Sign in with ${command('login <token>')}, or get a token with ${command('register')}.`
  if (code === 'scope_too_small') return 'Nothing was changed. Use a token that has this scope.'
  if (status === 401) return `Nothing was changed. Get another token, then ${command('login <token>')}.`
  if (status === 503) return `Run it again in ${seconds(retryAfter ?? 5)}.`
  if (status >= 500)
    return 'Data that was stored before is still there. Send the request id to the operator of the registry, who can find it in the log.'
  return undefined
}

/** The place of an issue as the user knows it, without the part of the request. */
const placeOf = ([first, ...rest]: Issue['path']): string =>
  (first === 'params' || first === 'query' || first === 'headers' ? rest : [first, ...rest]).join('.') || 'the body'

function tellRefusal(error: RequestRefused, url: string, command: (words: string) => string): PrintedError {
  const { problem } = error
  const exitCode = exitCodeOf(problem)
  if (problem.code === 'unreachable')
    return {
      code: 'unreachable',
      message: `No answer from ${url}: ${networkReason(error.cause)}.`,
      advice:
        'Start the registry (npm start), or choose another one with --url. Everything that was confirmed before is stored.',
      exitCode,
    }
  if (problem.code === 'unknown')
    return {
      code: 'not_a_registry',
      message: `${url} answered with ${problem.title}, which is not an answer of a KnowledgePulse registry.`,
      advice: 'Check the address (--url or KP_URL).',
      status: problem.status,
      exitCode,
    }
  const named = problem.issues?.slice(0, 10).map(({ path, message }) => `${placeOf(path)} ${message}`)
  const text = problem.detail ?? `${problem.title}.`
  const advice = refusalAdvice(error, command)
  return {
    code: problem.code,
    message: named && named.length > 0 ? `${text} ${named.join('; ')}.` : text,
    ...(advice !== undefined && { advice }),
    status: problem.status,
    ...(problem.instance !== undefined && { request_id: problem.instance }),
    ...(problem.issues && { issues: problem.issues }),
    exitCode,
  }
}

const fileReasons: Record<string, string> = {
  ENOENT: 'no such file or folder',
  ENOTDIR: 'a part of this path is not a folder',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EROFS: 'this file system is read-only',
  ENOSPC: 'no space is left on the disk',
}
/** A system error about a file in words; undefined for others. */
function fileReason(error: unknown): string | undefined {
  const code = errorCode(error) ?? ''
  // Node names no path when a folder is read as a file.
  if (code === 'EISDIR') return 'This is a folder, not a file.'
  const path = error instanceof Error && 'path' in error ? error.path : undefined
  const reason = fileReasons[code]
  return reason === undefined || typeof path !== 'string' ? undefined : `${path}: ${reason}.`
}

/** Describes any error without a stack. `url`: the registry. `command`: formats a call of `kp` for this user. */
export function describeError(error: unknown, url: string, command: (words: string) => string): PrintedError {
  if (error instanceof RequestRefused) return tellRefusal(error, url, command)
  if (error instanceof Failure)
    return {
      code: error.code,
      message: error.message,
      ...(error.advice !== undefined && { advice: error.advice }),
      exitCode: error.exitCode,
    }
  if (error instanceof BadVariable) return { code: 'bad_variable', message: error.message, exitCode: exitCodes.usage }
  if (error instanceof DatabaseFault)
    return {
      code: error.code.toLowerCase(),
      message: error.message,
      // The database answered with a rejection.
      exitCode: error.code === 'IN_USE' || error.code === 'SECRET_REPLACED' ? exitCodes.failed : exitCodes.unreachable,
    }
  if (Problem.is(error))
    return {
      code: error.code,
      message: error.detail ?? `${error.title}.`,
      exitCode: error.status === 503 ? exitCodes.unreachable : exitCodes.failed,
    }
  const code = errorCode(error)
  const message = error instanceof Error ? error.message : String(error)
  if (code !== undefined && /^E[A-Z]+$/.test(code))
    return { code: code.toLowerCase(), message: fileReason(error) ?? `${message}.`, exitCode: exitCodes.failed }
  return {
    code: 'defect',
    message: `kp failed: ${message.split('\n')[0] ?? ''}`,
    advice:
      'Everything that was confirmed before is stored. This is a bug in kp. Please report it with the command that you ran.',
    exitCode: exitCodes.failed,
  }
}

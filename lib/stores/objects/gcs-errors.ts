import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'

/** The HTTP status or the system's name of the error, without any part of the request. */
export function gcsErrorName(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^[A-Za-z0-9_]{1,64}$/.test(code) ? code : 'unknown fault'
}
/** Maps the HTTP status and Google's reason. A 404 here is about the bucket: missing objects are not an error. */
export function gcsRefusal(error: unknown): StoreRefusal | undefined {
  const name = gcsErrorName(error)
  const { errors } = error instanceof Error && 'errors' in error ? error : {}
  const reasons = Array.isArray(errors) ? errors.map((one: unknown) => JSON.stringify(one)).join() : ''
  if (name === '401' || /invalid_grant|authError/.test(reasons)) return 'credentials'
  if (name === '403') return /rateLimitExceeded/i.test(reasons) ? undefined : 'access_denied'
  return name === '404' ? 'missing' : undefined
}
export const asGcsProblem = (error: unknown): Problem =>
  Problem.is(error)
    ? error
    : unusableStore(gcsRefusal(error), {
        detail: `The object store (Google Cloud Storage) rejected the request (${gcsErrorName(error)}). No data was lost. Try again later.`,
      })
export const orProblem = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work
  } catch (error) {
    throw asGcsProblem(error)
  }
}
/** Temporary errors: a reused connection that was closed, a busy server. */
const passing = /^(ECONNRESET|EPIPE|ETIMEDOUT|408|429|50[0234])$/
/** Retries. Only for repeatable requests. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (const rest of [50, 500])
    try {
      return await ask()
    } catch (error) {
      if (!passing.test(gcsErrorName(error))) throw error
      await delay(rest)
    }
  return ask()
}
export async function* bytesOrProblem(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw asGcsProblem(error)
  }
}

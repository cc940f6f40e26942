import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'
import { connectRedis } from '../redis-connection.ts'

type Link = Awaited<ReturnType<typeof connect>>
type Client = Link['client']

/** Time limits of a connection and of an answer, in milliseconds. */
const connecting = 2_000
const answering = 15_000

/** The error's name by Redis or the system, without the command, which contains keys, and without the address. */
export function errorNameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown fault'
  return errorCode(error) ?? /^[A-Z]{3,20}(?= )/.exec(error.message)?.[0] ?? error.name
}
/**
 * Maps the first word of a Redis error. READONLY, LOADING and MASTERDOWN end with a failover or a start, MISCONF when the disk has space
 * again.
 */
export function redisRefusal(reason: string): StoreRefusal | undefined {
  if (reason === 'NOAUTH' || reason === 'WRONGPASS') return 'credentials'
  if (reason === 'NOPERM') return 'access_denied'
  return reason === 'OOM' ? 'quota_exceeded' : undefined
}
const unavailable = (reason: string): Problem =>
  unusableStore(redisRefusal(reason), {
    detail: `The cache (Redis) does not answer (${reason}). No data was lost. Try again later.`,
  })

async function connect(url: string) {
  let fault = 'no connection'
  const onError = (error: unknown) => {
    fault = errorNameOf(error)
  }
  return { ...(await connectRedis(url, { connectTimeout: 900, onError })), fault: () => fault }
}

/** One connection, opened on first use and reopened after it was lost. */
export function redisLink(url: string) {
  let link: Promise<Link> | undefined

  async function opened(): Promise<Link> {
    link ??= connect(url)
    const used = link
    try {
      return await used
    } catch (error) {
      if (link === used) link = undefined
      throw unavailable(errorNameOf(error))
    }
  }
  async function ready(): Promise<Link> {
    let current = await opened()
    if (current.isOver()) {
      link = undefined
      current = await opened()
    }
    const { client, fault } = current
    if (!client.isReady) {
      const end = new AbortController()
      const remaining = once(client, 'ready', { signal: end.signal }).catch(() => {})
      // An error while connecting is not final: the client reconnects.
      await Promise.race([remaining, delay(connecting, undefined, { signal: end.signal }).catch(() => {})])
      end.abort()
    }
    if (!client.isReady) throw unavailable(fault())
    return current
  }
  async function answered<T>(question: (link: Link) => Promise<T>): Promise<T> {
    const opened = await ready()
    const used = link
    const end = new AbortController()
    const late = delay(answering, undefined, { signal: end.signal }).then(() => {
      // The server hangs, so pending commands would wait forever.
      if (link === used) link = undefined
      opened.close()
      throw unavailable('no answer in time')
    })
    late.catch(() => {})
    try {
      return await Promise.race([question(opened), late])
    } catch (error) {
      if (Problem.is(error)) throw error
      opened.refused(errorNameOf(error))
      throw unavailable(errorNameOf(error))
    } finally {
      end.abort()
    }
  }
  return {
    /** @throws `unavailable` if there is no connection, no answer in time, or an error */
    ask: <T>(question: (client: Client) => Promise<T>): Promise<T> => answered(({ client }) => question(client)),
    /** Without Sentinels it does nothing. @throws `unavailable` unless the server is still the primary */
    check: (): Promise<void> => answered(({ check }) => check()),
    /**
     * Confirms that what was read and deleted remains so after a failover. Without Sentinels it does nothing.
     * @throws `unavailable` if another server may be the primary, or a replica lags behind
     */
    confirm: (): Promise<void> => answered(({ confirm }) => confirm()),
    async close(): Promise<void> {
      const open = link
      link = undefined
      ;(await open?.catch(() => undefined))?.close()
    },
  }
}
export type RedisLink = ReturnType<typeof redisLink>

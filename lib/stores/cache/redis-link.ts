import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'

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

/** Loads the client at the first use: most installations have no Redis. */
async function connect(url: string) {
  const { createClient } = await import('@redis/client')
  const client = createClient({
    url,
    disableOfflineQueue: true, // without a connection a command fails immediately instead of waiting for one
    socket: { connectTimeout: 900, reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 1000) },
  })
  let fault = 'no connection'
  client.on('error', (error: unknown) => {
    fault = errorNameOf(error)
  })
  client.connect().catch(() => {}) // rejects if it is destroyed before it is connected; commands report the error
  return { client, fault: () => fault }
}

/** One connection, opened on first use and reopened after it was lost. */
export function redisLink(url: string) {
  let link: Promise<Link> | undefined

  async function ready(): Promise<Client> {
    link ??= connect(url)
    const { client, fault } = await link
    if (!client.isReady) {
      const end = new AbortController()
      const remaining = once(client, 'ready', { signal: end.signal }).catch(() => {})
      // An error while connecting is not final: the client reconnects.
      await Promise.race([remaining, delay(connecting, undefined, { signal: end.signal }).catch(() => {})])
      end.abort()
    }
    if (!client.isReady) throw unavailable(fault())
    return client
  }
  return {
    /** @throws `unavailable` if there is no connection, no answer in time, or an error */
    async ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
      const client = await ready()
      const used = link
      const end = new AbortController()
      const late = delay(answering, undefined, { signal: end.signal }).then(() => {
        // The server hangs, so pending commands would wait forever.
        if (link === used) link = undefined
        client.destroy()
        throw unavailable('no answer in time')
      })
      late.catch(() => {})
      try {
        return await Promise.race([question(client), late])
      } catch (error) {
        throw Problem.is(error) ? error : unavailable(errorNameOf(error))
      } finally {
        end.abort()
      }
    },
    async close(): Promise<void> {
      const open = link
      link = undefined
      ;(await open)?.client.destroy()
    },
  }
}
export type RedisLink = ReturnType<typeof redisLink>

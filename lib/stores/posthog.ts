import { randomUUID } from 'node:crypto'
import type { PostHog } from 'posthog-node'

/** How long the last events may take at the end, in milliseconds. */
const patience = 2_000
/** How long one request may take. */
const timeForOne = 1_500

interface Event {
  event: string
  distinctId: string
  properties: Readonly<Record<string, string | number | boolean>>
  at: Date
}

/** As if it had arrived: the client would fill the log with what it could not send, and that is one number to us. */
const asSent = () => new Response('{"status":1}', { headers: { 'Content-Type': 'application/json' } })

/**
 * A PostHog, in its cloud or of one's own, that takes events. No place of the sender, no profiles of persons, no flags are asked for; few
 * wait, and what cannot be sent is lost. The client is loaded with the first event.
 */
export function openPostHog({ host, key }: { host: string; key: string }) {
  let opened: Promise<PostHog> | undefined
  let lost = 0
  const open = async () => {
    const { PostHog } = await import('posthog-node')
    return new PostHog(key, {
      host,
      disableGeoip: true,
      flushAt: 20,
      flushInterval: 10_000,
      maxQueueSize: 1_000,
      async fetch(url, { body, signal, ...rest }) {
        try {
          const response = await fetch(url, {
            ...rest,
            redirect: 'error',
            ...(body !== undefined && { body }),
            signal: signal ?? AbortSignal.timeout(timeForOne),
          })
          if (response.ok) return response
          await response.body?.cancel()
        } catch {
          // Away, or too slow: counted below as any other refusal.
        }
        lost += 1
        return asSent()
      },
      requestTimeout: timeForOne,
      enableExceptionAutocapture: false,
    })
  }
  return {
    async capture({ event, distinctId, properties, at }: Event): Promise<void> {
      opened ??= open()
      const client = await opened
      client.capture({
        event,
        distinctId,
        properties: { ...properties, $process_person_profile: false },
        disableGeoip: true,
        timestamp: at,
        // The client's own would tell the millisecond.
        uuid: randomUUID(),
      })
    },
    /** Requests, each with some events, that did not arrive. */
    lost: () => lost,
    async close(): Promise<void> {
      try {
        await (await opened)?.shutdown(patience)
      } catch {
        // What waited is lost; nobody waits for it.
      }
    },
  }
}

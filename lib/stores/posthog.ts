import { randomUUID } from 'node:crypto'
import type { PostHog } from 'posthog-node'

/** The time limit in milliseconds for sending the last events on close. */
const patience = 2_000
/** The time limit of one request, in milliseconds. */
const timeForOne = 1_500

interface Event {
  event: string
  distinctId: string
  properties: Readonly<Record<string, string | number | boolean>>
  at: Date
}

/** A pretended success. Otherwise the client would log every event that it could not send; we only count them. */
const asSent = () => new Response('{"status":1}', { headers: { 'Content-Type': 'application/json' } })

/**
 * Sends events to a PostHog server (cloud or self-hosted), without location, person profiles or feature flags. Few events are queued,
 * and those that cannot be sent are lost. The client is loaded with the first event.
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
          // The server is unreachable or too slow: counted below like any other failure.
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
        // The client's own UUID would reveal the time to the millisecond.
        uuid: randomUUID(),
      })
    },
    /** The number of requests, each with several events, that failed. */
    lost: () => lost,
    async close(): Promise<void> {
      try {
        await (await opened)?.shutdown(patience)
      } catch {
        // Queued events are lost; closing does not wait for them.
      }
    },
  }
}

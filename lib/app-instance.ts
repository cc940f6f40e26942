import type { App } from './app.ts'
import { readEnv } from './config/env.ts'

declare global {
  var knowledgePulse: App | undefined
}

/**
 * The API server and Next's bundle each load this file, but a process has only one application, with one set of rate limits and
 * connections. Next's copy of `app.ts` is loaded only where plain Next serves: behind the API server, its code would be in memory twice.
 */
async function openApp(): Promise<App> {
  const env = readEnv()
  const { createApp } = await import('./app.ts')
  globalThis.knowledgePulse ??= createApp({
    env,
    replaysByItself: env.KP_ROLE === 'all',
    // Requests that wait longer for a connection get a 503: a retry succeeds sooner than a queue of many seconds ends.
    patience: { connection: 2_000 },
  })
  return globalThis.knowledgePulse
}
export const app: App = globalThis.knowledgePulse ?? (await openApp())
export const route: App['route'] = app.route

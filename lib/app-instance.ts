import { readEnv } from '#lib/config/env.ts'
import { type App, createApp } from './app.ts'

declare global {
  var knowledgePulse: App | undefined
}
const env = readEnv()
// The API server and Next's bundle each load this file, but a process has only one application, with one set of rate limits and
// connections.
globalThis.knowledgePulse ??= createApp({
  env,
  replaysByItself: env.KP_ROLE === 'all',
  // Requests that wait longer for a connection get a 503: a retry succeeds sooner than a queue of many seconds ends.
  patience: { connection: 2_000 },
})
export const app: App = globalThis.knowledgePulse
export const route: App['route'] = app.route

import { type App, createApp } from './app.ts'
import { readEnv } from './env.ts'

declare global {
  var knowledgePulse: App | undefined
}
const env = readEnv()
// The API server and Next's bundle each load this file; a process has one application, with one set of rate limits and connections.
globalThis.knowledgePulse ??= createApp({
  env,
  replaysByItself: env.KP_ROLE === 'all',
  // A request that waits longer for a connection is answered 503: the client repeats it sooner than a queue of seconds ends.
  patience: { connection: 2_000 },
})
export const app: App = globalThis.knowledgePulse
export const route: App['route'] = app.route

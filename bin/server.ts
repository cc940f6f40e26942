import './runtime.ts'
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import next from 'next'
import { publicUrl, readEnv } from '#lib/config/env.ts'
import { createApiServer, createListener, endServer, listenedAt, metricsListener } from '#lib/http/api-server.ts'
import { consolePages } from '#lib/http/console-pages.ts'
import { supervised } from './supervised.ts'

const env = readEnv()
const drain = env.KP_DRAIN_SECONDS * 1_000

/** The configuration that `next build` recorded, as JSON. */
function builtConfig(dir: string): string {
  const { config } = JSON.parse(readFileSync(`${dir}/.next/required-server-files.json`, 'utf8'))
  return JSON.stringify(config)
}

/** Serves the API and the pages on HOST:PORT until it is stopped. Finishes running requests. */
async function serve(): Promise<void> {
  process.env.NEXTAUTH_URL = publicUrl(env)
  const { app } = await import('#lib/app-instance.ts')
  const exporting = await app.exportTelemetry()
  const dir = `${import.meta.dirname}/..`
  // As in Next's standalone output. Evaluating next.config.mjs would load SWC and a file watcher, 27 MB that only a build uses.
  process.env.__NEXT_PRIVATE_STANDALONE_CONFIG = builtConfig(dir)
  const pages = next({ dev: false, quiet: true, dir, hostname: env.HOST, port: env.PORT })
  await pages.prepare()
  const handlePage = pages.getRequestHandler()
  const apiServer = createApiServer(
    app,
    consolePages((request, response) => handlePage(request, response), dir),
  )
  const server = createListener(apiServer)
  // Loads the keys into memory, so that receipts can be verified while the database is down.
  app.signer.keys().catch(() => {})
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(env.PORT, env.HOST, listening))
  const monitored = env.KP_METRICS_LISTEN === undefined ? undefined : metricsListener(app)
  if (monitored) {
    const { host, port } = listenedAt(env.KP_METRICS_LISTEN ?? '')
    await new Promise<void>((listening, failed) => monitored.once('error', failed).listen(port, host, listening))
  }
  supervised(async () => {
    await endServer(server, { announce: app.service.announceStop, drained: () => delay(drain) })
    monitored?.close()
    await exporting.stop()
    await app.close()
  }, drain)
}

/** Runs several processes on one port, and replaces a process that dies. */
async function lead(count: number): Promise<void> {
  let isEnding = false
  let early = 0
  const start = () =>
    new Promise<void>((ready) => {
      const worker = cluster.fork()
      let isReady = false
      worker.once('message', () => {
        isReady = true
        early = 0
        ready()
      })
      worker.once('exit', () => {
        if (isEnding) return
        // A process that cannot start will not start the next time either.
        if (!isReady && ++early === 5) {
          console.error('The server processes end before they are ready; what they said stands above.')
          process.exit(1)
        }
        setTimeout(() => void start(), 500)
      })
    })
  await Promise.all(Array.from({ length: count }, start))
  supervised(async () => {
    isEnding = true
    await Promise.all(
      Object.values(cluster.workers ?? {}).map(
        (worker) => worker && new Promise((gone) => worker.once('exit', gone).process.kill('SIGTERM')),
      ),
    )
  }, drain)
}

if (cluster.isPrimary && env.KP_WEB_PROCESSES > 1) await lead(env.KP_WEB_PROCESSES)
else await serve()

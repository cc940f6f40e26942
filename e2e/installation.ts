import { createServer, type Server } from 'node:http'
import next from 'next'
import { createApp } from '#lib/app.ts'
import type { Env } from '#lib/config/env.ts'
import { createApiServer, createListener } from '#lib/http/api-server.ts'
import { consolePages } from '#lib/http/console-pages.ts'
import { runJobs } from '#lib/jobs/runner.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { sideStore, sideStoreDataSource } from '#lib/testing/side-store.ts'
import { signInForVisit } from '../bin/demo/visits.ts'
import { Order } from './control.ts'
import { untilAtRest } from './rest.ts'

/**
 * Server and worker of the production build in this process, composed like bin/server.ts and bin/worker.ts. The clock
 * is ahead of the machine's by the amount that journeys set through the control port. `hasSideStore` adds an empty
 * store that journeys can make unavailable.
 */
export async function startInstallation({
  env,
  ownerUrl,
  controlPort,
  hasSideStore = false,
}: {
  env: Env
  /** Lets journeys take a right from the application. */
  ownerUrl?: string
  controlPort: number
  hasSideStore?: boolean
}) {
  let ahead = 0
  const side = sideStore()
  const app = createApp({
    env,
    clock: { now: () => new Date(Date.now() + ahead) },
    // On a busy machine, a request may wait for a connection for longer than it does in production, where it gets a 503.
    patience: { connection: 120_000, admission: 120_000 },
    ...(hasSideStore && { moreDataSources: (db) => [sideStoreDataSource(side)(db)] }),
  })
  // The pages of the build use this application instead of creating one.
  globalThis.knowledgePulse = app
  const dir = `${import.meta.dirname}/..`
  const pages = next({ dev: false, quiet: true, dir, hostname: env.HOST, port: env.PORT })
  await pages.prepare()
  const handlePage = pages.getRequestHandler()
  const apiServer = createApiServer(
    app,
    consolePages((request, response) => handlePage(request, response), dir),
  )
  let server: Server | undefined
  let visits = 0

  async function up(): Promise<void> {
    if (server) return
    const started = createListener(apiServer)
    await new Promise<void>((listening, failed) => started.once('error', failed).listen(env.PORT, env.HOST, listening))
    server = started
  }
  async function down(): Promise<void> {
    const stopped = server
    server = undefined
    if (!stopped) return
    await new Promise((closed) => {
      stopped.close(closed)
      stopped.closeAllConnections()
    })
  }

  const runner = await runJobs(app.db, app.pipeline, app.jobs)
  async function carryOut(order: Order): Promise<unknown> {
    switch (order.do) {
      case 'advance':
        ahead += order.milliseconds
        // The queue schedules jobs by the machine's clock, so run them here.
        for (const job of app.jobs) if (job.cron !== undefined) await job.execute(app.pipeline, {})
        await untilAtRest(app.db)
        return { now: app.pipeline.clock.now().toISOString() }
      case 'work':
        await untilAtRest(app.db)
        return {}
      case 'sign-in': {
        // Each sign-in uses another address, so that rate limits do not apply.
        const address = `2001:db8:${(++visits).toString(16)}::1`
        const { email, password } = order
        const { cookie } = await signInForVisit(app, env.KP_SECRET ?? '', { email, password, address, locale: 'en' })
        return { cookie: cookie.slice(cookie.indexOf('=') + 1) }
      }
      case 'store':
        side.slow = async (asked) => {
          if (asked === order.silentAt) throw new Problem('unavailable', 'the store does not answer')
        }
        return {}
      case 'proposals': {
        if (ownerUrl === undefined) throw new Error('the owner of the database is not known')
        const role = `"${new URL(env.DATABASE_URL ?? '').username}"`
        const change = order.areReadable
          ? `GRANT SELECT ON approval_proposals TO ${role}`
          : `REVOKE SELECT ON approval_proposals FROM ${role}`
        await withConnection(ownerUrl, (owner) => owner.query(change))
        return {}
      }
      case 'encrypt':
        await app.db.query(
          undefined,
          `INSERT INTO langgraph.checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, 'encrypted', '1', 'msgpack+aes', '\\x00ff')`,
          [order.thread],
        )
        return {}
      case 'remember':
        await app.db.query(
          undefined,
          `INSERT INTO langgraph.checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, 'messages', '1', 'json', $2)`,
          [order.thread, Buffer.from(JSON.stringify([order.text]))],
        )
        return {}
      case 'down':
        await down()
        return {}
      case 'up':
        await up()
        return {}
    }
  }
  const control = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    request.on('end', () => {
      Promise.resolve()
        .then(() => carryOut(Order.parse(JSON.parse(text))))
        .then(
          // Each order has its own connection: a reused one may be closed at the moment when the next order is sent.
          (told) => response.writeHead(200, { Connection: 'close' }).end(JSON.stringify(told)),
          (error: unknown) => response.writeHead(500, { Connection: 'close' }).end(String(error)),
        )
    })
  })
  await new Promise<void>((listening) => control.listen(controlPort, '127.0.0.1', listening))
  await up()

  return {
    async stop(): Promise<void> {
      control.close()
      control.closeAllConnections()
      await down()
      await app.retention.stop()
      await runner.stop()
      await app.close()
    },
  }
}

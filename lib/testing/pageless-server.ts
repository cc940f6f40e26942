import { readEnv } from '#lib/config/env.ts'
import { createApiServer, createListener } from '#lib/http/api-server.ts'
import { supervised } from '../../bin/supervised.ts'

/** The process of bin/server.ts without pages, which need a production build of minutes: the same application behind the API server. */
const env = readEnv()
const { app } = await import('#lib/app-instance.ts')
const server = createListener(
  createApiServer(app, async (_request, response) => {
    response.writeHead(404).end('a page')
  }),
)
await new Promise<void>((listening, failed) => server.once('error', failed).listen(env.PORT, env.HOST, listening))
supervised(async () => {
  server.closeAllConnections()
  await new Promise((closed) => server.close(closed))
  await app.close()
})

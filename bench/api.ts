import '../bin/runtime.ts'
import { createServer } from 'node:http'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { createApiServer } from '#lib/http/api-server.ts'

// The production API in its own process without pages, so that memory and time are those of the API only.
const env = readEnv()
const app = createApp({ env })
const apiServer = createApiServer(app, async (_request, response) => void response.writeHead(404).end())
const server = createServer({ requestTimeout: 0 }, (request, response) => void apiServer(request, response))
server.listen(env.PORT, env.HOST)
process.once('SIGTERM', () => {
  server.closeAllConnections()
  server.close(() => void app.close())
})

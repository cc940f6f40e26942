import '../bin/runtime.ts'
import { createServer } from 'node:http'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/env.ts'
import { createFront } from '#lib/http/front.ts'

// The API as in production, in a process of its own, without the pages: what its memory and its time are spent on is the API alone.
const env = readEnv()
const app = createApp({ env })
const front = createFront(app, async (_request, response) => void response.writeHead(404).end())
const server = createServer({ requestTimeout: 0 }, (request, response) => void front(request, response))
server.listen(env.PORT, env.HOST)
process.once('SIGTERM', () => {
  server.closeAllConnections()
  server.close(() => void app.close())
})

import { createServer, type IncomingHttpHeaders } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'

const Batch = z.object({
  api_key: z.string(),
  batch: z.array(
    z.object({
      event: z.string(),
      distinct_id: z.string(),
      uuid: z.string(),
      timestamp: z.string(),
      properties: z.record(z.string(), z.unknown()),
    }),
  ),
})
export type Captured = z.output<typeof Batch>['batch'][number]

/** A server on a free local port that records the requests of PostHog's client and their events. */
export async function capturingPostHog() {
  const requests: { path: string; headers: IncomingHttpHeaders; text: string }[] = []
  const events: Captured[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const bytes = Buffer.concat(chunks)
      const text = (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString('utf8')
      requests.push({ path: request.url ?? '', headers: request.headers, text })
      const parsed = request.url?.startsWith('/batch') ? Batch.safeParse(JSON.parse(text)) : undefined
      if (parsed?.success) events.push(...parsed.data.batch)
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"status":1}')
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    requests,
    events,
    close: () =>
      new Promise((closed) => {
        server.close(closed)
        server.closeAllConnections()
      }),
  }
}

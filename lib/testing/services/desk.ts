import { once } from 'node:events'
import { createServer } from 'node:http'
import { missingServices, type ServiceName } from './installed.ts'
import { startNeo4j } from './neo4j.ts'
import { startGcs, startS3 } from './objects.ts'

/** Starts each service at the first request and returns its address to all workers of a test run. */
export async function openDesk(): Promise<{ address: string; close(): Promise<void> }> {
  const started = new Map<string, Promise<{ stop(): Promise<void> }>>()
  const starters: Record<
    Exclude<ServiceName, 'helm' | 'python' | 'openapi' | 'mcp' | 'langgraph'>,
    () => Promise<{ stop(): Promise<void> }>
  > = {
    neo4j: () => startNeo4j(),
    s3: () => startS3(),
    gcs: () => startGcs(),
  }
  const server = createServer(async (request, response) => {
    const name = request.url?.slice(1) ?? ''
    const start = Object.entries(starters).find(([known]) => known === name)?.[1]
    if (!start) return response.writeHead(404).end()
    // A server ends while it starts if another process takes its port. All tests of the run need it, so it gets a second try.
    const running = started.get(name) ?? start().catch(start)
    started.set(name, running)
    try {
      response.end(JSON.stringify(await running))
    } catch (error) {
      response.writeHead(500).end(error instanceof Error ? error.message : '')
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return {
    address: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections()
      server.close()
      for (const running of await Promise.allSettled(started.values()))
        if (running.status === 'fulfilled') await running.value.stop()
      const missing = missingServices()
      if (missing.length > 0)
        console.log(`Skipped what needs ${missing.join(', ')}: not installed; .ci/services installs it.`)
    },
  }
}

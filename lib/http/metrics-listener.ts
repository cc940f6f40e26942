import type { Server } from 'node:http'
import type { UseCase } from '#lib/kernel/use-case.ts'
import type { Handle } from './handle.ts'
import { createListener } from './listener.ts'

interface MetricsDeps {
  useCases: readonly UseCase[]
  handle: Handle
}

/** Serves only `GET /metrics`, without a token: the operator decides who can reach its address. */
export function metricsListener({ useCases, handle }: MetricsDeps): Server {
  const metrics = useCases.find(({ operation }) => operation.isOpenToMonitoring)
  return createListener(async (request, response) => {
    const [path] = (request.url ?? '/').split('?', 1)
    if (!metrics || request.method !== 'GET' || path !== metrics.operation.path) {
      response.writeHead(404).end()
      return
    }
    const address = request.socket.remoteAddress ?? 'unknown'
    const asked = { method: 'GET', url: path, headers: { get: () => null }, body: null }
    const { status, headers, body } = await handle(metrics, asked, { params: {}, address, isMonitoring: true })
    response.writeHead(status, headers).end(typeof body === 'string' ? body : undefined)
  })
}

/** The host and the port of KP_METRICS_LISTEN. */
export function listenedAt(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':')
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) }
}

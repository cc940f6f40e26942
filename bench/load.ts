import autocannon from 'autocannon'

export const CONNECTIONS = 32

export interface LoadTarget {
  url: string
  method: 'GET' | 'POST' | 'DELETE'
  headers?: Record<string, string>
  body?: string
  /** The expected status. Any other fails the run. */
  status: number
  /** By default {@link CONNECTIONS}. */
  connections?: number
}
export interface Load {
  perSecond: number
  answered: number
}

/** Sends requests as fast as responses arrive over 32 keep-alive connections, for this many seconds. @throws for an unexpected response */
export async function load({ status, ...target }: LoadTarget, seconds: number): Promise<Load> {
  const result = await autocannon({
    connections: CONNECTIONS,
    timeout: 60,
    ...target,
    duration: seconds,
    sampleInt: 100,
  })
  const { statusCodeStats = {}, errors, timeouts } = result
  const answered = statusCodeStats[`${status}`]?.count ?? 0
  const others = Object.keys(statusCodeStats).filter((code) => code !== String(status))
  if (others.length > 0 || errors > 0 || timeouts > 0 || answered === 0)
    throw new Error(
      `${target.method} ${target.url}: ${answered} answers of ${status}, others ${JSON.stringify(statusCodeStats)}, ${errors} errors, ${timeouts} timeouts`,
    )
  return { perSecond: answered / result.duration, answered }
}

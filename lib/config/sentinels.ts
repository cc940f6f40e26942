/** Sentinels that watch one primary and its replicas. */
export interface Sentinels {
  /** The name of the primary in their configuration. */
  name: string
  addresses: readonly { host: string; port: number }[]
  /** Of the Redis servers: user, password, database and TLS, with the primary's name as the host. */
  url: URL
}
/** The Sentinels of `redis[s]://…@<name>/<database>?sentinels=<host>:<port>,…`; undefined for the address of a server. @throws RangeError */
export function sentinelsOf(text: string): Sentinels | undefined {
  const url = new URL(text)
  const listed = url.searchParams.get('sentinels')
  if (listed === null) return undefined
  const addresses = listed.split(',').map((one) => {
    const { hostname, port, pathname } = URL.parse(`redis://${one.trim()}`) ?? {}
    if (!hostname || !port || pathname !== '')
      throw new RangeError('must list its Sentinels as host:port, separated by commas')
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) }
  })
  if (url.hostname === '' || url.port !== '')
    throw new RangeError(
      'must have the name of the primary in place of its host, without a port, if it lists Sentinels',
    )
  return { name: decodeURIComponent(url.hostname), addresses, url }
}

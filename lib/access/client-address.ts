import { BlockList, isIP, isIPv4 } from 'node:net'
import { normalisedAddress } from '#lib/kernel/network-keys.ts'

/** The proxies whose `X-Forwarded-For` is trusted. */
export interface TrustedProxies {
  /** Takes an address as returned by {@link clientAddress}. */
  has(address: string): boolean
}

/** Parses an entry of `X-Forwarded-For`, which some proxies write with brackets or a port. */
function addressOfHop(hop: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(hop)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(hop)?.[1] ?? hop
  return normalisedAddress(bare)
}

function addTo(list: BlockList, item: string) {
  const [text = '', bits, ...rest] = item.split('/')
  const address = text.includes('%') ? undefined : normalisedAddress(text)
  const max = isIPv4(text) ? 32 : 128
  const given = bits === undefined ? max : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  const prefix = address !== undefined && isIPv4(address) ? given - (max - 32) : given // ::ffff:10.0.0.0/104 is 10.0.0.0/8
  if (address === undefined || rest.length > 0 || !(given <= max) || prefix < 0) {
    throw new Error(`"${item}" is neither an address nor a range such as 10.0.0.0/8 or fd00::/8`)
  }
  list.addSubnet(address, prefix, isIPv4(address) ? 'ipv4' : 'ipv6')
}

/**
 * Parses KP_TRUSTED_PROXIES: addresses and CIDR ranges, IPv4 and IPv6, separated by commas. If it is empty, no proxy is trusted. @throws
 * Error with the item that is neither
 */
export function trustedProxies(list: string): TrustedProxies {
  const ranges = new BlockList()
  const items = list
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
  for (const item of items) addTo(ranges, item)
  return {
    has: (address) =>
      items.length > 0 && isIP(address) !== 0 && ranges.check(address, isIPv4(address) ? 'ipv4' : 'ipv6'),
  }
}

/**
 * The client's address: the socket's address or, behind trusted proxies, the nearest address in `X-Forwarded-For` that is not one of
 * them. Each proxy appends the address it received the request from, so the header is read from the right, and entries written by the
 * client are never reached. An invalid entry ends the search at the last valid hop. `unknown` if the socket has no address.
 */
export function clientAddress(
  socketAddress: string | undefined,
  forwardedFor: string | null,
  trusted: TrustedProxies,
): string {
  let client = socketAddress === undefined ? undefined : normalisedAddress(socketAddress)
  if (client === undefined) return 'unknown'
  if (forwardedFor === null) return client
  for (const hop of forwardedFor.split(',').reverse()) {
    if (!trusted.has(client)) return client
    const address = addressOfHop(hop.trim())
    if (address === undefined) return client
    client = address
  }
  return client
}

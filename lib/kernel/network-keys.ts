import { isIPv4, isIPv6, SocketAddress } from 'node:net'

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/

/**
 * Normalizes an address: no zone, the canonical form of IPv6 (RFC 5952), and IPv4 for mapped addresses. Undefined if the text is not an
 * address.
 */
export function normalisedAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const [address = ''] = text.split('%', 1)
  if (!isIPv6(address)) return undefined
  const canonical = new SocketAddress({ family: 'ipv6', address }).address
  return MAPPED.exec(canonical)?.[1] ?? canonical
}

/**
 * The key of a limit per address: an IPv4 address itself; for IPv6 its /64, because a host may use any address of its subnet (RFC 4291
 * §2.5.1) and would otherwise have 2⁶⁴ limits.
 */
export function limitKeyOf(address: string): string {
  const canonical = normalisedAddress(address)
  return canonical === undefined || isIPv4(canonical) ? (canonical ?? address) : prefixOf(canonical, 4)
}

/**
 * The network in which registrations are counted: the /24 of an IPv4 address, or the /48 of an IPv6 address, the usual assignment to one
 * customer (RFC 6177).
 */
export function customerNetworkOf(address: string): string {
  const canonical = normalisedAddress(address)
  if (canonical === undefined) return address
  return isIPv4(canonical) ? canonical.replace(/\d{1,3}$/, '0/24') : prefixOf(canonical, 3)
}

/** The network that one client controls: an IPv4 address, or the /48 of an IPv6 address. Votes, reports and public requests count in it. */
export function clientNetworkOf(address: string): string {
  const canonical = normalisedAddress(address)
  return canonical === undefined || isIPv4(canonical) ? (canonical ?? address) : prefixOf(canonical, 3)
}

/** The leading groups of a canonical IPv6 address, as a network. */
function prefixOf(canonical: string, groups: 3 | 4): string {
  const [head = '', tail = ''] = canonical.split('::')
  const groupsOf = (part: string) => (part === '' ? [] : part.split(':'))
  const before = groupsOf(head)
  const after = groupsOf(tail)
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  return `${[...before, ...zeros, ...after].slice(0, groups).join(':')}::/${groups * 16}`
}

/** A /48 network may use this many times the limit of one of its 65,536 /64 subnets. */
const subnetsOf48 = 16

interface LimitWindow {
  key: string
  limit: number
}
/** The window of the /48 network that contains the /64 in the key of a window; undefined if the key contains none. */
export function widerWindow({ key, limit }: LimitWindow): LimitWindow | undefined {
  const groups = /([0-9a-f]{1,4}:[0-9a-f]{1,4}:[0-9a-f]{1,4}):[0-9a-f]{1,4}::\/64/.exec(key)
  if (groups?.[1] === undefined) return undefined
  return { key: key.replace(groups[0], `${groups[1]}::/48`), limit: limit * subnetsOf48 }
}

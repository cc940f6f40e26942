import { isIPv4, isIPv6 } from 'node:net'

/** The eight groups of an IPv6 address as numbers. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const first = parse(head)
  if (tail === undefined) return first
  const last = parse(tail)
  return [...first, ...Array<number>(Math.max(0, 8 - first.length - last.length)).fill(0), ...last]
}

/**
 * The network that one client controls: an IPv4 address, or the /64 of an IPv6 address, whose lower half the client chooses freely.
 * IPv4-mapped IPv6 addresses become IPv4. Any other text is returned unchanged.
 */
export function networkOf(address: string): string {
  const bare = address.split('%', 1)[0] ?? ''
  const inside = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare
  if (isIPv4(inside)) return inside
  if (!isIPv6(bare)) return address
  return `${groupsOf(bare)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

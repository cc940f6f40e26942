/** A /48 network may use this many times the limit of one of its 65,536 /64 subnets. */
export const subnetsOf48 = 16

/** The limit key with its /64 network replaced by the /48 that contains it; undefined for keys without a /64. */
export function widerKeyOf(key: string): string | undefined {
  const groups = /([0-9a-f]{1,4}:[0-9a-f]{1,4}:[0-9a-f]{1,4}):[0-9a-f]{1,4}::\/64/.exec(key)
  return groups?.[1] === undefined ? undefined : key.replace(groups[0], `${groups[1]}::/48`)
}

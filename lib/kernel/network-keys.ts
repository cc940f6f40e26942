/** A /48 may use so many times what one of its 65,536 subnets may. */
export const subnetsOf48 = 16

/** The key with the /48 in place of the /64 that a limit key has; undefined for keys without one. */
export function widerKeyOf(key: string): string | undefined {
  const groups = /([0-9a-f]+:[0-9a-f]+:[0-9a-f]+):[0-9a-f]+::\/64/.exec(key)
  return groups?.[1] === undefined ? undefined : key.replace(groups[0], `${groups[1]}::/48`)
}

/** Compares names as people order them: `part:10` follows `part:9`. */
export const byName = new Intl.Collator('en', { numeric: true }).compare

/** Items in the order of their names; undefined if they are in this order already. */
export function inOrderOfNames<T>(items: readonly T[], nameOf: (item: T) => string): T[] | undefined {
  const named = items.map((item) => ({ item, name: nameOf(item) }))
  const isOrdered = named.every(({ name }, at) => at === 0 || byName(named[at - 1]?.name ?? '', name) <= 0)
  return isOrdered ? undefined : named.sort((one, other) => byName(one.name, other.name)).map(({ item }) => item)
}

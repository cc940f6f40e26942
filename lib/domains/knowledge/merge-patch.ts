type Json = unknown
export type JsonMembers = Record<string, Json>

export const isJsonObject = (value: Json): value is JsonMembers =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON Merge Patch (RFC 7396): merges members, removes a member for null, replaces everything else. Does not modify its arguments. */
export function mergePatch(target: object, patch: object): JsonMembers {
  const merged: JsonMembers = { ...target }
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete merged[key]
    else if (isJsonObject(value)) merged[key] = mergePatch(isJsonObject(merged[key]) ? merged[key] : {}, value)
    else merged[key] = value
  return merged
}

/** Members whose inner names are chosen by authors. Such names are content, so they must not appear in paths. */
const open = new Set([
  'input',
  'input_schema',
  'input_template',
  'criteria',
  'conditions',
  'entities',
  'relationships',
  'test_cases',
])

/**
 * Returns the paths at which two documents differ, such as `steps.2.content`, without any values. Lists of different length differ as a
 * whole, and so do members whose inner names are chosen by authors.
 */
export function changedPaths(before: Json, after: Json, path: string[] = []): string[] {
  if (Object.is(before, after)) return []
  const here = [path.join('.')]
  const isOpen = open.has(path.at(-1) ?? '')
  if (!isOpen && Array.isArray(before) && Array.isArray(after))
    return before.length === after.length
      ? before.flatMap((item, index) => changedPaths(item, after[index], [...path, String(index)]))
      : here
  if (!isOpen && isJsonObject(before) && isJsonObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => changedPaths(before[key], after[key], [...path, key]))
  }
  return isSame(before, after) ? [] : here
}

/** Whether two JSON values are equal, regardless of member order. */
function isSame(one: Json, other: Json): boolean {
  if (Object.is(one, other)) return true
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]))
  if (!isJsonObject(one) || !isJsonObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  )
}

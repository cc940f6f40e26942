type Json = unknown
export type Members = Record<string, Json>

export const isObject = (value: Json): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** JSON Merge Patch (RFC 7396): members are merged, null removes one, everything else replaces. Changes neither argument. */
export function mergePatch(target: object, patch: object): Members {
  const merged: Members = { ...target }
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete merged[key]
    else if (isObject(value)) merged[key] = mergePatch(isObject(merged[key]) ? merged[key] : {}, value)
    else merged[key] = value
  return merged
}

/** The names of members that only a schema chose may be told; those that people chose are content. */
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
 * Paths of what differs between two documents, such as `steps.2.content`: names and places, never what stands there. A list of another
 * length differs as a whole, and so does a member whose inner names are the author's own.
 */
export function changedPaths(before: Json, after: Json, path: string[] = []): string[] {
  if (Object.is(before, after)) return []
  const here = [path.join('.')]
  const isOpen = open.has(path.at(-1) ?? '')
  if (!isOpen && Array.isArray(before) && Array.isArray(after))
    return before.length === after.length
      ? before.flatMap((item, index) => changedPaths(item, after[index], [...path, String(index)]))
      : here
  if (!isOpen && isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => changedPaths(before[key], after[key], [...path, key]))
  }
  return isSame(before, after) ? [] : here
}

/** Whether two JSON values are the same, whatever the order of their members. */
function isSame(one: Json, other: Json): boolean {
  if (Object.is(one, other)) return true
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]))
  if (!isObject(one) || !isObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  )
}

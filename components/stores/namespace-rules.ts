const form = /^[\w.:-]{3,200}$/
/** The most prefixes of an organization. */
export const maxPrefixes = 20
/** The prefix that allows every id not assigned to another organization. */
export const anyId = '*'

export interface TypedNamespaces {
  prefixes: string[]
  /** The lines that are not valid prefixes, or that there are too many. */
  fault: { kind: 'form'; lines: string[] } | { kind: 'count' } | undefined
}
/** Parses prefixes, one per line. */
export function typedNamespaces(text: string, hasAny: boolean): TypedNamespaces {
  const lines = [...new Set(text.split('\n').map((line) => line.trim()))].filter((line) => line !== '')
  const wrong = lines.filter((line) => !form.test(line))
  const prefixes = hasAny ? [...lines, anyId] : lines
  if (wrong.length > 0) return { prefixes, fault: { kind: 'form', lines: wrong } }
  return { prefixes, fault: prefixes.length > maxPrefixes ? { kind: 'count' } : undefined }
}

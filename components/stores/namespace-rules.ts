const form = /^[\w.:-]{3,200}$/
/** As many as an organization may have. */
export const mostPrefixes = 20
/** The prefix that stands for every id which no other organization has. */
export const anyId = '*'

export interface TypedNamespaces {
  prefixes: string[]
  /** What is wrong: the lines that are no prefixes, or that there are too many. */
  fault: { kind: 'form'; lines: string[] } | { kind: 'count' } | undefined
}
/** Prefixes as they are typed, one on a line. */
export function typedNamespaces(text: string, hasAny: boolean): TypedNamespaces {
  const lines = [...new Set(text.split('\n').map((line) => line.trim()))].filter((line) => line !== '')
  const wrong = lines.filter((line) => !form.test(line))
  const prefixes = hasAny ? [...lines, anyId] : lines
  if (wrong.length > 0) return { prefixes, fault: { kind: 'form', lines: wrong } }
  return { prefixes, fault: prefixes.length > mostPrefixes ? { kind: 'count' } : undefined }
}

import { invalid, Problem } from './problem.ts'

/** The maximum number of members and elements of one JSON document. */
export const maxMembers = 10_000

/** Upper bounds in bytes: of one character as a JSON escape (`widest`), and of a number or the syntax around a member (`around`). */
const widest = 6
const around = 32

/**
 * Rejects values that PostgreSQL's jsonb cannot store: NUL characters, lone surrogates, and members named `__proto__`, which would be
 * lost in an object. Returns an upper bound for the bytes of its JSON, far above the real size. @throws `invalid` with the path,
 * `too_large` for more than `max` members and elements
 */
export function refuseUnstorable(value: unknown, max = Number.POSITIVE_INFINITY): number {
  const path: (string | number)[] = []
  let members = 0
  let bytes = 0
  const isBad = (text: string) => text.includes('\0') || !text.isWellFormed()
  const refuseText = (text: string): void => {
    bytes += text.length * widest
    if (isBad(text)) throw invalid([...path], 'must not contain NUL characters or unpaired surrogates')
  }
  const count = (more: number): void => {
    members += more
    bytes += more * around
    if (members > max)
      throw new Problem('too_large', `The value has more than ${max.toLocaleString('en')} members and elements.`)
  }
  const visit = (node: unknown): void => {
    if (typeof node === 'string') refuseText(node)
    else if (Array.isArray(node)) {
      count(node.length)
      for (let index = 0; index < node.length; index++) {
        path.push(index)
        visit(node[index])
        path.pop()
      }
    } else if (typeof node === 'object' && node !== null) {
      const entries = Object.entries(node)
      count(entries.length)
      for (const [key, item] of entries) {
        refuseText(key)
        path.push(key)
        if (key === '__proto__') throw invalid([...path], 'cannot have this name')
        visit(item)
        path.pop()
      }
    }
  }
  visit(value)
  return bytes + around
}

import { invalid, Problem } from './problem.ts'

/** How many members and elements one JSON document may have in all. */
export const mostMembers = 10_000

/** Bytes of a character as an escape of JSON; of a number, or of what stands around a member. */
const widest = 6
const around = 32

/**
 * Refuses what has no place in PostgreSQL's jsonb: NUL characters, lone surrogates, and members called `__proto__`, which would vanish
 * on the way into an object. Throws `invalid` with the path; `too_large` beyond so many members, where a bound is given. Returns how many
 * bytes its JSON takes at most, which is far more than it does.
 */
export function refuseUnstorable(value: unknown, most = Number.POSITIVE_INFINITY): number {
  const path: (string | number)[] = []
  let members = 0
  let bytes = 0
  const isBad = (text: string) => text.includes('\0') || !text.isWellFormed()
  const refuseText = (text: string): void => {
    bytes += text.length * widest
    if (isBad(text)) throw invalid([...path], 'holds a NUL character or half a surrogate pair')
  }
  const count = (more: number): void => {
    members += more
    bytes += more * around
    if (members > most)
      throw new Problem('too_large', `It has more than ${most.toLocaleString('en')} members and elements.`)
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

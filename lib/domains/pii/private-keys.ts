import { type Finding, finding } from './findings.ts'

const longest = 24 * 1024
const header = /-----BEGIN ([A-Z0-9][A-Z0-9 ]{0,60}?)?PRIVATE KEY( BLOCK)?-----/y
const body = /[A-Za-z0-9+/=]/
/** Signs that stand between the lines of a key wherever it is quoted: space, line ends, also escaped ones, quotes and margins. */
const between = /[\s\\"'`>|,*#+;()[\]{}:.-]/
const leastBody = 32

/**
 * A PEM private key whose header begins there (RFC 7468, RFC 1421, OpenSSH, OpenPGP; encrypted ones, too): up to its end, or as far as its
 * body goes where that was cut off. A header that no key follows is a word about keys.
 */
export function pemAt(text: string, start: number): Finding | undefined {
  header.lastIndex = start
  const label = header.exec(text)?.[0]
  if (label === undefined) return undefined
  const from = start + label.length
  const limit = Math.min(text.length, from + longest)
  const closing = `-----END${label.slice('-----BEGIN'.length)}`
  let signs = 0
  let end = from
  for (let at = from; at < limit; at++) {
    const sign = text.charAt(at)
    if (sign === '-' && text.startsWith('-----', at)) {
      if (signs < leastBody) return undefined
      return finding('private_key', start, text.startsWith(closing, at) ? at + closing.length : end, 1)
    }
    if (body.test(sign)) {
      // An escaped line end is no body.
      if (!(text.charAt(at - 1) === '\\' && /[nrt]/.test(sign))) {
        signs += 1
        end = at + 1
      }
    } else if (!between.test(sign)) break
  }
  return signs >= leastBody ? finding('private_key', start, end, 0.95) : undefined
}

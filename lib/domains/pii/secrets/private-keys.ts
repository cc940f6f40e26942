import { finding, type SensitiveFinding } from '#lib/domains/pii/findings.ts'

const longest = 24 * 1024
const header = /-----BEGIN ([A-Z0-9][A-Z0-9 ]{0,60}?)?PRIVATE KEY( BLOCK)?-----/y
const body = /[A-Za-z0-9+/=]/
/** Characters between the lines of a quoted key: space, line ends (also escaped), quotes and margins. */
const between = /[\s\\"'`>|,*#+;()[\]{}:.-]/
const leastBody = 32

/**
 * A PEM private key whose header starts here (RFC 7468, RFC 1421, OpenSSH, OpenPGP; also encrypted): up to its end, or as far as a
 * truncated body extends. A header without a key is just text about keys.
 */
export function pemAt(text: string, start: number): SensitiveFinding | undefined {
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
      // An escaped line end is not part of the body.
      if (!(text.charAt(at - 1) === '\\' && /[nrt]/.test(sign))) {
        signs += 1
        end = at + 1
      }
    } else if (!between.test(sign)) break
  }
  return signs >= leastBody ? finding('private_key', start, end, 0.95) : undefined
}

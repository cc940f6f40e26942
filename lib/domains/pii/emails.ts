import { finding, lowConfidence, type SensitiveFinding } from './findings.ts'

const foreignSign = /[\p{L}\p{M}\p{N}]/u
const inLabel = new Uint8Array(128)
for (let code = 0; code < 128; code++) if (/[A-Za-z\d-]/.test(String.fromCharCode(code))) inLabel[code] = 1
/** Whether the unit may be part of a label of a domain: a letter, mark or digit of any script, or a hyphen. */
const isLabel = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code < 128 ? inLabel[code] === 1 : foreignSign.test(text.charAt(at))
}
/** Whether the unit may be part of a local part. */
const isLocal = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return isLabel(text, at) || code === 46 || code === 95 || code === 37 || code === 43 || code === 39
}
const topLevel = /^(?:\p{L}[\p{L}\p{M}]{1,23}|xn--[a-z0-9-]{2,59})$/iu
/** Suffixes after an @ in names of files and packages that are not country domains. */
const files = new Set([
  'png',
  'jpg',
  'jpeg',
  'gif',
  'webp',
  'svg',
  'css',
  'js',
  'mjs',
  'cjs',
  'ts',
  'tsx',
  'jsx',
  'json',
  'html',
  'map',
  'pdf',
  'woff',
  'woff2',
  'service',
  'socket',
  'timer',
  'target',
  'mount',
  'slice',
  'tgz',
  'tar',
  'yml',
  'yaml',
  'toml',
  'lock',
  'jar',
  'dll',
  'exe',
  'vue',
  'scss',
  'less',
  'wasm',
  'txt',
  'xml',
  'csv',
])
/** Users of services for code that are part of an address of a repository: `git@host`. */
const serviceUsers = new Set(['git', 'hg', 'svn', 'gitlab', 'gitea', 'aur'])
const longestLocal = 64
const longestDomain = 253

/**
 * The email address around an @, or around its encoded form of `signLength` units, as `%40` or `&#64;` (lengths of RFC 5321, letters of RFC 6531): labels that can form a host, and a top-level domain of letters.
 */
export function emailAround(text: string, at: number, signLength = 1): SensitiveFinding | undefined {
  // Most signs are followed by no domain.
  if (!isLabel(text, at + signLength)) return undefined
  let start = at
  while (start > 0 && at - start <= longestLocal && isLocal(text, start - 1)) start -= 1
  if (at - start > longestLocal) return undefined
  // An escaped line end (\n) can precede the address. Skip its letter n.
  if (text.charAt(start - 1) === '\\' && /[nrt]/.test(text.charAt(start))) start += 1
  while (start < at && /[.'%+-]/.test(text.charAt(start))) start += 1
  // A percent-encoded sign before the address: `%3Cbob%40…`.
  const encoded = signLength === 1 ? -1 : text.slice(start, at).lastIndexOf('%') + start
  if (encoded >= start && /^%[0-9a-f]{2}/i.test(text.slice(encoded, encoded + 3))) start = encoded + 3
  if (start === at || /[.]/.test(text.charAt(at - 1)) || text.slice(start, at).includes('..')) return undefined

  let end = at + signLength
  const limit = Math.min(text.length, at + signLength + longestDomain)
  const labels: string[] = []
  for (let from = end; from < limit; ) {
    let to = from
    while (to < limit && to - from <= 63 && isLabel(text, to)) to += 1
    const written = text.slice(from, to)
    if (written === '' || written.length > 63 || written.startsWith('-')) break
    if (written.endsWith('-')) {
      const trimmed = written.replace(/-{1,63}$/, '')
      if (trimmed !== '') {
        labels.push(trimmed)
        end = from + trimmed.length
      }
      break
    }
    labels.push(written)
    end = to
    if (text.charAt(to) !== '.') break
    from = to + 1
  }
  // A sentence may continue after its full stop without a space; drop labels that are not a top-level domain.
  while (labels.length >= 2 && !topLevel.test(labels.at(-1) ?? '')) end -= (labels.pop() ?? '').length + 1
  const top = labels.at(-1) ?? ''
  if (labels.length < 2 || !topLevel.test(top) || files.has(top.toLowerCase())) return undefined
  const name = text.slice(start, at)
  if (serviceUsers.has(name)) return undefined
  // Names of code: `x@OData.Type.V1.FormattedValue`, `com.example@Component.Inner`.
  if (/\p{Ll}\p{Lu}/u.test(top) || /^odata$/i.test(labels[0] ?? '')) return undefined
  // The user of a URL: `ssh://deploy@host/path`.
  if (
    text.charAt(start - 1) === '/' &&
    text.startsWith('://', start - 3) &&
    !/mailto$/i.test(text.slice(start - 9, start - 3))
  )
    return undefined
  const found = finding('email', start, end, 0.95)
  return isPlaceholder(name, labels) ? lowConfidence(found) : found
}

/** RFC 2606 and 6761, and domains that documentation uses like reserved ones. */
const reservedTop = new Set(['example', 'test', 'invalid', 'localhost', 'local', 'internal', 'lan'])
const placeholderDomains =
  /^(?:(?:.*\.)?example\.(?:com|net|org|edu|io)|(?:your-?|my-?|some-?)?(?:domain|company|site|website|organi[sz]ation|org|app|host|server)\.(?:com|org|net|io|tld)|(?:foo|bar|baz|test|acme|email|sample|dummy|placeholder|fake|xyz|abc|contoso|fabrikam)\.(?:com|org|net|io)|users\.noreply\.github\.com)$/
const placeholderNames = /^(?:no-?reply|do-?not-?reply|your[._-]?(?:name|email)|x{2,}|example)$/i
function isPlaceholder(name: string, labels: readonly string[]): boolean {
  const domain = labels.join('.').toLowerCase()
  return (
    reservedTop.has(domain.slice(domain.lastIndexOf('.') + 1)) ||
    placeholderDomains.test(domain) ||
    placeholderNames.test(name)
  )
}

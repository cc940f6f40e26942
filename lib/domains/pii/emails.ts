import { finding, lowConfidence, type SensitiveFinding } from './findings.ts'

const local = /[\p{L}\p{N}._%+'-]/u
const label = /[\p{L}\p{N}-]/u
const topLevel = /^(?:\p{L}{2,24}|xn--[a-z0-9-]{2,59})$/iu
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
])
const longestLocal = 64
const longestDomain = 253

/**
 * The email address around an @ (lengths of RFC 5321, letters of RFC 6531): labels that can form a host, and a top-level domain of letters.
 */
export function emailAround(text: string, at: number): SensitiveFinding | undefined {
  let start = at
  while (start > 0 && at - start <= longestLocal && local.test(text.charAt(start - 1))) start -= 1
  if (at - start > longestLocal) return undefined
  // An escaped line end (\n) can precede the address. Skip its letter n.
  if (text.charAt(start - 1) === '\\' && /[nrt]/.test(text.charAt(start))) start += 1
  while (start < at && /[.'%+-]/.test(text.charAt(start))) start += 1
  if (start === at || /[.]/.test(text.charAt(at - 1)) || text.slice(start, at).includes('..')) return undefined

  let end = at + 1
  const limit = Math.min(text.length, at + 1 + longestDomain)
  const labels: string[] = []
  for (let from = end; from < limit; ) {
    let to = from
    while (to < limit && to - from <= 63 && label.test(text.charAt(to))) to += 1
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
  // git@host:path is a repository URL.
  if (text.slice(start, at) === 'git' && text.charAt(end) === ':') return undefined
  const found = finding('email', start, end, 0.95)
  return isPlaceholder(text.slice(start, at), labels) ? lowConfidence(found) : found
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

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
const leastRun = 24
export function pemAt(text: string, start: number): SensitiveFinding | undefined {
  header.lastIndex = start
  const label = header.exec(text)?.[0]
  if (label === undefined) return undefined
  const from = start + label.length
  const limit = Math.min(text.length, from + longest)
  const closing = `-----END${label.slice('-----BEGIN'.length)}`
  let [signs, run, longestRun] = [0, 0, 0]
  let end = from
  for (let at = from; at < limit; at++) {
    const sign = text.charAt(at)
    if (sign === '-' && text.startsWith('-----', at)) {
      if (signs < leastBody) return undefined
      const isClosed = text.startsWith(closing, at)
      // The words of a sentence between two mentions of the mark are shorter than lines of a key.
      if (!isClosed && longestRun < leastRun) return undefined
      return finding('private_key', start, isClosed ? at + closing.length : end, 1)
    }
    if (body.test(sign)) {
      // An escaped line end is not part of the body.
      if (!(text.charAt(at - 1) === '\\' && /[nrt]/.test(sign))) {
        signs += 1
        run += 1
        longestRun = Math.max(longestRun, run)
        end = at + 1
      } else run = 0
    } else if (!between.test(sign)) break
    else run = 0
  }
  return signs >= leastBody && longestRun >= leastRun ? finding('private_key', start, end, 0.95) : undefined
}

const base64 = '[A-Za-z0-9+/]'
/** Lines of base64, also quoted and with escaped line ends. */
const lines = String.raw`(?:[A-Za-z0-9+/=]{16,100}(?:\\[nrt]|[\s"'\x60>|,]){0,12}){1,200}`
const line = String.raw`(?:\\[nrt]|\s){1,4}`
/** Private keys in other formats than PEM: the keyword, in lower case, the key from there, and the kind's score. */
const otherForms: readonly (readonly [keyword: string, form: RegExp])[] = [
  // PuTTY: the private part follows the public one.
  ['private-lines', new RegExp(String.raw`Private-Lines: ?\d{1,4}${line}${lines}`, 'y')],
  // WireGuard: 32 bytes.
  ['privatekey', new RegExp(String.raw`PrivateKey["']?\s{0,3}[=:]\s{0,3}["']?${base64}{43}=`, 'iy')],
  ['presharedkey', new RegExp(String.raw`PresharedKey["']?\s{0,3}[=:]\s{0,3}["']?${base64}{43}=`, 'iy')],
  ['private_key', new RegExp(String.raw`private_key["']?\s{0,3}[=:]\s{0,3}["']?${base64}{43}=(?![A-Za-z0-9=])`, 'iy')],
  // `wg set wg0 private-key <(echo x)`, `wg.private-key = x`
  [
    'private-key',
    new RegExp(String.raw`private-key["']?[\s=:<(]{1,6}(?:echo )?["']?${base64}{43}=(?![A-Za-z0-9=])`, 'iy'),
  ],
  // age
  ['age-secret-key-', /AGE-SECRET-KEY-(?:PQ-)?1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58,2000}/iy],
  ['age-plugin-', /AGE-PLUGIN-[A-Z0-9-]{2,20}-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{50,300}/y],
  // Nostr
  ['nsec1', /nsec1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{58}(?![a-z0-9])/y],
  // ssh.com
  [
    'begin ssh2',
    new RegExp(
      String.raw`BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?:\s{1,4}[A-Za-z-]{3,20}: [^\n]{0,200}){0,6}${line}${lines}`,
      'y',
    ),
  ],
  // minisign and signify
  ['secret key', new RegExp(String.raw`secret key[^\n\\]{0,80}${line}RW[A-Za-z0-9+/]{80,220}={0,2}`, 'iy')],
  // XML Digital Signature
  [
    '<rsakeyvalue>',
    /<RSAKeyValue>[\s\S]{40,6000}?<D>[A-Za-z0-9+/=\s]{40,1200}<\/D>[\s\S]{0,200}?(?:<\/RSAKeyValue>)?/iy,
  ],
  // PEM in base64, as in secrets of Kubernetes
  ['ls0tls1crudjti', /LS0tLS1CRUdJTi[A-Za-z0-9+/]{40,24000}={0,2}/y],
  // Tor
  ['== ed25519v1-secret', new RegExp(`== ed25519v1-secret: type0 ==${line}${lines}`, 'y')],
  // What PEM contains, without its header: OpenSSH, RSA in both forms, curves.
  ['b3blbnnzac1rzxktdje', new RegExp(`b3BlbnNzaC1rZXktdjE${lines}`, 'y')],
  ...['miiev', 'miieo', 'miiep', 'miieq', 'miicd', 'miicx', 'miijk', 'miijq'].map(
    (head) => [head, new RegExp(`MII[A-Za-z0-9+/]{3}IB(?:ADANBgkq|AAKC)${lines}`, 'y')] as const,
  ),
  ['mighageamb', new RegExp(`MIGHAgEAMBMGByqGSM49${lines}`, 'y')],
  ['mc4caqawbqydk2v', /MC4CAQAwBQYDK2V[A-Za-z0-9+/]{40,64}={0,2}/y],
  ['mhccaqeei', new RegExp(`MHcCAQEEI${lines}`, 'y')],
  // libsodium and Stellar by their names
  ['secret seed', /secret seed["']?\s{0,2}[:=]\s{0,2}["']?S[A-Z2-7]{55}(?![A-Z0-9])/iy],
]
const byKeyword = new Map(otherForms)
/** JWK: the members of a private key are next to `kty`. */
const jwkBefore = 4_000
const jwkPrivate = /\\{0,3}"(?:d|k)\\{0,3}"\s{0,3}:\s{0,3}\\{0,3}"([A-Za-z0-9_-]{20,1400})\\{0,3}"/g

export const privateKeyKeywords: readonly string[] = [...byKeyword.keys(), 'kty"', String.raw`kty\"`]

function jwkAround(text: string, at: number): SensitiveFinding | undefined {
  const before = text.slice(Math.max(0, at - jwkBefore), at)
  const from = at - (before.length - before.lastIndexOf('{'))
  const close = text.slice(at, at + jwkBefore).indexOf('}')
  if (!before.includes('{') || close < 0) return undefined
  const object = text.slice(from, at + close + 1)
  // Symmetric keys (`oct`) have `k`, all others `d`.
  const isSymmetric = /kty\\{0,3}"\s{0,3}:\s{0,3}\\{0,3}"oct/.test(object)
  for (const { 0: member, 1: value = '', index } of object.matchAll(jwkPrivate)) {
    if (/"k\\{0,3}"/.test(member.slice(0, 8)) !== isSymmetric) continue
    const start = from + index + member.lastIndexOf(value)
    return finding('private_key', start, start + value.length, 0.95)
  }
  return undefined
}

/** A private key in another format than PEM at this keyword. */
export function otherKeyAt(text: string, keyword: string, start: number): SensitiveFinding | undefined {
  const form = byKeyword.get(keyword)
  if (form === undefined) return jwkAround(text, start)
  form.lastIndex = start
  const written = form.exec(text)?.[0]
  if (written === undefined) return undefined
  if (keyword === 'ls0tls1crudjti' && !holdsPrivateKey(written)) return undefined
  // The longest run of the match is the key: repeated letters are an example.
  const body = /[A-Za-z0-9+/]{32,}/.exec(written.slice(keyword.length))?.[0] ?? written
  if (new Set(body.slice(0, 43)).size < 10) return undefined
  return finding('private_key', start, start + written.trimEnd().length, 0.95)
}
function holdsPrivateKey(encoded: string): boolean {
  try {
    return /BEGIN [A-Z ]{0,40}PRIVATE KEY/.test(atob(encoded.slice(0, 80)))
  } catch {
    // Not base64 after all.
    return false
  }
}

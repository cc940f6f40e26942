import { crcInBase62 } from './crc32.ts'
import { type Finding, finding } from './findings.ts'

interface Vendor {
  /** Anchored where the key begins; every repetition is bounded. */
  form: RegExp
  /** Beyond the form: a checksum. */
  isOne?: (key: string) => boolean
  score: number
}
/** Prefix, 30 random signs, and 6 of CRC-32 over these. */
const withCrc = (key: string): boolean => {
  const body = key.slice(key.indexOf('_') + 1)
  return crcInBase62(body.slice(0, 30)) === body.slice(30)
}
/** Our own: the checksum is over the prefix, too. */
const isOwn = (key: string): boolean => crcInBase62(key.slice(0, -6)) === key.slice(-6)
/** Of a form with no marker inside: drawn at random, so it has digits and many different signs; a placeholder has not. */
const isRandom = (key: string): boolean => {
  const body = key.slice(Math.max(key.indexOf('-'), key.indexOf('_')) + 1)
  return /\d/.test(body) && /[A-Za-z]/.test(body) && new Set(body).size >= 10
}
/** Behind a marker of the vendor's: all but a placeholder. */
const isVaried = (key: string): boolean => new Set(key.slice(key.search(/[-_.]/) + 1)).size >= 10
const vendor = (form: RegExp, isOne?: Vendor['isOne'], score = 0.95): Vendor => ({
  form,
  score,
  ...(isOne && { isOne }),
})
const end = '(?![A-Za-z0-9])'
const sticky = (form: string) => new RegExp(form + end, 'y')

/** By the word that a key begins with, up to its first sign that is neither letter nor digit. */
const byHead: Record<string, readonly Vendor[]> = {
  sk: [
    vendor(sticky('sk-ant-[a-z]{2,10}\\d{2}-[A-Za-z0-9_-]{32,160}'), isVaried, 1),
    vendor(sticky('sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,220}'), isVaried, 1),
    vendor(sticky('sk-or-v1-[0-9a-f]{64}'), isVaried, 1),
    vendor(sticky('sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}'), undefined, 1),
    vendor(sticky('sk-[A-Za-z0-9]{32,64}'), isRandom, 0.9),
    vendor(sticky('sk_(?:live|test)_[A-Za-z0-9]{24,120}'), isVaried, 1),
  ],
  rk: [vendor(sticky('rk_(?:live|test)_[A-Za-z0-9]{24,120}'), isVaried, 1)],
  whsec: [vendor(sticky('whsec_[A-Za-z0-9+/]{24,80}={0,2}'), isVaried)],
  ghp: [vendor(sticky('ghp_[A-Za-z0-9]{36}'), withCrc, 1)],
  gho: [vendor(sticky('gho_[A-Za-z0-9]{36}'), withCrc, 1)],
  ghu: [vendor(sticky('ghu_[A-Za-z0-9]{36}'), withCrc, 1)],
  ghs: [vendor(sticky('ghs_[A-Za-z0-9]{36}'), withCrc, 1)],
  ghr: [vendor(sticky('ghr_[A-Za-z0-9]{36}'), withCrc, 1)],
  github: [vendor(sticky('github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'), isVaried, 1)],
  npm: [vendor(sticky('npm_[A-Za-z0-9]{36}'), isVaried)],
  kp: [vendor(sticky('kp_[A-Za-z0-9]{49}'), isOwn, 1)],
  glpat: [vendor(sticky('glpat-[A-Za-z0-9_-]{20,60}(?:\\.[0-9a-z]{2}\\.[0-9a-z]{9})?'), isVaried)],
  gldt: [vendor(sticky('gldt-[A-Za-z0-9_-]{20,60}'), isVaried)],
  glrt: [vendor(sticky('glrt-[A-Za-z0-9_-]{20,60}'), isVaried)],
  glptt: [vendor(sticky('glptt-[0-9a-f]{40}'), isVaried)],
  xoxb: [vendor(sticky('xoxb-\\d{9,14}-(?:\\d{9,14}-)?[A-Za-z0-9]{18,48}'), isVaried, 1)],
  xoxp: [vendor(sticky('xoxp-\\d{9,14}-(?:\\d{9,14}-){1,3}[A-Za-z0-9]{24,64}'), isVaried, 1)],
  xoxa: [vendor(sticky('xoxa-(?:2-)?\\d{9,14}-(?:\\d{9,14}-){0,3}[A-Za-z0-9]{18,64}'), isVaried, 1)],
  xoxr: [vendor(sticky('xoxr-\\d{9,14}-(?:\\d{9,14}-){0,3}[A-Za-z0-9]{18,64}'), isVaried, 1)],
  xoxs: [vendor(sticky('xoxs-\\d{9,14}-(?:\\d{9,14}-){0,3}[A-Za-z0-9]{18,64}'), isVaried, 1)],
  xapp: [vendor(sticky('xapp-\\d-[A-Z0-9]{9,14}-\\d{9,14}-[A-Za-z0-9]{32,80}'), isVaried, 1)],
  sg: [vendor(sticky('SG\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}'), isVaried, 1)],
  hf: [vendor(sticky('hf_[A-Za-z]{34}'), (key) => new Set(key).size >= 12)],
  gocspx: [vendor(sticky('GOCSPX-[A-Za-z0-9_-]{28}'), isVaried, 1)],
  ya29: [vendor(sticky('ya29\\.[A-Za-z0-9_-]{40,220}'), isVaried)],
  dop: [vendor(sticky('dop_v1_[0-9a-f]{64}'), isVaried, 1)],
  shpat: [vendor(sticky('shpat_[0-9a-fA-F]{32}'), isVaried)],
  shpss: [vendor(sticky('shpss_[0-9a-fA-F]{32}'), isVaried)],
  shpca: [vendor(sticky('shpca_[0-9a-fA-F]{32}'), isVaried)],
  dckr: [vendor(sticky('dckr_pat_[A-Za-z0-9_-]{27,40}'), isVaried)],
  lin: [vendor(sticky('lin_api_[A-Za-z0-9]{40}'), isVaried)],
  gsk: [vendor(sticky('gsk_[A-Za-z0-9]{52}'), isVaried)],
  xai: [vendor(sticky('xai-[A-Za-z0-9]{80}'), isVaried)],
  r8: [vendor(sticky('r8_[A-Za-z0-9]{37}'), isVaried)],
  pplx: [vendor(sticky('pplx-[A-Za-z0-9]{48}'), isVaried)],
  hvs: [vendor(sticky('hvs\\.[A-Za-z0-9_-]{24,160}'), isVaried)],
  pypi: [vendor(sticky('pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,250}'), undefined, 1)],
  figd: [vendor(sticky('figd_[A-Za-z0-9_-]{40,60}'), isVaried)],
  pmak: [vendor(sticky('PMAK-[0-9a-f]{24}-[0-9a-f]{34}'), isVaried, 1)],
  nrak: [vendor(sticky('NRAK-[A-Z0-9]{27}'), isVaried)],
  lsv2: [vendor(sticky('lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}'), isVaried, 1)],
  key: [vendor(sticky('key-[0-9a-f]{32}'), isRandom, 0.8)],
}
/** Without a separator after their head: told by the first letters of a word and its length. */
const aws = vendor(sticky('(?:AKIA|ASIA)[A-Z2-7]{16}'), isVariedWord, 1)
const google = vendor(/AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/y, isVariedWord, 1)
const twilio = vendor(sticky('SK[0-9a-f]{32}'), isVariedWord, 0.8)
const databricks = vendor(sticky('dapi[0-9a-f]{32}'), isVariedWord, 0.9)
function isVariedWord(key: string): boolean {
  return new Set(key).size >= 8
}

const tried = (text: string, start: number, vendors: readonly Vendor[]): Finding | undefined => {
  for (const { form, isOne, score } of vendors) {
    form.lastIndex = start
    const key = form.exec(text)?.[0]
    if (key !== undefined && (isOne === undefined || isOne(key)))
      return finding('api_key', start, start + key.length, score)
  }
  return undefined
}

const longestHead = Math.max(...Object.keys(byHead).map((head) => head.length))
const heads = new Map(Object.entries(byHead))
/** A vendor's key whose head is the word from `start` to `end`, with a separator after it. */
export function headedKey(text: string, start: number, end: number): Finding | undefined {
  if (end - start > longestHead || end - start < 2) return undefined
  const vendors = heads.get(text.slice(start, end).toLowerCase())
  return vendors && tried(text, start, vendors)
}

/** A vendor's key that begins with the word from `start` to `end` and has no separator after its head. */
export function wordedKey(text: string, start: number, end: number): Finding | undefined {
  const length = end - start
  const two = text.slice(start, start + 2)
  if (length === 20 && (two === 'AK' || two === 'AS')) return tried(text, start, [aws])
  if (two === 'AI') return tried(text, start, [google])
  if (length === 34 && two === 'SK') return tried(text, start, [twilio])
  if (length === 36 && two === 'da') return tried(text, start, [databricks])
  return undefined
}

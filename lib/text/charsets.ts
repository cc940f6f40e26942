import { isUtf8 } from 'node:buffer'

// Reads the bytes of a text file whose encoding nobody states, or states wrongly. Node's TextDecoder has the tables of all encodings of
// the Web; this file chooses one of them.

/** The decoders of the encodings that applications still write, the most frequent one first. */
const legacy = [
  'windows-1252',
  'windows-1251',
  'windows-1250',
  'gb18030',
  'shift_jis',
  'big5',
  'euc-kr',
  'euc-jp',
  'windows-1254',
  'windows-1253',
  'windows-1255',
  'windows-1256',
  'windows-874',
  'koi8-u',
  'ibm866',
  'macintosh',
  'utf-8',
] as const
/** Bytes of the lines that are examined. */
const maxSample = 16_384

const letters = (...all: string[]): ReadonlySet<string> => new Set(all.join(''))
const latin = letters('äöüßéèàçñáíóúãâêôîëïùåøæœìò', 'ąćęłńśźżčďěňřšťůžőűăşğı')
/** Letters in whose place another encoding has a more frequent one. */
const rarerLatin = letters('ûõýţđ')
/** Letters of a script by how often its languages use them. Two encodings of one script differ in them. */
const frequent = {
  Cyrillic: letters('оеаинтсрвл'),
  Greek: letters('αοιετσνηυρπκμλςόίάέήώύ'),
  Hebrew: letters('יוהלאתרבשמנעדק'),
  Arabic: letters('اليمونرتبةعدسفهكقحجش'),
  Thai: letters('านรกอเงมยลวดทสตะปบคหแจพชขใไโผ'),
  Hangul: letters(
    '이다는에의가을를하고은도로지기사한시자리어서아나대해인정스그라요니습들만것수보면일안부전제구여게네오마',
  ),
  Han: letters(
    '的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体相见被利什二等产或新己制身果加西月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活更别打女变四总何电数安少报才结反受目太量再感建务做接必场件计管期市直资命金指许统区保至形社便空决治展司五基眼书非则听白界达光放强难权思完设式色路记南品住告类求据程北边张该交规万取望觉术领共确传师观清今切院让识候带导运医病号请谢客户单款',
    '這個們來為國說時會對於過發後裡種經麼學現當動還進樣開從實無與長機關點業將兩間問應頭體產話給門東聲員論處義幾認條氣題別變總電數報結務場計資許統區決書則聽達強難權設記類據邊張該規萬覺術領確傳師觀識帶導運醫號請謝戶單',
  ),
} as const
const lessFrequent = letters('кмдпуяыьзбгйчхі')
type Script = keyof typeof frequent | 'Latin' | 'Kana'
const scriptPatterns: readonly (readonly [Script, RegExp])[] = [
  ['Latin', /^\p{Script=Latin}/u],
  ['Cyrillic', /^\p{Script=Cyrillic}/u],
  ['Greek', /^\p{Script=Greek}/u],
  ['Hebrew', /^\p{Script=Hebrew}/u],
  ['Arabic', /^\p{Script=Arabic}/u],
  ['Thai', /^\p{Script=Thai}/u],
  ['Hangul', /^\p{Script=Hangul}/u],
  ['Han', /^\p{Script=Han}/u],
  // Halfwidth forms are what single bytes of other encodings look like.
  ['Kana', /^(?![\uff61-\uff9f])[\p{Script=Hiragana}\p{Script=Katakana}ー]/u],
]
const scriptOf = (sign: string): Script | undefined => scriptPatterns.find(([, pattern]) => pattern.test(sign))?.[0]

const usualSigns = /^[“”„‘’‚–—…€•«»°§£©®·¿¡№´、。，．・：；？！「」『』（）《》【】　～·º²³½]/u
/** A sign that no language has inside a word. */
const withinWord = /(?<=\p{L})[^\0-\x7f\p{L}\p{M}’‘–—·]+(?=\p{L})/gu
const isOneCase = /^(?:\p{Lu}?[\p{Ll}\p{Lo}\p{M}\p{Lm}]*|[\p{Lu}\p{M}]+)$/u

/** How well the letters of a word fit together, for each byte that is not ASCII. */
function scoreOfWord(word: string): number {
  let score = 0
  const scripts = new Set<Script | undefined>()
  let accents = 0
  let length = 0
  let isAfterAccent = false
  let before = ''
  for (const sign of word) {
    length++
    const script = scriptOf(sign)
    if (/\p{M}/u.test(sign)) {
      // A mark needs a letter of its script.
      score += script !== undefined && script === scriptOf(before) ? 1 : -2
      before = sign
      continue
    }
    before = sign
    scripts.add(script)
    if (sign <= '\x7f') {
      isAfterAccent = false
      continue
    }
    if (script === undefined) score -= 2
    else if (script === 'Latin') {
      accents++
      const lower = sign.toLowerCase()
      score += latin.has(lower) ? 1 : rarerLatin.has(lower) ? 0.7 : -1
      if (isAfterAccent && !/^[äöüéèß]$/i.test(sign)) score -= 1.5
      isAfterAccent = true
    } else if (script === 'Kana') score += 2
    else {
      const isWide = script === 'Han' || script === 'Hangul'
      const lower = sign.toLowerCase()
      score += (isWide ? 2 : 1) * (frequent[script].has(lower) ? 1 : lessFrequent.has(lower) ? 0.6 : 0.2)
    }
  }
  const isJapanese = scripts.has('Kana') && [...scripts].every((one) => one === 'Kana' || one === 'Han')
  if (scripts.size > 1 && !isJapanese) score -= 1.5 * length
  if (!isOneCase.test(word)) score -= length
  else if (length > 1 && /^\p{Lu}+$/u.test(word)) score *= 0.9
  // In languages of the Latin alphabet, fewer letters have accents than not.
  if (accents > 2 && accents > length / 2) score -= 2 * accents
  return score
}

function scoreOf(text: string): number {
  let score = 0
  for (const [word] of text.matchAll(/[\p{L}\p{M}]+/gu)) if (/[^\0-\x7f]/.test(word)) score += scoreOfWord(word)
  for (const [sign] of text.matchAll(/[^\0-\x7f\p{L}\p{M}]/gu)) {
    if (sign === '\ufffd' || /^[\p{Cc}\p{Cn}\p{Co}]/u.test(sign)) score -= 4
    else score += usualSigns.test(sign) ? 1 : -0.5
  }
  score -= 2 * (text.match(withinWord)?.length ?? 0)
  return score
}

/** The lines that have other bytes than ASCII: only these differ between the encodings. */
function sampleOf(bytes: Uint8Array): Uint8Array {
  const lines: Uint8Array[] = []
  let size = 0
  for (let at = 0; at < bytes.length && size < maxSample; ) {
    const first = bytes.subarray(at).findIndex((byte) => byte > 127)
    if (first === -1) break
    const from = Math.max(at, bytes.lastIndexOf(10, at + first) + 1, at + first - 200)
    const newline = bytes.indexOf(10, at + first)
    const until = Math.min(newline === -1 ? bytes.length : newline + 1, at + first + maxSample)
    lines.push(bytes.subarray(from, until))
    size += until - from
    at = until
  }
  return Buffer.concat(lines).subarray(0, maxSample)
}

const decoded = (bytes: Uint8Array, label: string): string => new TextDecoder(label, { ignoreBOM: true }).decode(bytes)

/** The length of the character of UTF-8 at a position, if it has several bytes; else 0. */
function sequenceAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0
  const length = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  for (let next = 1; next < length; next++) {
    const byte = bytes[at + next] ?? 0
    if (byte < 0x80 || byte > 0xbf) return 0
  }
  return length > 0 && isUtf8(bytes.subarray(at, at + length)) ? length : 0
}
/** How many bytes above 127 belong to characters of UTF-8, and how many do not. */
function countsOf(line: Uint8Array): { valid: number; invalid: number } {
  const counts = { valid: 0, invalid: 0 }
  for (let at = 0; at < line.length; ) {
    const length = (line[at] ?? 0) < 128 ? 1 : sequenceAt(line, at)
    if (length > 1) counts.valid += length
    else if (length === 0) counts.invalid++
    at += Math.max(1, length)
  }
  return counts
}
function* linesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(10, from)
    const until = newline === -1 ? bytes.length : newline + 1
    yield bytes.subarray(from, until)
    from = until
  }
}
/** In lines of UTF-8 with fewer such bytes, texts of other encodings are valid by chance. */
const leastValid = 4
/**
 * Whether a text that is not valid UTF-8 is UTF-8 nevertheless, with damaged bytes, a cut end or lines of another encoding: texts of other
 * encodings have few of its sequences.
 */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  let [valid, invalid, inLines] = [0, 0, 0]
  for (const line of linesOf(bytes)) {
    const counts = countsOf(line)
    valid += counts.valid
    invalid += counts.invalid
    if (counts.invalid === 0) inLines += counts.valid
  }
  return valid > 0 && (valid >= 3 * invalid || (inLines >= leastValid && inLines >= invalid))
}

/** UTF-8, where whole lines may have another encoding. */
function decodedLines(bytes: Uint8Array): string {
  const lines = [...linesOf(bytes)]
  const isOther = lines.map((line) => {
    const { valid, invalid } = countsOf(line)
    return invalid > valid
  })
  if (!isOther.includes(true)) return decoded(bytes, 'utf-8')
  const label = mostPlausible(Buffer.concat(lines.filter((_, at) => isOther[at])))
  return lines.map((line, at) => decoded(line, isOther[at] ? label : 'utf-8')).join('')
}

function mostPlausible(bytes: Uint8Array): string {
  const sample = sampleOf(bytes)
  let best: { label: string; score: number } = { label: 'utf-8', score: Number.NEGATIVE_INFINITY }
  for (const label of legacy) {
    const score = scoreOf(decoded(sample, label))
    if (score > best.score) best = { label, score }
  }
  return best.label
}

/**
 * Whether a third of the bytes, or more, are those that only UTF-16 has between letters. A text with NUL characters between its words is
 * UTF-8.
 */
function isMostlyWide(bytes: Uint8Array): boolean {
  let found = 0
  for (const byte of bytes) if (byte < 32 && byte !== 10 && byte !== 13) found++
  return found * 3 >= bytes.length
}

/** In a shorter text, a single zero says nothing about its encoding. */
const leastWide = 16
/** UTF-16 without a mark: it has zeros, and all its characters exist. In the wrong order, spaces and line ends are letters. */
function wideOf(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes.length < leastWide || bytes.length % 2 === 1 || !bytes.includes(0)) return undefined
  let best: { label: 'utf-16le' | 'utf-16be'; score: number } | undefined
  for (const label of ['utf-16le', 'utf-16be'] as const) {
    const text = decoded(bytes.subarray(0, maxSample), label)
    if (/[\p{Cn}\p{Co}\p{Cs}]|(?![\t\n\r])\p{Cc}/u.test(text)) continue
    const score = scoreOf(text) + (text.match(/[ -~\n]/g)?.length ?? 0)
    if (!best || score > best.score) best = { label, score }
  }
  return best?.label
}

function encodingOf(charset: string): string | undefined {
  try {
    return new TextDecoder(charset).encoding
  } catch {
    return undefined
  }
}

/**
 * The label of the encoding of a text file, for TextDecoder: by its byte order mark; UTF-8 if it is valid, or mostly, because other texts
 * hardly ever are; then as the client states it (`charset`); else the encoding in which its letters fit together best.
 */
export function charsetOf(bytes: Uint8Array, charset = ''): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  const stated = charset === '' ? undefined : encodingOf(charset)
  // Its bytes are those of ASCII.
  if (stated === 'iso-2022-jp') return stated
  const isValid = isUtf8(bytes)
  if (!isValid && isMostlyUtf8(bytes)) return 'utf-8'
  const isWide = !isValid || isMostlyWide(bytes.subarray(0, maxSample))
  if (stated?.startsWith('utf-16') && isWide && !decoded(bytes, stated).includes('\ufffd')) return stated
  const wide = isWide ? wideOf(bytes) : undefined
  if (wide) return wide
  if (isValid) return 'utf-8'
  if (stated !== undefined && !decoded(bytes, stated).includes('\ufffd')) return stated
  return mostPlausible(bytes)
}

/** The text of a file in any encoding. A byte order mark of UTF-8 remains, as a character. */
export function decodedText(bytes: Uint8Array, charset?: string): string {
  const label = charsetOf(bytes, charset)
  if (label === 'utf-8' && !isUtf8(bytes)) return decodedLines(bytes)
  const text = decoded(bytes, label)
  return label.startsWith('utf-16') ? text.replace(/^\ufeff/, '') : text
}

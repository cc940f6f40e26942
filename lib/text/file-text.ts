import { isUtf8 } from 'node:buffer'
import { decodedText } from './charsets.ts'
import { codePageOfRtf, wordsOfRtf } from './typeset.ts'

// The text of a file, for fingerprints: whatever its encoding, and with the parts of an email and of RTF decoded. Views read the rest
// (HTML, XML, JSON, entities).

/** Emails inside of emails that are read. */
const maxNested = 3
/** Parts of an email that are read. */
const maxParts = 200
/** Most bytes of a text are printable. Other control characters do not occur in it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const binary = /[\0-\x08\x0e-\x1a\x1c-\x1f]/

const isEmail = (mediaType: string): boolean => mediaType === 'message/rfc822'
const textTypes =
  /^text\/|^application\/(?:json|xml|rtf|yaml|x-yaml|javascript|x-ndjson|sql|toml)$|\+(?:xml|json|yaml)$|^message\/rfc822$/
/** Media types of files that may be texts: their bytes decide. PostgreSQL reads this expression as JavaScript does. */
export const possibleTextTypes = new RegExp(`${textTypes.source}|^application\\/octet-stream$`)
/** Whether files of this type are texts. */
export const isTextFile = (mediaType: string): boolean => textTypes.test(mediaType)
/** Whether files of this type may be texts. */
export const mayBeTextFile = (mediaType: string): boolean => possibleTextTypes.test(mediaType)

/** The text of a file; undefined if it is binary. */
export function fileText(bytes: Uint8Array, mediaType: string): string | undefined {
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  if (!isTextFile(mediaType) && !isWide && !isUtf8(bytes)) return undefined
  const text = decodedText(bytes)
  if (!isTextFile(mediaType) && binary.test(text)) return undefined
  if (text.startsWith('{\\rtf')) return wordsOfRtf(decodedText(bytes, codePageOfRtf(text)))
  return isEmail(mediaType) ? [text, ...emailTexts(bytes)].join('\n') : text
}

const endOfHead = /\r?\n\r?\n/
const headOf = (part: string, name: string): string =>
  new RegExp(`^${name}:((?:[^\\n]|\\n[ \\t])*)`, 'im').exec(part)?.[1]?.trim() ?? ''
const parameterOf = (head: string, name: string): string | undefined => {
  const found = new RegExp(`;\\s*${name}="?([^";\\s]+)`, 'i').exec(head)
  return found?.[1]
}

/** The texts of an email's parts, decoded from their transfer encoding and their charset. */
function emailTexts(bytes: Uint8Array): string[] {
  const texts: string[] = []
  let parts = 0
  function read(part: string, depth: number): void {
    if (depth > maxNested || ++parts > maxParts) return
    const border = endOfHead.exec(part)
    if (!border) return
    const head = part.slice(0, border.index + 1)
    const body = part.slice(border.index + border[0].length)
    const type = headOf(head, 'Content-Type')
    const boundary = parameterOf(type, 'boundary')
    if (boundary !== undefined) {
      for (const one of body.split(`--${boundary}`).slice(1)) read(one.replace(/^\r?\n/, ''), depth + 1)
      return
    }
    const isNested = /^message\/rfc822/i.test(type)
    if (type !== '' && !/^text\//i.test(type) && !isNested) return
    const content = transferred(body, headOf(head, 'Content-Transfer-Encoding').toLowerCase())
    if (isNested) read(content.toString('latin1'), depth + 1)
    else texts.push(decodedText(content, parameterOf(type, 'charset')))
  }
  read(Buffer.from(bytes).toString('latin1'), 0)
  return texts
}
function transferred(body: string, encoding: string): Buffer {
  if (encoding === 'base64') return Buffer.from(body, 'base64')
  if (encoding !== 'quoted-printable') return Buffer.from(body, 'latin1')
  const plain = body
    .replace(/=[ \t]*\r?\n/g, '')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(plain, 'latin1')
}

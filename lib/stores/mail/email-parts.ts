/** The parts of an email, as far as they can be read. */
export interface EmailParts {
  /** The value of the header; empty if the header is missing. */
  to: string
  subject: string
  /** The plain text; null if there is none. */
  text: string | null
}

const headerOf = (head: string, name: string): string =>
  new RegExp(`^${name}:[ \\t]*(.*(?:\\r?\\n[ \\t].*)*)`, 'im')
    .exec(head)?.[1]
    ?.replace(/\r?\n[ \t]+/g, ' ')
    .trim() ?? ''

const printable = (text: string): Buffer =>
  Buffer.from(
    text
      .replace(/=\r?\n/g, '')
      .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

/** Decodes encoded words (RFC 2047) in UTF-8. Adjacent ones are joined before decoding. */
function wordsOf(text: string): string {
  return text.replace(/=\?utf-8\?([bq])\?[^?]*\?=(?:\s+=\?utf-8\?\1\?[^?]*\?=)*/gi, (run, kind: string) => {
    const pieces = [...run.matchAll(/=\?utf-8\?[bq]\?([^?]*)\?=/gi)].map(([, data = '']) =>
      kind.toLowerCase() === 'b' ? Buffer.from(data, 'base64') : printable(data.replaceAll('_', ' ')),
    )
    return Buffer.concat(pieces).toString('utf8')
  })
}

/** Removes control characters that would affect a terminal or a page. */
const legible = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{C}\n\t\u200c\u200d]/gu, '')
    .toWellFormed()
const line = (text: string): string => legible(text).replace(/\s+/g, ' ').slice(0, 500)

function bodyOf(part: string, encoding: string): string {
  if (/base64/i.test(encoding)) return Buffer.from(part, 'base64').toString('utf8')
  const bytes = Buffer.from(part, 'utf8')
  return /quoted-printable/i.test(encoding) ? printable(bytes.toString('latin1')).toString('utf8') : part
}
function split(message: string): [head: string, body: string] {
  const end = /\r?\n\r?\n/.exec(message)
  return end ? [message.slice(0, end.index), message.slice(end.index + end[0].length)] : [message, '']
}

/** Reads only the headers; `head` is the beginning of a message. */
export function headersOf(head: string): Pick<EmailParts, 'to' | 'subject'> {
  const [headers] = split(head)
  return { to: line(wordsOf(headerOf(headers, 'To'))), subject: line(wordsOf(headerOf(headers, 'Subject'))) }
}

/**
 * Parses a message as our mailer writes it: plain text, or `multipart/alternative` with a plain part (RFC 2045, 2046). Other messages
 * have no text.
 */
export function emailParts(message: string): EmailParts {
  const [headers, body] = split(message)
  const type = headerOf(headers, 'Content-Type')
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1]
  const parts =
    boundary === undefined ? [message] : body.split(`--${boundary}`).map((part) => part.replace(/^\r?\n/, ''))
  for (const part of parts) {
    const [head, content] = split(part)
    if (!/^text\/plain\b/i.test(headerOf(head, 'Content-Type'))) continue
    return { ...headersOf(headers), text: legible(bodyOf(content, headerOf(head, 'Content-Transfer-Encoding'))).trim() }
  }
  return { ...headersOf(headers), text: null }
}

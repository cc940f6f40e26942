import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface ReceivedEmail {
  to: string
  subject: string
  text: string
  html: string
  /** All headers, unfolded. */
  head: string
}

const decoded = (body: string, encoding: string): string => {
  if (/base64/i.test(encoding)) return Buffer.from(body, 'base64').toString('utf8')
  if (!/quoted-printable/i.test(encoding)) return body
  const bytes = body
    .replace(/=\r?\n/g, '')
    .replace(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
const header = (head: string, name: string): string =>
  new RegExp(`^${name}: (.*(?:\\r?\\n[ \\t].*)*)`, 'im').exec(head)?.[1]?.replace(/\r?\n[ \t]/g, ' ') ?? ''
/** Decodes RFC 2047 words as nodemailer writes them. */
const words = (text: string): string =>
  text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi, (_, kind: string, body: string) =>
      kind.toUpperCase() === 'B'
        ? Buffer.from(body, 'base64').toString('latin1')
        : decoded(body.replaceAll('_', ' ').replace(/=([0-9A-F]{2})/gi, '=$1'), 'none').replace(
            /=([0-9A-F]{2})/gi,
            (__, hex) => String.fromCharCode(Number.parseInt(hex, 16)),
          ),
    )
const subjectOf = (head: string): string => {
  const raw = header(head, 'Subject')
  return raw.includes('=?') ? Buffer.from(words(raw), 'latin1').toString('utf8') : raw
}

function parsed(to: string, raw: string): ReceivedEmail {
  const at = raw.search(/\r?\n\r?\n/)
  const head = raw.slice(0, at)
  const boundary = /boundary="([^"]+)"/.exec(head)?.[1] ?? ''
  const parts = raw.slice(at).split(`--${boundary}`)
  const part = (type: string): string => {
    const found = parts.find((one) => header(one.trimStart(), 'Content-Type').startsWith(type))?.trimStart() ?? ''
    const start = found.search(/\r?\n\r?\n/)
    return decoded(found.slice(start).trimStart(), header(found.slice(0, start), 'Content-Transfer-Encoding'))
  }
  return {
    to,
    subject: subjectOf(head),
    text: part('text/plain'),
    html: part('text/html'),
    head: head.replace(/\r?\n[ \t]/g, ' '),
  }
}

/** A real SMTP server on a free port of 127.0.0.1 that records every email. `refuse(true)` makes it reject all emails. */
export async function mailbox() {
  const emails: ReceivedEmail[] = []
  let isRefusing = false
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        if (isRefusing) return done(Object.assign(new Error('not now'), { responseCode: 451 }))
        const raw = Buffer.concat(pieces).toString('utf8')
        for (const { address } of session.envelope.rcptTo) emails.push(parsed(address, raw))
        done()
      })
    },
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    letters: emails,
    refuse: (refusing: boolean) => {
      isRefusing = refusing
    },
    close: () => new Promise<void>((closed) => server.close(closed)),
  }
}
export type Mailbox = Awaited<ReturnType<typeof mailbox>>

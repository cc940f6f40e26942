import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openMail } from './mail.ts'

const from = 'KnowledgePulse <noreply@registry.example>'
const email = {
  to: 'ada@example.org',
  subject: '您的密码已被重置',
  text: 'A line.\n\nAnother, with “quotes” and 中文.\n',
  html: '<p>A line.</p>',
}
/** The subject as a mail program shows it (RFC 2047). */
const subjectOf = (message: string): string =>
  (/^Subject: ((?:.*\r\n[ \t])*.*)\r\n/m.exec(message)?.[1] ?? '')
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?UTF-8\?B\?([^?]*)\?=/gi, (_, data: string) => Buffer.from(data, 'base64').toString())
    .replace(/=\?UTF-8\?Q\?([^?]*)\?=/gi, (_, data: string) =>
      Buffer.from(
        data.replace(/=([0-9A-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
        'latin1',
      ).toString(),
    )
const expectEmail = (message: string) => {
  expect(subjectOf(message)).toBe(email.subject)
  expect(message).toContain('From: KnowledgePulse <noreply@registry.example>')
  expect(message).toMatch(/^Content-Type: multipart\/alternative/m)
  expect(message).toMatch(/^Content-Type: text\/plain; charset=utf-8/m)
  expect(message).toMatch(/^Content-Type: text\/html; charset=utf-8/m)
}

describe('through a server', () => {
  const received: { to: string[]; message: string }[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: ({ address }, _session, done) =>
      done(address.startsWith('unknown@') ? new Error(`no mailbox ${address}`) : null),
    onData(stream, session, done) {
      const pieces: Buffer[] = []
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      stream.on('end', () => {
        received.push({
          to: session.envelope.rcptTo.map(({ address }) => address),
          message: Buffer.concat(pieces).toString(),
        })
        done()
      })
    },
  })
  let url = ''
  beforeAll(async () => {
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const address = server.server.address()
    url = `smtp://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  })
  afterAll(() => new Promise<void>((closed) => server.close(closed)))

  test('send delivers a complete email to one address', async () => {
    const mail = openMail({ smtpUrl: url, from, dataDir: '/nowhere' })
    await mail.verify()
    await mail.send(email)
    mail.close()
    expect(received).toHaveLength(1)
    expect(received[0]?.to).toEqual(['ada@example.org'])
    expectEmail(received[0]?.message ?? '')
  })

  test.each([
    ['a comma', 'ada@example.org, eve@example.net'],
    ['a line break', 'ada@example.org\r\nBcc: eve@example.net'],
  ])('send rejects an address with %s, and adds no recipient and no header', async (_, to) => {
    received.length = 0
    const mail = openMail({ smtpUrl: url, from, dataDir: '/nowhere' })
    await expect(mail.send({ ...email, to })).rejects.toThrow('EENVELOPE')
    mail.close()
    expect(received).toEqual([])
  })

  test('send reports a refusal by its code, without the address', async () => {
    const mail = openMail({ smtpUrl: url, from, dataDir: '/nowhere' })
    const error = await mail.send({ ...email, to: 'unknown@example.org' }).catch((reason: unknown) => reason)
    mail.close()
    expect(String(error)).toBe('Error: The mail server rejected the email (EENVELOPE 550).')
    expect(error).not.toHaveProperty('cause')
  })

  test('send fails within seconds when the server is unreachable', async () => {
    const mail = openMail({ smtpUrl: 'smtp://127.0.0.1:1', from, dataDir: '/nowhere' })
    await expect(mail.verify()).rejects.toThrow(/ECONNREFUSED/)
    await expect(mail.send(email)).rejects.toThrow(/ESOCKET|ECONNREFUSED/)
    mail.close()
  })
})

describe('into a folder', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-mail-'))
  const folder = join(dataDir, 'mail')
  afterAll(() => rmSync(dataDir, { recursive: true }))

  test('send writes a file that only its owner can read', async () => {
    const mail = openMail({ from, dataDir })
    await mail.send(email)
    const names = readdirSync(folder)
    expect(names).toHaveLength(1)
    expect(names[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[0-9a-f]{8}\.eml$/)
    const file = join(folder, names[0] ?? '')
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expectEmail(readFileSync(file, 'utf8'))
  })

  test('prune removes old emails and keeps recent ones and other files', async () => {
    const mail = openMail({ from, dataDir })
    await mail.send(email)
    const [old = ''] = readdirSync(folder).sort()
    utimesSync(join(folder, old), new Date('2026-01-01'), new Date('2026-01-01'))
    expect(await mail.prune(new Date('2026-01-02'))).toBe(1)
    expect(readdirSync(folder)).toHaveLength(1)
    expect(await openMail({ from, dataDir: join(dataDir, 'none') }).prune(new Date())).toBe(0)
  })
})

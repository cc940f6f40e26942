import fc from 'fast-check'
import { createTransport } from 'nodemailer'
import { expect, it } from 'vitest'
import { processorTime } from '#lib/testing/processor-time.ts'
import { emailContent } from './email-content.ts'
import { emailParts, headersOf } from './email-parts.ts'

const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
const made = async (to: string, subject: string, paragraphs: string[]): Promise<string> => {
  const { message } = await transport.sendMail({
    from: 'a@example.org',
    to: { name: '', address: to },
    ...emailContent('en', subject, paragraphs),
  })
  return String(message)
}

it.each([
  ['plain', 'Your erasure begins', ['One line.', 'https://registry.example/privacy/confirm?code=abc=def']],
  [
    'Chinese',
    '您的删除请求将在 24 小时后开始，在此之前您可以随时取消，数据会保留',
    ['第一段。', '第二段，带“引号”和一个很长很长的句子，'.repeat(20)],
  ],
  ['long, with = and accents', `Ä ${'long '.repeat(40)}= end`, [`x = ${'é'.repeat(300)}`]],
])('letterParts returns the parts of a message that the mailer wrote: %s', async (_, subject, paragraphs) => {
  const parts = emailParts(await made('ada@example.org', subject, paragraphs))
  expect(parts).toEqual({
    to: 'ada@example.org',
    subject: subject.trim(),
    text: `${paragraphs.join('\n\n')}\n\nKnowledgePulse`,
  })
})

it('letterParts returns null as the text when the message has no readable text', () => {
  expect(emailParts('To: a@example.org\r\nContent-Type: text/html\r\n\r\n<p>x</p>').text).toBeNull()
  expect(emailParts('').text).toBeNull()
})

it('letterParts returns displayable text for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
      const raw = Buffer.from(bytes).toString('utf8')
      const parts = emailParts(`Subject: ${raw}\nContent-Type: text/plain\n\n${raw}`)
      for (const said of [parts.to, parts.subject, parts.text ?? ''])
        if (/[^\P{C}\n\t\u200c\u200d]/u.test(said) || !said.isWellFormed()) return false
      return true
    }),
  )
})

it('letterParts parses extremely long headers and bodies in less than quadratic time', () => {
  const spent = processorTime(() => {
    headersOf(`Subject: =?utf-8?b?${'A'.repeat(200_000)}\r\n ${'\r\n '.repeat(50_000)}x`)
    emailParts(`Content-Type: multipart/mixed; boundary="b"\r\n\r\n${'--b\r\n'.repeat(50_000)}`)
    emailParts(`Subject: ${'=?utf-8?q?a?= '.repeat(20_000)}\r\n\r\n`)
  })
  // Microseconds. It takes a tenth of a second; with backtracking it would take minutes.
  expect(spent).toBeLessThan(10_000_000)
})

import { describe, expect, it } from 'vitest'
import { fileText, isTextFile, mayBeTextFile } from './file-text.ts'

const latin = (text: string) => Buffer.from(text, 'latin1')

describe('fileText', () => {
  it.each([
    ['bytes of its page', "{\\rtf1\\ansi\\ansicpg1251 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2}", 'Привет'],
    ['Unicode escapes with replacements', '{\\rtf1\\ansi\\uc1 K\\u246?ln und \\u8364?30}', 'Köln und €30'],
    ['negative Unicode escapes', '{\\rtf1\\uc0\\u-3913 \\u-3912 }', '\uf0b7\uf0b8'],
    ['paragraphs', '{\\rtf1 one\\par two\\tab three}', 'one\ntwo\tthree'],
    ['groups without words', '{\\rtf1{\\fonttbl{\\f0 Arial;}}{\\*\\generator Word;}{\\info{\\author X}}kept}', 'kept'],
    ['a text box', '{\\rtf1 one{\\shp{\\*\\shpinst{\\sp{\\sn a}{\\sv 0}}{\\shptxt\\pard two}}}}', 'one\ntwo'],
    ['a comment', '{\\rtf1 one{\\*\\annotation{\\*\\atnref 1}\\pard two}}', 'one\ntwo'],
    [
      'a font with its own bytes',
      "{\\rtf1\\ansicpg1252{\\fonttbl{\\f0 Arial;}{\\f1\\fcharset204 Arial;}}\\f1 \\'cf\\'f0\\'e8\\'e2\\'e5\\'f2}",
      'Привет',
    ],
    ['bytes that are not escaped', '{\\rtf1\\ansi\\ansicpg1251 \xcf\xf0\xe8\xe2\xe5\xf2}', 'Привет'],
    ['escaped signs', '{\\rtf1 a\\{b\\}c\\\\d}', 'a{b}c\\d'],
  ])('returns the words of RTF with %s', (_, source, words) => {
    expect(fileText(latin(source), 'application/rtf')).toBe(words)
  })

  it('returns the parts of an email, decoded by their encoding and charset', () => {
    const mail = [
      'Subject: x',
      'Content-Type: multipart/mixed; boundary="outer"',
      '',
      '--outer',
      'Content-Type: multipart/alternative; boundary=inner',
      '',
      '--inner',
      'Content-Type: text/plain; charset=iso-8859-1',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'K=F6ln ist sch=\r\n=F6n',
      '--inner--',
      '--outer',
      'Content-Type: text/html; charset=koi8-r',
      'Content-Transfer-Encoding: base64',
      '',
      latin('\xf0\xd2\xc9\xd7\xc5\xd4').toString('base64'),
      '--outer',
      'Content-Type: image/png',
      'Content-Transfer-Encoding: base64',
      '',
      'iVBORw0K',
      '--outer--',
    ].join('\r\n')
    const text = fileText(latin(mail), 'message/rfc822')
    expect(text).toContain('Köln ist schön')
    expect(text).toContain('Привет')
  })

  it('returns undefined for bytes that are no text, when the type does not decide', () => {
    expect(fileText(Buffer.of(0x89, 0x50, 0xff), 'application/octet-stream')).toBeUndefined()
    expect(fileText(Buffer.of(0, 1, 2), 'application/octet-stream')).toBeUndefined()
    expect(fileText(Buffer.from('note: Köln\n'), 'application/octet-stream')).toBe('note: Köln\n')
  })

  it('ends for damaged and nested files', () => {
    for (const source of [
      '{\\rtf1 {',
      `{\\rtf1 ${'{'.repeat(50_000)}`,
      "{\\rtf1 \\'",
      '{\\rtf1 \\u',
      `{\\rtf1 \\ansicpg9 \\'e4}`,
    ])
      expect(typeof fileText(latin(source), 'text/rtf')).toBe('string')
    const nested = 'Content-Type: message/rfc822\r\n\r\n'.repeat(500)
    expect(fileText(latin(nested), 'message/rfc822')).toContain('Content-Type')
  })
})

it('text files are those whose type says so, and octet streams may be texts', () => {
  const all = ['text/csv', 'application/xml', 'image/svg+xml', 'message/rfc822', 'application/rtf', 'application/json']
  expect(all.every(isTextFile)).toBe(true)
  expect(['application/pdf', 'image/png', 'application/octet-stream', 'application/zip'].some(isTextFile)).toBe(false)
  expect(mayBeTextFile('application/octet-stream')).toBe(true)
  expect(mayBeTextFile('application/pdf')).toBe(false)
})

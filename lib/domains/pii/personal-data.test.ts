import { describe, expect, it, test } from 'vitest'
import { looksLikeAPersonsName } from './person-names.ts'
import { findPersonalData } from './personal-data.ts'

describe('personal data', () => {
  test.each([
    ['email', 'Write to a.beispiel+x@mail.example.org today.', 'a.beispiel+x@mail.example.org'],
    ['email', '请写信到 test@例子.中国。', 'test@例子.中国'],
    ['phone', 'Call +49 30 1234567.', '+49 30 1234567'],
    ['phone', 'Call (212) 555-2368 at noon.', '(212) 555-2368'],
    ['phone', '手机13812345678。', '13812345678'],
    ['phone', 'Mobile +86 138 1234 5678', '+86 138 1234 5678'],
    ['address', 'Lives at 12 Nowhere Hill Road since May.', '12 Nowhere Hill Road'],
    ['address', 'Wohnt in der Beispielstraße 5a.', 'Beispielstraße 5a'],
    ['address', '住在无名市样例路100号', '住在无名市样例路100号'],
    ['titled_person', 'Seen by Dr. Beispiel yesterday', 'Dr. Beispiel'],
    ['titled_person', 'Ms. Nobody signed.', 'Ms. Nobody'],
    ['titled_person', '由王某某女士签署', '王某某女士'],
    ['role', 'She is the CFO of Nowhere Inc.', 'CFO of N'],
    ['role', 'Nowhere’s CEO resigned.', 'Nowhere’s CEO'],
    ['role', '某某公司首席财务官', '某某公司首席财务官'],
    ['iban', 'Pay DE89 3704 0044 0532 0130 00 now', 'DE89 3704 0044 0532 0130 00'],
    ['card', 'Card 4111 1111 1111 1111.', '4111 1111 1111 1111'],
    ['national_id', '身份证11010519491231002X。', '11010519491231002X'],
    ['national_id', 'SSN 123-45-6789', '123-45-6789'],
  ])('finds %s in %j', (kind, text, expected) => {
    const findings = findPersonalData(text).filter((one) => one.kind === kind)
    expect(findings.map(({ start, end }) => text.slice(start, end))).toEqual([expected])
  })
})

it.each([
  'Revenue rose to 2125552368 in 2026.',
  'Signed on 2026-11-22, due 22.11.2026.',
  'DE00 3704 0044 0532 0130 00 has wrong check digits',
  '4111 1111 1111 1112 has one, too',
  '110105194912310021 is not an identity number',
  'The company is a strategic partner of others.',
  'EBITDA of 12.5 million, version 1.2.3.4',
  'A drive at 12 things we did',
  'id 9Dr.Beispiel and x4Mr.Who in a hash',
  'build 3CEO of Nowhere',
  '',
])('finds nothing in %j', (text) => {
  expect(findPersonalData(text)).toEqual([])
})

it('kinds that are not requested are not reported', () => {
  expect(findPersonalData('a@example.org, +49 30 1234567', { kinds: ['phone'] }).map(({ kind }) => kind)).toEqual([
    'phone',
  ])
})

it('a hostile text takes linear time', () => {
  const long = `${'1 Aaaa '.repeat(4_000)}${'a.'.repeat(4_000)}@${'1-'.repeat(4_000)}`
  expect(findPersonalData(long)).toBeInstanceOf(Array)
})

describe('names of people', () => {
  test.each([
    'Anna Beispiel',
    'Anna',
    'J. R. Beispiel',
    'Jean-Luc d’Exemple',
    'Ludwig van Beispiel',
    'McNobody',
    '王小明',
    '欧阳某',
  ])('accepts %s', (name) => {
    expect(looksLikeAPersonsName(name)).toBe(true)
  })
  test.each([
    'Nowhere Inc.',
    'Nowhere Capital',
    'Q3 Revenue',
    'EBITDA',
    'the committee',
    'Share Purchase Agreement',
    '2026',
    '样例科技公司',
    '',
  ])('rejects %j', (name) => {
    expect(looksLikeAPersonsName(name)).toBe(false)
  })
})

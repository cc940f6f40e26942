import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { portableNames } from './archive.ts'

describe('names in an archive', () => {
  test.each([
    ['agents/agent_1/votes.json', 'agents/agent_1/votes.json'],
    ['files/m/a:b?.pdf', 'files/m/a_b_.pdf'],
    ['files/m/CON.txt', 'files/m/_CON.txt'],
    ['files/m/nul .txt', 'files/m/_nul .txt'],
    ['files/aux/x', 'files/_aux/x'],
    ['files/m/report. ', 'files/m/report_'],
    ['../etc/passwd', '_/etc/passwd'],
    ['/c:\\windows', 'c__windows'],
    ['files/m/合同.pdf', 'files/m/合同.pdf'],
    [`x/${'y'.repeat(200)}.docx`, `x/${'y'.repeat(95)}.docx`],
  ])('%s is unpacked as %s', (name, portable) => expect(portableNames()(name)).toBe(portable))

  it('differ in any case, and keep their endings', () => {
    const portable = portableNames()
    expect(['a/Scan.pdf', 'a/scan.pdf', 'a/SCAN.PDF', 'a/sc?n.pdf', 'a/sc*n.pdf'].map(portable)).toEqual([
      'a/Scan.pdf',
      'a/scan (2).pdf',
      'a/SCAN (3).PDF',
      'a/sc_n.pdf',
      'a/sc_n (2).pdf',
    ])
  })

  it('can be unpacked on Windows whatever people call their files', () => {
    const word = fc.constantFrom(...'con nul LPT1 com¹ . .. a  : \\ ? * < | ü 合 😀 .txt x.'.split(' '), ' ', '\t')
    const name = fc.array(
      fc.array(word, { maxLength: 4 }).map((words) => words.join('')),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(fc.array(name, { maxLength: 8 }), (names) => {
        const portable = portableNames()
        const all = names.map((segments) => portable(segments.join('/')))
        expect(new Set(all.map((one) => one.toLowerCase())).size).toBe(all.length)
        for (const segment of all.flatMap((one) => one.split('/'))) {
          expect(segment).not.toMatch(/[<>:"|?*\\]|[. ]$|^(?:con|nul|aux|prn|com\d|lpt\d) *(?:\.|$)/i)
          expect([...segment].every((sign) => (sign.codePointAt(0) ?? 0) > 31)).toBe(true)
        }
      }),
    )
  })
})

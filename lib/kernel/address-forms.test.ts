import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { comparableAddress, isSameAddress, storedForms } from './address-forms.ts'

const forms = [
  'jö@bücher.example',
  'jö@bücher.example'.normalize('NFD'),
  'JÖ@BÜCHER.example',
  'jö@xn--bcher-kva.example',
  'jö@XN--BCHER-KVA.example'.normalize('NFD'),
  ' jö@bücher.example ',
]

describe('comparableAddress', () => {
  it('returns one form for every spelling of an address', () => {
    expect(new Set(forms.map(comparableAddress))).toEqual(new Set(['jö@xn--bcher-kva.example']))
  })

  it.each([
    ['jo@mail.example', 'jo+1@mail.example'],
    ['jo@mail.example', 'j.o@mail.example'],
    ['jö@mail.example', 'jo@mail.example'],
    ['jo@bücher.example', 'jo@bucher.example'],
    ['jo@a.example', 'jo@b.example'],
  ])('distinguishes %s and %s', (one, other) => expect(isSameAddress(one, other)).toBe(false))

  it('does not change an ASCII address in lower case, and is idempotent', () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,8}$/)
    const address = fc
      .tuple(fc.stringMatching(/^[a-z0-9._+-]{1,12}$/), label, fc.stringMatching(/^[a-z]{2,8}$/))
      // A domain ends in letters, so it is never read as the number of a host.
      .map(([a, b, c]) => `${a}@${b}.${c}`)
    fc.assert(
      fc.property(address, (one) => {
        fc.pre(!one.includes('xn'))
        expect([comparableAddress(one), storedForms(one)]).toEqual([one, [one]])
      }),
      { numRuns: 2_000 },
    )
    for (const form of forms) expect(comparableAddress(comparableAddress(form))).toBe(comparableAddress(form))
  })
})

describe('storedForms', () => {
  it('contains the form in which any spelling was stored', () => {
    for (const entered of forms) {
      const stored = entered.trim().toLowerCase()
      for (const asked of forms) {
        expect(storedForms(asked)).toContain(stored)
        expect(storedForms(asked)).toContain(stored.normalize('NFC'))
      }
    }
  })
})

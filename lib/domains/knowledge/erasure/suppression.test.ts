import fc from 'fast-check'
import { expect, it } from 'vitest'
import { authorPseudonyms } from './suppression.ts'

const key = (fill: number) => () => new Uint8Array(32).fill(fill)
const [one, other] = [authorPseudonyms(key(1)), authorPseudonyms(key(2))]

it('a pseudonym is equal for equal names, differs by name and key, and does not contain the name', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (name, another) => {
      expect(one(name)).toMatch(/^erased-[0-9A-Za-z]{12}$/)
      expect(one(name)).toBe(one(name))
      expect(one(name)).not.toBe(other(name))
      expect(one(name) === one(another)).toBe(name === another)
    }),
  )
})

it('a pseudonym is stable, so that pseudonyms in stored records are found again', () => {
  expect(one('agent-7')).toMatchInlineSnapshot(`"erased-u7ME5sDd0fOD"`)
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Offsets } from './disguises.ts'

const character = fc.record({ length: fc.integer({ min: 1, max: 2 }), copied: fc.integer({ min: 0, max: 3 }) })

it('back returns the start of the character that has the offset in the copy, in any order of lookups', () => {
  fc.assert(
    fc.property(fc.array(character, { maxLength: 30 }), fc.integer({ min: 0, max: 3 }), (characters, rest) => {
      const offsets = new Offsets()
      const starts: number[] = []
      let start = 0
      for (const { length, copied } of characters) {
        offsets.add(start, length, copied)
        // A character of the same length is mapped unit by unit.
        for (let unit = 0; unit < copied; unit++) starts.push(length === copied ? start + unit : start)
        start += length
      }
      for (let unit = 0; unit < rest; unit++) starts.push(start + unit)
      for (let offset = starts.length - 1; offset >= 0; offset--) expect(offsets.back(offset)).toBe(starts[offset])
    }),
  )
})

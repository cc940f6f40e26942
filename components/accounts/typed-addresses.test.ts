import { expect, test } from 'vitest'
import { typedAddresses } from './typed-addresses.ts'

test('typedAddresses reads addresses with and without names, and counts repeated ones once', () => {
  const text = 'Kim Example <kim@example.org>\nlee@example.org; "Ash, B" <ash@example.org>,\n LEE@example.org '
  expect(typedAddresses(text)).toEqual({
    people: [
      { email: 'kim@example.org', name: 'Kim Example' },
      { email: 'lee@example.org', name: 'lee' },
      { email: 'ash@example.org', name: 'B' },
    ],
    wrong: ['"Ash'],
  })
})

test('typedAddresses reports entries that are not addresses', () => {
  expect(typedAddresses('kim@\nno address\n<@>')).toEqual({ people: [], wrong: ['kim@', 'no address', '<@>'] })
  expect(typedAddresses(' \n ')).toEqual({ people: [], wrong: [] })
})

import { expect, it } from 'vitest'
import { messageOf } from './email-drawer.tsx'

it('messageOf puts the links back, and returns nothing while a link is hidden', () => {
  expect(messageOf('Open ‹1› or ‹2›.', 2, ['https://a.example/$&', 'https://b.example'])).toBe(
    'Open https://a.example/$& or https://b.example.',
  )
  expect(messageOf('Open ‹1›.', 1, undefined)).toBeUndefined()
  expect(messageOf('No link, and ‹3›.', 0, undefined)).toBe('No link, and ‹3›.')
  expect(messageOf(null, 0, null)).toBeUndefined()
})

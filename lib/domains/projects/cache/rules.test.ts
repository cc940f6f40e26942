import { expect, it } from 'vitest'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import { followed, isTelling, itemOf, itemsByKind, mayGo, textsToFind } from './rules.ts'

it('takes an item apart again, whatever the name is', () => {
  const items = [itemOf('key', 'about:x'), itemOf('key', 'key:'), itemOf('about', 'a:b'), itemOf('search'), 'other:x']
  expect(itemsByKind(items)).toEqual({ about: ['a:b'], who: [], key: ['about:x', 'key:'], near: [], search: [''] })
})

it.each([newId('msg'), newId('conv'), newUuid(), 'message-0042'])('looks for %s wherever it stands', (id) => {
  expect(isTelling(id)).toBe(true)
})
it.each(['', 'a', '*', '1234567', 'user', 'assistant', 'kp:cache:', 'session-key'])(
  'looks for %j by the index and by pointers alone',
  (id) => {
    expect(isTelling(id)).toBe(false)
  },
)

it('does not follow a word of everybody’s beyond what is ours', () => {
  const names = (count: number) => Array.from({ length: count }, (_, n) => (n % 2 ? `app:${n}` : `kp:cache:${n}`))
  expect(followed(names(1_000), ['gpt-4o-mini'], 'kp:cache:')).toHaveLength(1_000)
  expect(followed(names(1_002), ['gpt-4o-mini'], 'kp:cache:')).toHaveLength(501)
})

it('lets a pointer reach what applications keep and our entries, never what we count and find by', () => {
  expect(['app:answer', 'kp:cache:x', 'kpx', ''].map((name) => mayGo(name, 'kp:cache:'))).toEqual([
    true,
    true,
    true,
    true,
  ])
  expect(['kp:limit:x', 'kp:about:x', 'kp:'].map((name) => mayGo(name, 'kp:cache:'))).toEqual([false, false, false])
})

it('looks for texts as they are and as JSON writes them, unless they are so short that they stand everywhere', () => {
  expect(textsToFind(['ok, thanks', ' a "quoted" sentence of theirs\n'])).toEqual([
    'a "quoted" sentence of theirs',
    'a \\"quoted\\" sentence of theirs',
  ])
})

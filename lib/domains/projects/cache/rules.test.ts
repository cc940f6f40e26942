import { expect, it } from 'vitest'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import {
  cacheItemOf,
  chosenItem,
  chosenOf,
  followed,
  isDistinctiveKey,
  isOurKey,
  isRecordField,
  itemsByKind,
  mayDeleteKey,
} from './rules.ts'

it('itemsByKind returns the values of all items, whatever characters a name contains', () => {
  const items = [
    cacheItemOf('key', 'about:x'),
    cacheItemOf('key', 'key:'),
    cacheItemOf('about', 'a:b'),
    cacheItemOf('search'),
    'other:x',
  ]
  expect(itemsByKind(items)).toEqual({
    about: ['a:b'],
    chosen: [],
    who: [],
    alias: [],
    key: ['about:x', 'key:'],
    found: [],
    search: [''],
    within: [],
  })
  for (const chosen of [
    { id: 'a:b', anchors: ['prj_1', 'conv_1'] },
    { id: '', anchors: [] },
  ])
    expect(itemsByKind([chosenItem(chosen)]).chosen.map(chosenOf)).toEqual([chosen])
})

it('isOurs returns true for generated ids, and false for ids that a client chose', () => {
  expect(isOurKey('message', newId('msg')) && isOurKey('conversation', newId('conv'))).toBe(true)
  for (const id of [newId('prj'), newId('usr'), newUuid(), 'message-0042', 'msg_1'])
    expect(isOurKey('message', id), id).toBe(false)
})

it.each([newUuid(), 'message-0042'])('isDistinctive returns true for %s', (id) => {
  expect(isDistinctiveKey(id)).toBe(true)
})
it.each(['', 'a', '*', '1234567', 'user', 'assistant', 'kp:cache:', 'session-key'])(
  'isDistinctive returns false for %j',
  (id) => {
    expect(isDistinctiveKey(id)).toBe(false)
  },
)

it('followed returns only our own entries when a word occurs in too many entries', () => {
  const names = (count: number) => Array.from({ length: count }, (_, n) => (n % 2 ? `app:${n}` : `kp:cache:${n}`))
  expect(followed(names(1_000), 1, 'kp:cache:')).toHaveLength(1_000)
  expect(followed(names(1_002), 1, 'kp:cache:')).toHaveLength(501)
})

it('mayGo accepts entries of applications and our cached entries, and rejects our counters and indexes', () => {
  expect(
    ['app:answer', 'kp:cache:x', 'kp:agent:scout:answer', 'kpx', ''].every((name) => mayDeleteKey(name, 'kp:cache:')),
  ).toBe(true)
  expect(['kp:limit:x', 'kp:about:x', 'kp:'].some((name) => mayDeleteKey(name, 'kp:cache:'))).toBe(false)
})

it.each([
  ['message_id', 'msg_1', true],
  ['sourceId', 'msg_1', true],
  ['id', 'msg_1', true],
  ['session-7', 'msg_1', false],
  ['message_id', 'msg_1 and msg_2', false],
])('isRecordField for the field %s with the value %s returns %s', (field, value, expected) => {
  expect(isRecordField(field, value, 'msg_1')).toBe(expected)
})

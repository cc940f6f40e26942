import { expect, it } from 'vitest'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import {
  chosenItem,
  chosenOf,
  followed,
  isOurs,
  isRecordField,
  isTelling,
  itemOf,
  itemsByKind,
  mayGo,
} from './rules.ts'

it('takes an item apart again, whatever the name is', () => {
  const items = [itemOf('key', 'about:x'), itemOf('key', 'key:'), itemOf('about', 'a:b'), itemOf('search'), 'other:x']
  expect(itemsByKind(items)).toEqual({
    about: ['a:b'],
    chosen: [],
    who: [],
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

it('knows an id that nobody else can have from one that a client chose', () => {
  expect(isOurs('message', newId('msg')) && isOurs('conversation', newId('conv'))).toBe(true)
  for (const id of [newId('prj'), newId('usr'), newUuid(), 'message-0042', 'msg_1'])
    expect(isOurs('message', id), id).toBe(false)
})

it.each([newUuid(), 'message-0042'])('looks for %s in names and values', (id) => {
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
  expect(followed(names(1_000), 1, 'kp:cache:')).toHaveLength(1_000)
  expect(followed(names(1_002), 1, 'kp:cache:')).toHaveLength(501)
})

it('lets an erasure reach what applications keep and our entries, never what we count and find by', () => {
  expect(['app:answer', 'kp:cache:x', 'kpx', ''].every((name) => mayGo(name, 'kp:cache:'))).toBe(true)
  expect(['kp:limit:x', 'kp:about:x', 'kp:'].some((name) => mayGo(name, 'kp:cache:'))).toBe(false)
})

it.each([
  ['message_id', 'msg_1', true],
  ['sourceId', 'msg_1', true],
  ['id', 'msg_1', true],
  ['session-7', 'msg_1', false],
  ['message_id', 'msg_1 and msg_2', false],
])('takes a hash with the field %s = %s for one record: %s', (field, value, expected) => {
  expect(isRecordField(field, value, 'msg_1')).toBe(expected)
})

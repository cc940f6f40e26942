import { expect, it } from 'vitest'
import type { Source } from '#lib/domains/projects/provenance/sources.ts'
import {
  isCounted,
  keyOf,
  keysAmong,
  mayDeleteObject,
  objectItemOf,
  objectItemsOf,
  soughtAmong,
  soughtItems,
  wordsItemOf,
} from './rules.ts'

const source = (kind: Source['kind'], id: string): Source => ({
  kind,
  id,
  project: 'prj_1',
  group: 'prj_1',
  conversation: null,
  threads: [],
  createdAt: new Date(0),
  ordinal: null,
  author: { kind: 'account', id: 'usr_1', name: null },
  texts: [],
  objects: [],
  pointers: [],
})

it('mayGo accepts objects of applications and of the pointer’s source, and rejects our other objects', () => {
  const message = source('message', 'm1')
  expect(objectItemsOf(message)).toBe('projects/prj_1/messages/m1')
  for (const key of ['uploads/report.pdf', 'projects/prj_1/messages/m1/att_1', 'projectsx'])
    expect(mayDeleteObject(message, key), key).toBe(true)
  for (const key of [
    'projects/prj_2/messages/m1/a',
    'projects/prj_1/messages/m10/a',
    'projects/',
    'projects/prj_1/documents/m1',
  ])
    expect(mayDeleteObject(message, key), key).toBe(false)
  expect(mayDeleteObject(source('document', 'd1'), 'projects/prj_1/documents/d1')).toBe(true)
})

it('keyOf returns the key of an item, whatever characters it contains', () => {
  const keys = ['a', 'late:a', 'late:', 'ids:x', '["a"]']
  for (const key of keys)
    for (const item of [objectItemOf(key, { isThere: true }), objectItemOf(key, { isThere: false }), wordsItemOf(key)])
      expect(keyOf(item)).toBe(key)
  expect(
    [objectItemOf('a', { isThere: true }), objectItemOf('a', { isThere: false }), wordsItemOf('a')].map(isCounted),
  ).toEqual([true, false, true])
  const many = Array.from({ length: 1_200 }, (_, n) => `msg_${n}`)
  const items = [...soughtItems('ids', many), ...soughtItems('within', ['prj_1']), 'a']
  expect(items).toHaveLength(5)
  expect(soughtAmong(items, 'ids')).toEqual(many)
  expect(soughtAmong(items, 'within')).toEqual(['prj_1'])
  expect(keysAmong(items)).toEqual(['a'])
  expect(items.filter(isCounted)).toEqual(['a'])
})

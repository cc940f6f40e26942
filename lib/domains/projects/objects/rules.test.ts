import { expect, it } from 'vitest'
import type { Source } from '../sources.ts'
import {
  isCounted,
  itemOf,
  keyOf,
  keysAmong,
  mayGo,
  objectsOf,
  soughtAmong,
  soughtItems,
  wordsItemOf,
} from './rules.ts'

const source = (kind: Source['kind'], id: string): Source => ({
  ...{ kind, id, project: 'prj_1', group: 'prj_1', conversation: null, threads: [], createdAt: new Date(0) },
  ...{ author: { kind: 'account', id: 'usr_1', name: null }, texts: [], objects: [], pointers: [] },
})

it('mayGo accepts objects of applications and of the pointer’s source, and rejects our other objects', () => {
  const message = source('message', 'm1')
  expect(objectsOf(message)).toBe('projects/prj_1/messages/m1')
  for (const key of ['uploads/report.pdf', 'projects/prj_1/messages/m1/att_1', 'projectsx'])
    expect(mayGo(message, key), key).toBe(true)
  for (const key of [
    'projects/prj_2/messages/m1/a',
    'projects/prj_1/messages/m10/a',
    'projects/',
    'projects/prj_1/documents/m1',
  ])
    expect(mayGo(message, key), key).toBe(false)
  expect(mayGo(source('document', 'd1'), 'projects/prj_1/documents/d1')).toBe(true)
})

it('keyOf returns the key of an item, whatever characters it contains', () => {
  const keys = ['a', 'late:a', 'late:', 'ids:x', '["a"]']
  for (const key of keys)
    for (const item of [itemOf(key, { isThere: true }), itemOf(key, { isThere: false }), wordsItemOf(key)])
      expect(keyOf(item)).toBe(key)
  expect([itemOf('a', { isThere: true }), itemOf('a', { isThere: false }), wordsItemOf('a')].map(isCounted)).toEqual([
    true,
    false,
    true,
  ])
  const many = Array.from({ length: 1_200 }, (_, n) => `msg_${n}`)
  const items = [...soughtItems('ids', many), ...soughtItems('within', ['prj_1']), 'a']
  expect(items).toHaveLength(5)
  expect(soughtAmong(items, 'ids')).toEqual(many)
  expect(soughtAmong(items, 'within')).toEqual(['prj_1'])
  expect(keysAmong(items)).toEqual(['a'])
  expect(items.filter(isCounted)).toEqual(['a'])
})

import { expect, it } from 'vitest'
import type { Source } from '#lib/domains/projects/provenance/sources.ts'
import {
  isCounted,
  isMark,
  isUploadKey,
  keyOf,
  keysAmong,
  mayDeleteObject,
  notePrefix,
  objectItemOf,
  objectItemsOf,
  soughtAmong,
  soughtItems,
  wordsItemOf,
} from './rules.ts'

const generated = (prefix: string, digit: string): string => `${prefix}_${digit.repeat(22)}`
const project = generated('prj', '1')
const source = (kind: Source['kind'], id: string): Source => ({
  kind,
  id,
  project,
  group: project,
  conversation: null,
  threads: [],
  createdAt: new Date(0),
  ordinal: null,
  author: { kind: 'account', id: 'usr_1', name: null },
  texts: [],
  objects: [],
  files: [],
  pointers: [],
})

it('mayGo accepts objects of applications and of the pointer’s source, and rejects our other objects', () => {
  const message = source('message', 'm1')
  expect(objectItemsOf(message)).toBe(`projects/${project}/messages/m1`)
  for (const key of ['uploads/report.pdf', `projects/${project}/messages/m1/att_1`, 'projectsx', 'projects/4711/a.txt'])
    expect(mayDeleteObject(message, key), key).toBe(true)
  for (const key of [
    `projects/${generated('prj', '2')}/messages/m1/a`,
    `projects/${project}/messages/m10/a`,
    `projects/${project}/messages/`,
    `projects/${project}/documents/m1`,
    `snapshots/agent-1/${generated('snap', 's')}`,
    'knowledgepulse-installation',
  ])
    expect(mayDeleteObject(message, key), key).toBe(false)
  expect(mayDeleteObject(source('document', 'd1'), `projects/${project}/documents/d1`)).toBe(true)
})

it('isUploadKey accepts the keys of uploads, and rejects those of snapshots and keys that an application may choose', () => {
  const [attachment, file] = [generated('att', 'a'), generated('file', 'f')]
  for (const key of [
    `projects/${project}/messages/m:1.x/${attachment}`,
    `projects/${project}/documents/d1/${file}`,
    `snapshots/agent-1/state/${generated('state', 's')}`,
  ])
    expect(isUploadKey(key), key).toBe(true)
  for (const key of [
    'projects/4711/transcript.txt',
    'snapshots/2026/crm.json',
    `projects/prj_demo/messages/m1/${attachment}`,
    `projects/${project}/messages/m1/transcript.txt`,
    `projects/${project}/messages/m1/more/${attachment}`,
    `projects/${project}/messages/m1/${attachment}.txt`,
    `projects/${project}/messages/m1/${file}`,
    `app/projects/${project}/documents/d1/${file}`,
    `snapshots/a/b/${generated('snap', 's')}`,
    `snapshots/kp:agent:scout/${generated('snap', 's')}`,
  ])
    expect(isUploadKey(key), key).toBe(false)
  expect(['knowledgepulse-installation', `${notePrefix(generated('run', '1'))}${'n'.repeat(22)}`].every(isMark)).toBe(
    true,
  )
  expect(
    ['knowledgepulse-demo/a.txt', 'knowledgepulse-erasing/run_1/a', 'knowledgepulse-installation/a'].some(isMark),
  ).toBe(false)
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

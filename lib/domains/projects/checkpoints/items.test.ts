import { expect, it } from 'vitest'
import {
  decidedThread,
  itemsOfThread,
  memoriesItem,
  messageItem,
  movedThread,
  parseItem,
  retainedThread,
  undecidedThread,
  wholeThread,
} from './items.ts'

it.each([
  ['conv_1', 'msg_1', null],
  ['conv_1', 'run-9', 'msg_1'],
  ['a/b*c', '*', 'x/y'],
  ["o'neill %2F é", 'm', null],
  [null, 'msg_1', null],
])('parseItem returns the parts of messageItem(%s, %s, %s)', (thread, message, source) => {
  const item = messageItem(thread, message, source)
  expect(parseItem(item)).toEqual({ thread, message, source: source ?? message, isDecided: false, mark: null })
  if (thread !== null) expect(item.startsWith(itemsOfThread(thread))).toBe(true)
})

it('wholeThread differs from items of a message named * and of threads with a longer name', () => {
  const whole = { thread: 't', message: null, source: null }
  expect(parseItem(wholeThread('t'))).toEqual({ ...whole, isDecided: false, mark: null })
  expect(parseItem(decidedThread('t'))).toEqual({ ...whole, isDecided: true, mark: null })
  expect(messageItem('t', '*', null)).not.toBe(wholeThread('t'))
  expect(messageItem('t', '**', null)).not.toBe(decidedThread('t'))
  expect(wholeThread('t1').startsWith(itemsOfThread('t'))).toBe(false)
})

it('messageItem does not encode ordinary ids', () => {
  expect(messageItem('conv_1', 'msg_1', 'msg_1')).toBe('conv_1/msg_1')
})

it.each([
  ['undecided', undecidedThread, '?'],
  ['retained', retainedThread, '='],
  ['moved', movedThread, '~'],
] as const)('the item of a thread that is %s differs from a message named like its mark', (mark, itemOf, sign) => {
  expect(parseItem(itemOf('a/b'))).toEqual({ thread: 'a/b', message: null, source: null, isDecided: false, mark })
  expect(messageItem('a/b', sign, null)).not.toBe(itemOf('a/b'))
})

it('memoriesItem returns an item with its projects, which differs from a message with that name', () => {
  const item = memoriesItem(['prj_2', 'a,b/c'])
  expect(parseItem(item)).toMatchObject({ thread: null, message: null, projects: ['a,b/c', 'prj_2'] })
  expect(parseItem(messageItem(null, '@prj_2', null))).toMatchObject({ message: '@prj_2', source: '@prj_2' })
})

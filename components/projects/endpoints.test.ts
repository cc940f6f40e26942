import { describe, expect, it } from 'vitest'
import {
  erasePage,
  isMember,
  mayActForParticipants,
  mayCloseAsMember,
  targetIn,
  viewNamed,
  viewQuery,
} from './endpoints.ts'

const queryOf = (address: string) => Object.fromEntries(new URL(address, 'http://x').searchParams)

describe('the address of an erasure plan', () => {
  it.each([
    { kind: 'message', id: 'a/b?c', conversation: 'conv:1' },
    { kind: 'conversation', id: 'conv 1' },
    { kind: 'document', id: 'doc_1' },
  ] as const)('targetIn reads back a $kind with any id', (target) => {
    expect(targetIn(queryOf(erasePage('prj/1', target)))).toEqual(target)
    expect(erasePage('prj/1', target)).toMatch(/^\/projects\/prj%2F1\/erase\?/)
  })

  it.each([[{}], [{ message: 'm' }], [{ conversation: '' }], [{ document: ['a', 'b'] }]])(
    'targetIn returns undefined for %j',
    (query) => expect(targetIn(query)).toBeUndefined(),
  )
})

it.each([
  ['owner', true, true],
  ['member', true, false],
  ['manager', false, true],
  ['admin', false, true],
] as const)('the role %s may read project contents: %s; may close the project: %s', (role, reads, closes) => {
  expect([isMember({ role }), mayCloseAsMember({ role })]).toEqual([reads, closes])
})

it.each([
  ['owner', 'person', true],
  ['member', 'person', false],
  ['member', 'auditor', false],
  ['member', 'manager', true],
  ['member', 'admin', true],
  ['manager', 'manager', true],
  ['admin', 'admin', true],
] as const)('actsForParticipants of a %s with the account role %s returns %s', (role, account, acts) => {
  expect(mayActForParticipants({ role }, { role: account })).toBe(acts)
})

it.each([
  ['closing', { status: 'closing' }],
  ['all', { all: 'true' }],
  ['mine', {}],
  ['', {}],
])('the view %j requests %j', (text, query) => expect(viewQuery(viewNamed(text))).toEqual(query))

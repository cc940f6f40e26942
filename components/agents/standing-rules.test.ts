import { describe, expect, test } from 'vitest'
import { heartbeatsUntil, hindranceOf, namesAgent, standingsOf } from './standing-rules.ts'

const lives = { status: 'active', state: 'active', restricted_at: null, self_hosted: false } as const
const at = '2026-02-01T00:00:00.000Z'

describe('how an agent stands', () => {
  test('what its owner did and what the law did are told beside each other', () => {
    expect(standingsOf(lives)).toEqual(['active'])
    expect(standingsOf({ ...lives, status: 'paused' })).toEqual(['paused'])
    expect(standingsOf({ ...lives, state: 'paused', restricted_at: at })).toEqual(['restricted'])
    expect(standingsOf({ status: 'paused', state: 'paused', restricted_at: at })).toEqual(['paused', 'restricted'])
    expect(standingsOf({ ...lives, status: 'dead', state: 'suspended' })).toEqual(['dead', 'suspended'])
  })
  test('what hinders its writing is what the API would name', () => {
    expect(hindranceOf(lives)).toBeUndefined()
    expect(hindranceOf({ ...lives, status: 'dead', state: 'paused', restricted_at: at })).toBe('dead')
    expect(hindranceOf({ ...lives, status: 'paused', state: 'paused', restricted_at: at })).toBe('paused')
    expect(hindranceOf({ ...lives, state: 'paused', restricted_at: at })).toBe('restricted')
    // A restriction stands behind an erasure that waits, and the API names it first.
    expect(hindranceOf({ ...lives, state: 'suspended', restricted_at: at })).toBe('restricted')
    expect(hindranceOf({ ...lives, state: 'suspended' })).toBe('suspended')
    expect(hindranceOf({ ...lives, state: 'erasing' })).toBe('erasing')
    expect(hindranceOf({ ...lives, self_hosted: true })).toBe('selfHosted')
    expect(hindranceOf({ ...lives, self_hosted: true, state: 'suspended' })).toBe('suspended')
  })
})

test('heartbeats can be exported for a day after a death', () => {
  expect(heartbeatsUntil(at).toISOString()).toBe('2026-02-02T00:00:00.000Z')
})

test('an agent is named by its id or its name, and never by nothing', () => {
  const agent = { agent_id: 'build-helper', name: 'Build helper' }
  expect(namesAgent(' build-helper ', agent)).toBe(true)
  expect(namesAgent('Build helper', agent)).toBe(true)
  expect(namesAgent('build helper', agent)).toBe(false)
  expect(namesAgent('', { agent_id: 'a', name: '' })).toBe(false)
  expect(namesAgent('null', { agent_id: 'build-helper', name: null })).toBe(false)
})

import { describe, expect, test } from 'vitest'
import { heartbeatsUntil, hindranceOf, namesAgent, standingsOf } from './standing-rules.ts'

const lives = { status: 'active', state: 'active', restricted_at: null, self_hosted: false } as const
const at = '2026-02-01T00:00:00.000Z'

describe('the state of an agent', () => {
  test('standingsOf returns the status set by the owner before the legal state', () => {
    expect(standingsOf(lives)).toEqual(['active'])
    expect(standingsOf({ ...lives, status: 'paused' })).toEqual(['paused'])
    expect(standingsOf({ ...lives, state: 'paused', restricted_at: at })).toEqual(['restricted'])
    expect(standingsOf({ status: 'paused', state: 'paused', restricted_at: at })).toEqual(['paused', 'restricted'])
    expect(standingsOf({ ...lives, status: 'dead', state: 'suspended' })).toEqual(['dead', 'suspended'])
  })
  test('hindranceOf returns the reason that the API would give', () => {
    expect(hindranceOf(lives)).toBeUndefined()
    expect(hindranceOf({ ...lives, status: 'dead', state: 'paused', restricted_at: at })).toBe('dead')
    expect(hindranceOf({ ...lives, status: 'paused', state: 'paused', restricted_at: at })).toBe('paused')
    expect(hindranceOf({ ...lives, state: 'paused', restricted_at: at })).toBe('restricted')
    // A pending erasure also restricts the agent, and the API names the restriction first.
    expect(hindranceOf({ ...lives, state: 'suspended', restricted_at: at })).toBe('restricted')
    expect(hindranceOf({ ...lives, state: 'suspended' })).toBe('suspended')
    expect(hindranceOf({ ...lives, state: 'erasing' })).toBe('erasing')
    expect(hindranceOf({ ...lives, self_hosted: true })).toBe('selfHosted')
    expect(hindranceOf({ ...lives, self_hosted: true, state: 'suspended' })).toBe('suspended')
  })
})

test('heartbeatsUntil returns one day after retirement', () => {
  expect(heartbeatsUntil(at).toISOString()).toBe('2026-02-02T00:00:00.000Z')
})

test('namesAgent accepts the id or the name, and never an empty text', () => {
  const agent = { agent_id: 'build-helper', name: 'Build helper' }
  expect(namesAgent(' build-helper ', agent)).toBe(true)
  expect(namesAgent('Build helper', agent)).toBe(true)
  expect(namesAgent('build helper', agent)).toBe(false)
  expect(namesAgent('', { agent_id: 'a', name: '' })).toBe(false)
  expect(namesAgent('null', { agent_id: 'build-helper', name: null })).toBe(false)
})

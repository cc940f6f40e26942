import { describe, expect, test } from 'vitest'
import { agentHindranceOf, agentStatusTags, heartbeatsUntil, namesAgent } from './status-rules.ts'

const lives = { status: 'active', state: 'active', restricted_at: null, self_hosted: false } as const
const at = '2026-02-01T00:00:00.000Z'

describe('the state of an agent', () => {
  test('standingsOf lists the status set by the owner before the legal state', () => {
    expect(agentStatusTags(lives)).toEqual(['active'])
    expect(agentStatusTags({ ...lives, status: 'paused' })).toEqual(['paused'])
    expect(agentStatusTags({ ...lives, state: 'paused', restricted_at: at })).toEqual(['restricted'])
    expect(agentStatusTags({ status: 'paused', state: 'paused', restricted_at: at })).toEqual(['paused', 'restricted'])
    expect(agentStatusTags({ ...lives, status: 'dead', state: 'suspended' })).toEqual(['dead', 'suspended'])
  })
  test('hindranceOf returns the reason with which the API rejects the action', () => {
    expect(agentHindranceOf(lives)).toBeUndefined()
    expect(agentHindranceOf({ ...lives, status: 'dead', state: 'paused', restricted_at: at })).toBe('dead')
    expect(agentHindranceOf({ ...lives, status: 'paused', state: 'paused', restricted_at: at })).toBe('paused')
    expect(agentHindranceOf({ ...lives, state: 'paused', restricted_at: at })).toBe('restricted')
    // A pending erasure also restricts the agent, and the API names the restriction first.
    expect(agentHindranceOf({ ...lives, state: 'suspended', restricted_at: at })).toBe('restricted')
    expect(agentHindranceOf({ ...lives, state: 'suspended' })).toBe('suspended')
    expect(agentHindranceOf({ ...lives, state: 'erasing' })).toBe('erasing')
    expect(agentHindranceOf({ ...lives, self_hosted: true })).toBe('selfHosted')
    expect(agentHindranceOf({ ...lives, self_hosted: true, state: 'suspended' })).toBe('suspended')
  })
})

test('heartbeatsUntil returns the time one day after retirement', () => {
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

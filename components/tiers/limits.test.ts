import { expect, it } from 'vitest'
import { agentLimit, editOf } from './limits.ts'

it.each([
  ['', null],
  ['  ', null],
  ['1', 1],
  [' 1000000 ', 1_000_000],
  ['1000001', undefined],
  ['0', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['many', undefined],
])('ownLimit(%j) returns %j', (text, limit) => expect(agentLimit(text)).toBe(limit))

it.each([
  [{ tier: 'free', reads: '7', writes: 'x' } as const, { body: { tier: 'free' }, reads: 300, writes: 30 }],
  [
    { tier: 'enterprise', reads: '', writes: '' } as const,
    { body: { tier: 'enterprise', limits: null }, reads: 10_000, writes: 2_000 },
  ],
  [
    { tier: 'enterprise', reads: '7', writes: '' } as const,
    {
      body: { tier: 'enterprise', limits: { reads_per_minute: 7, writes_per_minute: 2_000 } },
      reads: 7,
      writes: 2_000,
    },
  ],
  [{ tier: 'enterprise', reads: '7', writes: 'x' } as const, undefined],
])('editOf(%j) returns %j', (typed, edit) => expect(editOf(typed)).toEqual(edit))

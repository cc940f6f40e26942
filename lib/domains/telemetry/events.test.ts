import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { declared, durationOf, events, propertiesOf } from './capture.ts'

describe('declared', () => {
  test('accepts closed word lists, bounded integers and booleans', () => {
    const { schema } = declared('x', { kind: z.enum(['one', 'two']), n: z.int().min(0).max(9), is: z.boolean() })
    expect(schema.safeParse({ kind: 'one', n: 3, is: true }).success).toBe(true)
    expect(propertiesOf(schema)).toEqual([
      { name: 'kind', type: 'enum', values: ['one', 'two'], most: null },
      { name: 'n', type: 'integer', values: null, most: 9 },
      { name: 'is', type: 'boolean', values: null, most: null },
    ])
    for (const bad of [
      { kind: 'three', n: 3, is: true },
      { kind: 'one', n: 3.5, is: true },
      { kind: 'one', n: 10, is: true },
      { kind: 'one', n: 3, is: 'somebody' },
      { kind: 'one', n: 3 },
      { kind: 'one', n: 3, is: true, note: 'a text' },
    ])
      expect(schema.safeParse(bad).success, JSON.stringify(bad)).toBe(false)
  })

  test('rejects text at compile time and throws', () => {
    // @ts-expect-error a text could say anything
    expect(() => declared('x', { note: z.string() })).toThrow(TypeError)
    // @ts-expect-error so could each of these
    expect(() => declared('x', { id: z.uuid() })).toThrow(TypeError)
    // @ts-expect-error
    expect(() => declared('x', { at: z.iso.datetime() })).toThrow(TypeError)
    // @ts-expect-error
    expect(() => declared('x', { any: z.unknown() })).toThrow(TypeError)
    // @ts-expect-error
    expect(() => declared('x', { amount: z.number() })).toThrow(TypeError)
    // @ts-expect-error
    expect(() => declared('x', { rest: z.record(z.string(), z.boolean()) })).toThrow(TypeError)
    // @ts-expect-error
    expect(() => declared('x', { word: z.literal('word') })).toThrow(TypeError)
    // @ts-expect-error
    expect(() => declared('x', { maybe: z.boolean().transform(String) })).toThrow(TypeError)
  })

  test('throws for unbounded, negative, large or fractional numbers and for malformed words', () => {
    for (const property of [
      z.int(),
      z.int().min(0),
      z.int().min(-1).max(5),
      z.int().min(0).max(1_001),
      z.float64().min(0).max(1),
    ])
      expect(() => declared('x', { property })).toThrow(TypeError)
    expect(() => declared('x', { kind: z.enum(['Somebody <a@example.org>']) })).toThrow(TypeError)
    expect(() => declared('x', { 'E-mail': z.boolean() })).toThrow(TypeError)
  })
})

test('no event has a property that could identify a person', () => {
  const names = Object.values(events).flatMap(({ schema }) => propertiesOf(schema).map(({ name }) => name))
  for (const name of names) expect(name).not.toMatch(/(^|_)(id|name|email|address|text|title|at|amount|price)(_|$)/)
})

test.each([
  [0, 'under_minute'],
  [59_999, 'under_minute'],
  [60_000, 'under_hour'],
  [3_600_000, 'under_day'],
  [86_400_000, 'longer'],
] as const)('durationOf maps %i ms to %s', (milliseconds, word) => {
  expect(durationOf(milliseconds)).toBe(word)
})

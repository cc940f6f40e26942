import { describe, expect, it } from 'vitest'
import { changedPaths, mergePatch } from './merge-patch.ts'

describe('mergePatch', () => {
  // Examples of RFC 7396, appendix A, whose target and patch are objects.
  it.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('applied to %j with %j returns %j', (target, patch, result) => {
    const before = structuredClone(target)
    expect(mergePatch(target, patch)).toEqual(result)
    expect(target).toEqual(before)
  })
})

describe('changedPaths', () => {
  it.each([
    [{ a: 1 }, { a: 1 }, []],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [{ a: 1 }, { a: 2 }, ['a']],
    [{ a: 1 }, {}, ['a']],
    [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, ['a.c']],
    [
      { steps: [{ content: 'a' }, { content: 'b' }] },
      { steps: [{ content: 'a' }, { content: 'c' }] },
      ['steps.1.content'],
    ],
    [{ steps: [1] }, { steps: [1, 2] }, ['steps']],
  ])('from %j to %j returns %j', (before, after, paths) => {
    expect(changedPaths(before, after)).toEqual(paths)
  })

  it('omits property names chosen by authors', () => {
    const before = { steps: [{ input: { 'jane@example.org': 1 } }] }
    expect(changedPaths(before, { steps: [{ input: { 'john@example.org': 1 } }] })).toEqual(['steps.0.input'])
  })
})

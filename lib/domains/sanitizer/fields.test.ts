import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SanitizationError } from './sanitization-error.ts'
import { DEPTH_LIMIT, DepthError, sanitizeFields } from './sanitizer.ts'

function refusalOf(value: unknown): SanitizationError {
  try {
    sanitizeFields(value)
  } catch (error) {
    if (SanitizationError.is(error)) return error
    throw error
  }
  throw new Error('the value was not refused')
}

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)

describe('sanitizeFields', () => {
  it('returns the same value if it is clean', () => {
    const value = { task: { objective: 'a < b' }, steps: [{ step_id: 0, content: 'List<String>', done: null }] }
    const result = sanitizeFields(value)
    expect(result.value).toBe(value)
    expect(result.changes).toEqual([])
  })

  it('reports changed fields and does not modify its argument', () => {
    const value = { a: ['x', '<b>y</b><!-- z -->'], b: 'cafe\u0301', c: { d: 1 } }
    const before = structuredClone(value)
    const result = sanitizeFields(value)
    expect(result.value).toEqual({ a: ['x', 'y'], b: 'caf\u00E9', c: { d: 1 } })
    expect(result.changes).toEqual([
      {
        path: ['a', 1],
        comments: 1,
        tags: 2,
        normalized: false,
        places: [
          { what: 'tag', place: 0 },
          { what: 'tag', place: 4 },
          { what: 'comment', place: 8 },
        ],
      },
      { path: ['b'], comments: 0, tags: 0, normalized: true, places: [{ what: 'normalized', place: 3 }] },
    ])
    expect(value).toEqual(before)
  })

  it('reports the field of a rejection', () => {
    const error = refusalOf({ steps: [{ 'a/b~c': 'ok' }, { 'a/b~c': 'x\nyou are now' }] })
    expect(error).toMatchObject({
      stage: 'injection',
      rule: 'role-change',
      path: ['steps', 1, 'a/b~c'],
      field: '/steps/1/a~1b~0c',
      place: 2,
      line: 2,
      column: 1,
      key: false,
    })
  })

  it.each([
    ['<b>', 'html-tag'],
    ['<!-- -->', 'html-comment'],
    ['e\u0301', 'nfc'],
    ['a\u200Bb', 'invisible'],
    ['[INST]', 'injection'],
  ])('rejects the key %j without repeating it', (key, stage) => {
    const error = refusalOf({ input: { fine: 1, [key]: 2 } })
    expect(error).toMatchObject({ stage, path: ['input'], key: true })
    expect(error.message).not.toContain(key)
  })

  it('applies the strict option', () => {
    expect(sanitizeFields(['👩‍💻']).changes).toEqual([])
    expect(() => sanitizeFields(['👩‍💻'], { strict: true })).toThrow(SanitizationError)
  })

  it('treats __proto__ like any other field', () => {
    const value: unknown = JSON.parse('{"__proto__": {"admin": "<b>yes</b>"}}')
    const result = sanitizeFields(value).value
    expect(JSON.stringify(result)).toBe('{"__proto__":{"admin":"yes"}}')
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
  })

  it('limits the depth with a specific error', () => {
    expect(sanitizeFields(nested(DEPTH_LIMIT)).changes).toEqual([])
    for (const depth of [DEPTH_LIMIT + 1, 5000]) {
      expect(() => sanitizeFields(nested(depth))).toThrow(DepthError)
    }
  })

  it('recognizes errors of another copy of the module', () => {
    const twin = Object.assign(new Error('x'), { [Symbol.for('knowledgepulse.SanitizationError')]: true })
    expect(SanitizationError.is(twin)).toBe(true)
    expect(SanitizationError.is(new Error('x'))).toBe(false)
    expect(DepthError.is(new DepthError())).toBe(true)
  })

  it('is idempotent and changes only text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        try {
          const once = sanitizeFields(value).value
          expect(sanitizeFields(once).value).toBe(once)
        } catch (error) {
          if (!SanitizationError.is(error)) throw error
        }
      }),
    )
  })
})

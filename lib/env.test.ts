import { describe, expect, it } from 'vitest'
import { readEnv } from './env.ts'

describe('retention', () => {
  const names = ['KP_RETENTION_NETWORK_DAYS', 'KP_RETENTION_ORG_DAYS', 'KP_RETENTION_PRIVATE_DAYS'] as const

  it('network for ever, org 730 days, private 365, unless told', () => {
    const env = readEnv({})
    expect(names.map((name) => env[name])).toEqual([null, 730, 365])
  })
  it.each([
    ['-1', null],
    ['1', 1],
    ['36500', 36_500],
  ])('%s is a period', (text, days) => {
    for (const name of names) expect(readEnv({ [name]: text })[name]).toBe(days)
  })
  it.each(['0', '1000000000', '36501', 'soon', '-2', '1.5', '1e3', ' 30', '00', '030'])(
    '"%s" is refused by the variable’s name and what it takes',
    (text) => {
      for (const name of names)
        expect(() => readEnv({ [name]: text })).toThrow(
          expect.objectContaining({
            variable: name,
            message: `${name}: takes -1 (for ever) or a whole number of days from 1 to 36500`,
          }),
        )
    },
  )
})

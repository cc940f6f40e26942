import { describe, expect, it } from 'vitest'
import { type FrontMatter, skillQuality } from './rules.ts'

const bare: FrontMatter = {
  name: 'x',
  description: '',
  version: null,
  author: null,
  license: null,
  tags: [],
  allowed_tools: null,
  kp: null,
}
const whole: FrontMatter = {
  ...bare,
  description: 'x'.repeat(120),
  version: '1',
  author: 'a',
  license: 'MIT',
  tags: ['t'],
  allowed_tools: [],
}

describe('quality of a skill', () => {
  it.each([
    ['nothing to go by', bare, { bodyLength: 0, files: 0, misrepresents: false }, 0],
    ['a text alone', bare, { bodyLength: 1_000, files: 0, misrepresents: false }, 0.15],
    ['all there is to give', whole, { bodyLength: 2_000, files: 1, misrepresents: false }, 1],
    ['never more than that', whole, { bodyLength: 90_000, files: 90, misrepresents: false }, 1],
    ['half for what misrepresents itself', whole, { bodyLength: 2_000, files: 1, misrepresents: true }, 0.5],
    [
      'a fifth of the front matter',
      { ...bare, license: 'MIT' },
      { bodyLength: 0, files: 0, misrepresents: false },
      0.06,
    ],
  ])('is the expected value for: %s', (_what, frontMatter, facts, quality) =>
    expect(skillQuality(frontMatter, facts)).toBe(quality),
  )
})

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
    ['a skill without text, files and front matter', bare, { bodyLength: 0, files: 0, misrepresents: false }, 0],
    ['a text without files and front matter', bare, { bodyLength: 1_000, files: 0, misrepresents: false }, 0.15],
    ['a complete skill', whole, { bodyLength: 2_000, files: 1, misrepresents: false }, 1],
    [
      'a complete skill with more text and files than the maximum',
      whole,
      { bodyLength: 90_000, files: 90, misrepresents: false },
      1,
    ],
    [
      'a complete skill that misrepresents itself: half',
      whole,
      { bodyLength: 2_000, files: 1, misrepresents: true },
      0.5,
    ],
    [
      'one of five fields of the front matter',
      { ...bare, license: 'MIT' },
      { bodyLength: 0, files: 0, misrepresents: false },
      0.06,
    ],
  ])('skillQuality returns the value for %s', (_what, frontMatter, facts, quality) =>
    expect(skillQuality(frontMatter, facts)).toBe(quality),
  )
})

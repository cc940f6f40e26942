import { describe, expect, it } from 'vitest'
import { withAuthor } from './author.ts'
import { parseSkillMd } from './front-matter.ts'

const name = 'erased-0Az9'
const document = (author: string): string =>
  `---\nname: a-skill\ndescription: Does it.\n${author}\nversion: 1.0 # as it was\ntags: [a, b]\n---\n\n# Text\n\nauthor: somebody\n`

describe('withAuthor replaces only the author of a stored SKILL.md', () => {
  it.each([
    ['plain', 'author: somebody', `author: ${name}`],
    ['quoted', 'author: "some\\u0062ody"', `author: ${name}`],
    ['single quotes, with a comment', "author: 'somebody' # yes", `author: ${name} # yes`],
    ['a number', 'author: 1234', `author: ${name}`],
    ['a folded block', 'author: >-\n  some\n  body', `author: ${name}`],
    ['a literal block', 'author: |\n  somebody', `author: ${name}`],
    ['on several lines', 'author: some\n  body', `author: ${name}`],
    ['in metadata', 'metadata:\n  author: somebody', `metadata:\n  author: ${name}`],
    ['a quoted key', '"author": somebody', `"author": ${name}`],
  ])('supports the form: %s', (_how, before, after) => {
    const changed = withAuthor(document(before), name)
    expect(changed).toBe(document(after))
    expect(parseSkillMd(changed).frontMatter).toMatchObject({
      name: 'a-skill',
      author: name,
      version: '1.0',
      tags: ['a', 'b'],
    })
  })

  it('supports CRLF line ends', () => {
    const text = document('author: somebody').replaceAll('\n', '\r\n')
    expect(withAuthor(text, name)).toBe(document(`author: ${name}`).replaceAll('\n', '\r\n'))
  })

  it('throws if the SKILL.md has no author', () => {
    expect(() => withAuthor(document('license: MIT'), name)).toThrow('has no author')
  })
})

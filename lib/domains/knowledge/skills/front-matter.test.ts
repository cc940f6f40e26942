import { describe, expect, it } from 'vitest'
import { parseSkillMd, withAuthor } from './front-matter.ts'

const skillMd = (front: string, body = '\n# Title\n\nDo this.\n'): string => `---\n${front}\n---\n${body}`
const needed = 'name: a-skill\ndescription: Does one thing.'
const read = (front: string) => parseSkillMd(skillMd(front))
const faultsOf = (front: string) => read(front).faults.map(({ line, column, message }) => [line, column, message])

describe('parsing', () => {
  it('reads the version and the author from metadata when the front matter has none', () => {
    const { frontMatter } = read(`${needed}\nauthor: Top\nmetadata:\n  version: "2.0"\n  author: Nested`)
    expect(frontMatter).toMatchObject({ version: '2.0', author: 'Top' })
    expect(read(`${needed}\nmetadata:\n  author: Nested`).frontMatter).toMatchObject({ author: 'Nested' })
  })
  it('returns all known fields as written', () => {
    const { frontMatter, faults, warnings } = read(`${needed}
version: 1.0
author: "Somebody: else"
license: Apache-2.0
tags: [PDF, " forms ", pdf]
allowed-tools: Bash(git add:*, git status) Read, mcp__github__create_issue
kp:
  domain: code
  confidence: 0.8
  shared: true
  steps: [1, two]
  nothing:`)
    expect([faults, warnings]).toEqual([[], []])
    expect(frontMatter).toEqual({
      name: 'a-skill',
      description: 'Does one thing.',
      version: '1.0',
      author: 'Somebody: else',
      license: 'Apache-2.0',
      tags: ['pdf', 'forms'],
      allowed_tools: ['Bash(git add:*, git status)', 'Read', 'mcp__github__create_issue'],
      kp: { domain: 'code', confidence: 0.8, shared: true, steps: [1, 'two'], nothing: null },
    })
  })

  it.each([
    ['a block of text', 'description: |-\n  One: two\n  three', 'One: two\nthree'],
    ['folded text', 'description: >\n  One\n  two\n', 'One two'],
    ['a number', 'description: 42', '42'],
    ['Chinese', 'description: 读取表格，然后写报告。', '读取表格，然后写报告。'],
    ['a line that goes on', 'description: One\n  two', 'One two'],
  ])('accepts a description as %s', (_what, description, text) => {
    expect(read(`name: x\n${description}`).frontMatter?.description).toBe(text)
  })

  it('accepts CRLF line ends', () => {
    const { frontMatter, body } = parseSkillMd(skillMd(needed).replaceAll('\n', '\r\n'))
    expect([frontMatter?.name, body]).toEqual(['a-skill', '\r\n# Title\r\n\r\nDo this.\r\n'])
  })

  it('returns tools as a list, and null if none are declared', () => {
    expect(read(`${needed}\nallowed-tools:\n  - Bash(git:*)\n  - Read`).frontMatter?.allowed_tools).toEqual([
      'Bash(git:*)',
      'Read',
    ])
    expect(read(`${needed}\nallowed-tools: []`).frontMatter?.allowed_tools).toEqual([])
    expect(read(`${needed}\nallowed-tools:`).frontMatter?.allowed_tools).toBeNull()
    expect(read(needed).frontMatter?.allowed_tools).toBeNull()
  })

  it('warns about an unknown key, a long description, a name that others reject, and missing text', () => {
    const reported = (front: string, body?: string) => parseSkillMd(skillMd(front, body)).warnings
    expect(reported(`${needed}\nmodel: opus`)).toEqual(['The registry does not read "model". It remains in SKILL.md.'])
    expect(reported(`name: x\ndescription: ${'long '.repeat(220)}`)[0]).toContain('1,099 characters')
    expect(reported('name: a--b\ndescription: x')[0]).toContain('name')
    expect(reported(needed, '\n \n')[0]).toContain('no text')
    expect(reported(`${needed}\ncompatibility: any\nmetadata: {a: b}`)).toEqual([])
  })
})

describe('a title as name', () => {
  it.each([
    ['Code Review', 'code-review'],
    ['PDF', 'pdf'],
    ['my_skill', 'my-skill'],
    ['C++ & Rust (2026)', 'c-rust-2026'],
    ['Build v1.2, fast', 'build-v1-2-fast'],
  ])('turns %j into the identifier %s and keeps the title', (title, name) => {
    const { frontMatter, faults, warnings } = read(`name: ${title}\ndescription: x`)
    expect(faults).toEqual([])
    expect(frontMatter).toMatchObject({ name, title })
    expect(warnings).toEqual([expect.stringContaining(`"${name}"`)])
  })
  it('returns no title when the name is already an identifier', () =>
    expect(read(needed).frontMatter).not.toHaveProperty('title'))
})

describe('faults with their lines', () => {
  it.each([
    ['no name', 'description: x', 2, 'name is required'],
    ['no description', 'name: x', 2, 'description is required'],
    ['an empty description', 'name: x\ndescription: "  "', 3, 'description is required'],
    ['a name of look-alikes', 'name: p\u0430ypal\ndescription: x', 2, 'lower-case letters'],
    ['a name that is a path', 'name: ../../x\ndescription: x', 2, 'lower-case letters'],
    ['a name that is too long', `name: ${'x'.repeat(65)}\ndescription: x`, 2, 'at most 64 characters'],
    ['a name that is a list', 'name: [a]\ndescription: x', 2, 'name must be text'],
    ['a description that is a map', 'name: x\ndescription: {a: b}', 3, 'description must be text'],
    ['a description without an end', `name: x\ndescription: ${'x'.repeat(4_097)}`, 3, 'at most 4,096 characters'],
    ['a control character', 'name: x\ndescription: "a\\eb"', 3, 'control character'],
    ['a NUL character', 'name: x\ndescription: "a\\0b"', 3, 'NUL'],
    ['a NUL character in a key', `${needed}\nkp: {"a\\0": 1}`, 4, 'NUL'],
    ['an author in two lines', `${needed}\nauthor: "a\\nb"`, 4, 'one line'],
    ['a key twice', `${needed}\nname: y`, 4, '"name" occurs twice'],
    ['a key twice further down', `${needed}\nkp: {a: 1, a: 2}`, 4, '"a" occurs twice'],
    ['a colon that is not quoted', 'name: x\ndescription: Use this: now', 3, 'a colon in quotes'],
    ['a tab', 'name: x\n\tdescription: y', 3, 'Tabs'],
    ['an anchor', 'name: &n x\ndescription: y', 2, 'Anchor'],
    ['an alias', 'name: x\ndescription: *n', 3, 'Alias'],
    ['a tag', 'name: !!str x\ndescription: y', 2, 'Tag'],
    ['a tag that makes objects', `${needed}\nkp: !!js/function "x"`, 4, 'Tag'],
    ['a merge key', `${needed}\nkp: {<<: {a: 1}}`, 4, 'Merge key'],
    ['a key that vanishes', `${needed}\nkp: {__proto__: {a: 1}}`, 4, '__proto__'],
    ['a key that is a list', `${needed}\nkp: {? [a] : b}`, 4, 'A key must be a word'],
    ['a number that JSON does not know', `${needed}\nkp: {a: .inf}`, 4, 'JSON'],
    ['kp as text', `${needed}\nkp: yes please`, 4, 'kp must contain keys and values'],
    ['kp too deep', `${needed}\nkp: ${'{a: '.repeat(12)}1${'}'.repeat(12)}`, 4, 'levels'],
    ['a bracket that stays open', `${needed}\nallowed-tools: Bash(git`, 4, 'bracket'],
    ['too many tags', `${needed}\ntags: [${Array.from({ length: 51 }, (_, n) => n).join(', ')}]`, 4, 'at most 50'],
    ['a tag too long', `${needed}\ntags: [${'x'.repeat(65)}]`, 4, '64 characters'],
    ['an end of the document', `${needed}\n...\nmore: x`, 4, 'three dots'],
    ['a directive', `%YAML 1.1\n${needed}`, 3, 'directives'],
    ['a list', '- a\n- b', 2, 'key: value'],
    ['a mere text', 'hello', 2, 'key: value'],
    ['nothing', '# a comment', 2, 'key: value'],
  ])('%s is reported', (_what, front, line, part) => {
    const [first] = faultsOf(front)
    expect(first?.[0]).toBe(line)
    expect(first?.[2]).toContain(part)
    expect(read(front).frontMatter).toBeUndefined()
  })

  it('reports several faults with their columns', () => {
    expect(faultsOf('name: X/Y\ndescription: ""\nversion: {a: b}')).toEqual([
      [2, 7, expect.stringContaining('lower-case letters')],
      [3, 14, 'description is required'],
      [4, 10, 'version must be text'],
    ])
  })

  it.each([
    ['no front matter', '# Title\n', 'must begin with'],
    ['nothing', ' ', 'must begin with'],
    ['front matter after a blank line', `\n${skillMd(needed)}`, 'must begin with'],
    ['front matter without an end', `---\n${needed}\n`, 'must end with'],
  ])('%s is reported', (_what, text, part) => {
    expect(parseSkillMd(text).faults).toEqual([
      expect.objectContaining({ line: 1, message: expect.stringContaining(part) }),
    ])
  })
})

describe('front matter crafted to be slow', () => {
  it.each([
    ['a hundred thousand lines', 'a: b\n'.repeat(100_000)],
    ['a line without an end', `name: ${'x'.repeat(5_000_000)}`],
    ['a billion laughs', `a: &a [x]\n${Array.from({ length: 30 }, (_, n) => `b${n}: &b${n} [*a, *a]`).join('\n')}`],
    ['brackets in brackets', '['.repeat(32_000)],
    ['lists in lists', '- '.repeat(16_000)],
    ['keys in keys', '? '.repeat(16_000)],
    ['maps in maps', '{a: '.repeat(8_000)],
    ['quotes', '"'.repeat(32_000)],
    ['quotes and lines', '"\n'.repeat(16_000)],
    ['tags', '!x '.repeat(10_000)],
    ['anchors', '&a '.repeat(10_000)],
    ['keys of one name', 'a:\n'.repeat(10_000)],
    ['steps to the right', Array.from({ length: 240 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')],
    ['a list of thousands', `tags: [${'a, '.repeat(10_000)}]`],
    ['brackets of tools', `allowed-tools: "${'('.repeat(30_000)}"`],
  ])('%s is rejected quickly', (_what, front) => {
    const { faults, frontMatter } = read(front)
    expect(frontMatter).toBeUndefined()
    expect(faults.length).toBeGreaterThan(0)
    expect(faults.length).toBeLessThan(110)
  })
})

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

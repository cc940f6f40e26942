import { describe, expect, it } from 'vitest'
import { pathFault, pathFaults } from './paths.ts'

describe("paths of a skill's files", () => {
  it.each([
    'a.md',
    'scripts/run.py',
    'references/a b/ü.md',
    '参考/说明.md',
    '.editorconfig',
    'a.b/c..d',
    'nul-safe.txt',
    'skill.md/x',
    'deep/1/2/3/4/5/6/7',
  ])('accepts %j', (path) => expect(pathFault(path)).toBeUndefined())

  it.each([
    ['../../x', 'leaves'],
    ['a/../../x', 'leaves'],
    ['..', 'leaves'],
    ['．．/x', 'leaves'],
    ['a／..／..／x', 'leaves'],
    ['/etc/passwd', 'relative'],
    ['//server/share', 'relative'],
    ['\\\\server\\share', 'forward slashes'],
    ['..\\x', 'forward slashes'],
    ['C:/x', 'contains one of'],
    ['file:///x', 'contains one of'],
    ['a.txt:stream', 'contains one of'],
    ['a<b', 'contains one of'],
    ['', 'empty'],
    ['a//b', 'shortest'],
    ['./a', 'shortest'],
    ['a/', 'shortest'],
    ['a\0b', 'invisible'],
    ['a\nb', 'invisible'],
    ['a\u202eb', 'invisible'],
    ['a\u200bb', 'invisible'],
    ['\ud800', 'invisible'],
    ['e\u0301', 'composed'],
    ['con', 'devices'],
    ['a/NUL.txt', 'devices'],
    ['com1.md', 'devices'],
    ['a.', 'dot'],
    ['a /b', 'space'],
    [' a', 'space'],
    ['~/x', 'tilde'],
    ['.git/hooks/pre-commit', 'git'],
    ['a/.GIT/config', 'git'],
    ['SKILL.md', 'must be sent as skill_md'],
    ['skill.MD', 'must be sent as skill_md'],
    ['1/2/3/4/5/6/7/8/9', 'deeper'],
    ['x'.repeat(201), '200 characters'],
  ])('rejects %j', (path, part) => expect(pathFault(path)).toContain(part))

  it('rejects a path equal to another in any case, or within a file', () => {
    const taken = (...paths: string[]) => pathFaults(paths).map(({ index }) => index)
    expect(taken('a.md', 'b.md', 'a/b.md', 'a/c.md')).toEqual([])
    expect(taken('a.md', 'A.MD')).toEqual([1])
    expect(taken('Straße', 'STRAßE')).toEqual([1])
    expect(taken('ﬁle', 'file')).toEqual([1])
    expect(taken('a', 'a/b')).toEqual([1])
    expect(taken('a/b', 'a')).toEqual([1])
    expect(taken('x/y/z', 'X/Y')).toEqual([1])
  })

  it('rejects more than a hundred paths', () => {
    const paths = Array.from({ length: 101 }, (_, n) => `${n}.md`)
    expect(pathFaults(paths)).toEqual([{ index: 100, message: expect.stringContaining('100') }])
  })
})

import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { isFolderName, removeFiles, skillFolderTextsOf, writeSkill } from './skill-folder.ts'

const base = mkdtempSync(join(tmpdir(), 'kp-folder-'))
afterAll(() => rmSync(base, { recursive: true, force: true }))
let at = ''
beforeEach(() => {
  at = mkdtempSync(join(base, 'case-'))
})
const file = (path: string, content = 'x') => ({
  path,
  content,
  size: Buffer.byteLength(content),
  sha256: createHash('sha256').update(content).digest('hex'),
})
const texts = (...paths: string[]) => skillFolderTextsOf({ skill_md: 'skill', files: paths.map((path) => file(path)) })

describe('textsOf', () => {
  test.each([
    '../../x',
    '/etc/cron.d/x',
    'a/../../x',
    '..\\x',
    'C:/x',
    'a/./b',
    'a//b',
    '.git/hooks/post-checkout',
    'x/.GIT/config',
    'con.md',
    'line\nend',
    'bidi\u202e.md',
    'skill.md',
    '~/x',
  ])('rejects the path %j', (path) => expect(() => texts(path)).toThrow(/cannot be written/))

  test.each([
    ['names that differ by case', ['A.md', 'a.md']],
    ['a file in place of a folder', ['a', 'a/b']],
  ])('rejects %s', (_, paths) => expect(() => texts(...paths)).toThrow(/cannot be written/))

  test('rejects content with another hash', () => {
    expect(() => skillFolderTextsOf({ skill_md: 's', files: [{ ...file('a.md'), content: 'other' }] })).toThrow(
      /differs from/,
    )
  })
  test('isFolderName accepts only a plain folder name', () => {
    expect(['a-skill', '..', 'a/b', '', 'Con', 'con', 'a b'].map(isFolderName)).toEqual([true, ...Array(6).fill(false)])
  })
})

describe('writeSkill', () => {
  test('writes the complete folder and leaves no other file', () => {
    writeSkill(join(at, 'one'), texts('refs/a.md', 'b.txt'))
    expect(readdirSync(at)).toEqual(['one'])
    expect(readdirSync(join(at, 'one'), { recursive: true }).sort()).toEqual(['SKILL.md', 'b.txt', 'refs', 'refs/a.md'])
    expect(lstatSync(join(at, 'one/b.txt')).mode & 0o111).toBe(0)
  })

  test('keeps existing files; with force it replaces the skill’s files and keeps others', () => {
    const folder = join(at, 'one')
    writeSkill(folder, texts('old.md'))
    writeFileSync(join(folder, 'mine.txt'), 'mine')
    writeFileSync(join(folder, 'SKILL.md'), 'changed')
    expect(() => writeSkill(folder, texts('new.md'))).toThrow(/SKILL\.md already exists in/)
    expect(readFileSync(join(folder, 'SKILL.md'), 'utf8')).toBe('changed')
    expect(existsSync(join(folder, 'new.md'))).toBe(false)
    writeSkill(folder, texts('new.md'), { force: true, former: ['SKILL.md', 'old.md'] })
    expect(readdirSync(folder).sort()).toEqual(['SKILL.md', 'mine.txt', 'new.md'])
    expect(readFileSync(join(folder, 'SKILL.md'), 'utf8')).toBe('skill')
  })

  test.each([
    ['the folder itself', (outside: string) => symlinkSync(outside, join(at, 'one'))],
    [
      'a folder on the way',
      (outside: string) => {
        mkdirSync(join(at, 'one'))
        symlinkSync(outside, join(at, 'one/refs'))
      },
    ],
    [
      'the file',
      (outside: string) => {
        mkdirSync(join(at, 'one/refs'), { recursive: true })
        symlinkSync(join(outside, 'a.md'), join(at, 'one/refs/a.md'))
      },
    ],
  ])('rejects a link in place of %s, also with force, and writes nothing', (_, link) => {
    const outside = mkdtempSync(join(base, 'outside-'))
    link(outside)
    expect(() => writeSkill(join(at, 'one'), texts('refs/a.md'), { force: true })).toThrow(/already exists and is not/)
    expect(readdirSync(outside)).toEqual([])
    expect(readdirSync(at)).toEqual(['one'])
  })
})

test('removeFiles deletes the files and empty folders, follows no link, and keeps other files', () => {
  const outside = mkdtempSync(join(base, 'outside-'))
  writeFileSync(join(outside, 'a.md'), 'theirs')
  writeSkill(join(at, 'one'), texts('refs/a.md', 'deep/er/b.md', 'linked/a.md'))
  rmSync(join(at, 'one/linked'), { recursive: true })
  symlinkSync(outside, join(at, 'one/linked'))
  writeFileSync(join(at, 'one/mine.txt'), 'mine')
  removeFiles(join(at, 'one'), ['SKILL.md', 'refs/a.md', 'deep/er/b.md', 'linked/a.md', '../../x', 'gone.md'])
  expect(readdirSync(join(at, 'one')).sort()).toEqual(['linked', 'mine.txt'])
  expect(readFileSync(join(outside, 'a.md'), 'utf8')).toBe('theirs')
  removeFiles(join(at, 'nowhere'), ['SKILL.md'])
})

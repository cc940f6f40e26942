import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterAll, describe, expect, test } from 'vitest'
import { forgetJournals, journalFile, openIdentity, openJournal } from './contribution-journal.ts'
import { checkUnit } from './unit-judgement.ts'
import { type SourceItem, unitsOf } from './unit-source.ts'

const folder = mkdtempSync(join(tmpdir(), 'kp-units-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
async function all(...paths: string[]): Promise<SourceItem[]> {
  const found: SourceItem[] = []
  for await (const one of unitsOf({ stdin: new PassThrough().end() }, paths)) found.push(one)
  return found
}
const example = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/examples', name), 'utf8'))

test.each(['trace.json', 'pattern.json', 'sop.json'])(
  'docs/examples/%s is a valid unit and contains neither id nor author',
  (name) => {
    const value = example(name)
    expect(checkUnit(value)).toHaveProperty('unit')
    expect(value).not.toHaveProperty('id')
    expect(value).not.toHaveProperty('metadata.agent_id')
  },
)

test('judge reports issues with their paths', () => {
  const value = { ...Object(example('trace.json')), steps: [], more: 1 }
  const judged = checkUnit(value)
  expect('issues' in judged && judged.issues.map(({ path }) => path.join('.')).sort()).toEqual(['more', 'steps'])
})

const whose = { folder: join(folder, 'config'), url: 'http://localhost:3000', agentId: 'a' }
const idOf = (value: unknown, of = whose) => {
  const judged = checkUnit(value)
  return 'unit' in judged ? openIdentity(of).idOf(judged.unit) : undefined
}

test('identity returns the same id for equal units in every run, and another for other units', () => {
  const value = Object(example('trace.json'))
  const reordered = Object.fromEntries(Object.entries(value).reverse())
  expect(idOf(value)).toMatch(/^kp:trace:[\da-f]{32}$/)
  expect(idOf(reordered)).toBe(idOf(value))
  expect(idOf({ ...value, source_skill: 'another' })).not.toBe(idOf(value))
  expect(idOf(example('sop.json'))).toMatch(/^kp:sop:/)
})

test('identity returns another id for another agent, registry or machine', () => {
  const value = example('trace.json')
  const others = [{ agentId: 'b' }, { url: 'http://localhost:3001' }, { folder: join(folder, 'elsewhere') }]
  const ids = others.map((other) => idOf(value, { ...whose, ...other }))
  expect(new Set([idOf(value), ...ids]).size).toBe(4)
  expect(statSync(join(folder, 'config/contribution-key')).mode & 0o777).toBe(0o600)
})

describe('the journal of a run', () => {
  const entry = { key: 'k1', id: 'kp:trace:1', quality_score: 0.5 }

  test('is read by the next run, even when its last line is incomplete, and is deleted after a complete run', () => {
    const first = openJournal(whose)
    first.keep([entry, { ...entry, key: 'k2' }])
    appendFileSync(journalFile(whose), '{"key":"k3","id":"kp:tra')
    const second = openJournal(whose)
    expect(second.find('k1')).toEqual({ id: 'kp:trace:1', quality_score: 0.5 })
    expect(second.find('k2')).toBeDefined()
    expect(second.find('k3')).toBeUndefined()
    second.close()
    expect(openJournal(whose).find('k1')).toBeUndefined()
  })
  test('is ignored after a day and after an erasure', () => {
    openJournal(whose).keep([entry])
    expect(openJournal(whose, Date.now() + 25 * 3_600_000).find('k1')).toBeUndefined()
    openJournal(whose).keep([entry])
    forgetJournals(whose.folder)
    expect(openJournal(whose).find('k1')).toBeUndefined()
  })
})

test('unitsOf reads a file as one unit, an array or JSON Lines', async () => {
  const one = file('one.json', '{\n "a": 1\n}\n')
  const array = file('array.json', '[{"a":1},{"a":2}]')
  const lines = file('lines.jsonl', '{"a":1}\n\n{"a":2}\r\nnonsense\n')
  const bare = file('bare.txt', '{"a":1}\n{"a":2}\n')
  expect(await all(one)).toEqual([{ source: one, value: { a: 1 } }])
  expect(await all(array)).toEqual([
    { source: `${array}[0]`, value: { a: 1 } },
    { source: `${array}[1]`, value: { a: 2 } },
  ])
  expect(await all(lines)).toEqual([
    { source: `${lines}:1`, value: { a: 1 } },
    { source: `${lines}:3`, value: { a: 2 } },
    { source: `${lines}:4`, fault: 'is not valid JSON: the error is at column 1' },
  ])
  expect(await all(bare)).toHaveLength(2)
  expect(await all(file('broken.json', '{\n "a": 1,\n}'))).toMatchObject([
    { fault: 'is not valid JSON: the error is at line 3, column 1' },
  ])
})

test('unitsOf reads the files of a folder and its subfolders in order, and reports a folder without any', async () => {
  const inner = join(folder, 'tree', 'b')
  mkdirSync(inner, { recursive: true })
  writeFileSync(join(folder, 'tree', 'c.json'), '3')
  writeFileSync(join(inner, 'x.json'), '2')
  writeFileSync(join(folder, 'tree', 'a.json'), '1')
  writeFileSync(join(folder, 'tree', 'notes.md'), 'not a unit')
  const found = await all(join(folder, 'tree'))
  expect(found.flatMap((one) => ('value' in one ? [one.value] : []))).toEqual([1, 2, 3])
  expect(found.flatMap((one) => ('skipped' in one ? [one.source] : []))).toEqual([join(folder, 'tree', 'notes.md')])
  mkdirSync(join(folder, 'empty'))
  await expect(all(join(folder, 'empty'))).rejects.toThrow(/contains no/)
  await expect(all(join(folder, 'nowhere.json'))).rejects.toThrow(/ENOENT/)
})

test('unitsOf returns a folder with a SKILL.md as a skill with its text files, and reports skipped files', async () => {
  const skills = join(folder, 'skills')
  for (const name of ['one/refs', 'one/.git', 'one/nested', 'two']) mkdirSync(join(skills, name), { recursive: true })
  writeFileSync(join(skills, 'one/SKILL.md'), 'first')
  writeFileSync(join(skills, 'one/refs/a.json'), '{}')
  writeFileSync(join(skills, 'one/.git/config'), 'secret')
  writeFileSync(join(skills, 'one/picture.png'), Buffer.from([0x89, 0x50, 0xff, 0]))
  writeFileSync(join(skills, 'one/nested/SKILL.md'), 'within')
  symlinkSync('/etc/passwd', join(skills, 'one/link.md'))
  writeFileSync(join(skills, 'two/SKILL.md'), 'second')
  writeFileSync(join(skills, 'README.md'), 'about')
  const found = await all(skills)
  expect(found.flatMap((one) => ('skill' in one ? [one.skill] : []))).toEqual([
    { skill_md: 'first', files: [{ path: 'refs/a.json', content: '{}' }] },
    { skill_md: 'within', files: [] },
    { skill_md: 'second', files: [] },
  ])
  expect(found.flatMap((one) => ('skipped' in one ? [one.source.slice(skills.length + 1)] : [])).sort()).toEqual([
    'README.md',
    'one/.git',
    'one/link.md',
    'one/picture.png',
  ])
  const alone = await all(join(skills, 'one/SKILL.md'))
  expect(alone).toMatchObject([{ skill: { skill_md: 'first', files: [] } }])
})

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { idempotencyKeyOf, judge } from './contribution.ts'
import { type Found, unitsOf } from './unit-source.ts'

const folder = mkdtempSync(join(tmpdir(), 'kp-units-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}
async function all(...paths: string[]): Promise<Found[]> {
  const found: Found[] = []
  for await (const one of unitsOf(paths)) found.push(one)
  return found
}
const example = (name: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../docs/examples', name), 'utf8'))

test.each(['trace.json', 'pattern.json', 'sop.json'])(
  'docs/examples/%s is a unit, and leaves id and author to the registry',
  (name) => {
    const value = example(name)
    expect(judge(value)).toHaveProperty('unit')
    expect(value).not.toHaveProperty('id')
    expect(value).not.toHaveProperty('metadata.agent_id')
  },
)

test('faults are named by their place', () => {
  const value = { ...Object(example('trace.json')), steps: [], more: 1 }
  const judged = judge(value)
  expect('issues' in judged && judged.issues.map(({ path }) => path.join('.')).sort()).toEqual(['more', 'steps'])
})

test('the same unit has the same key, whatever the order of its fields; another has another', () => {
  const key = (value: unknown) => {
    const judged = judge(value)
    return 'unit' in judged ? idempotencyKeyOf(judged.unit) : undefined
  }
  const value = Object(example('trace.json'))
  const reordered = Object.fromEntries(Object.entries(value).reverse())
  expect(key(value)).toMatch(/^[\x21-\x7e]{1,255}$/)
  expect(key(reordered)).toBe(key(value))
  expect(key({ ...value, source_skill: 'another' })).not.toBe(key(value))
})

test('a file is one unit, an array, or one a line', async () => {
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
    { source: `${lines}:4`, fault: 'is not valid JSON' },
  ])
  expect(await all(bare)).toHaveLength(2)
  expect(await all(file('broken.json', '{\n "a": 1,\n}'))).toMatchObject([{ fault: 'is not valid JSON' }])
})

test('a folder is its files in order, those below it too; one without any is told', async () => {
  const inner = join(folder, 'tree', 'b')
  mkdirSync(inner, { recursive: true })
  writeFileSync(join(folder, 'tree', 'c.json'), '3')
  writeFileSync(join(inner, 'x.json'), '2')
  writeFileSync(join(folder, 'tree', 'a.json'), '1')
  writeFileSync(join(folder, 'tree', 'notes.md'), 'not a unit')
  expect((await all(join(folder, 'tree'))).map((found) => 'value' in found && found.value)).toEqual([1, 2, 3])
  mkdirSync(join(folder, 'empty'))
  await expect(all(join(folder, 'empty'))).rejects.toThrow(/holds no/)
  await expect(all(join(folder, 'nowhere.json'))).rejects.toThrow(/ENOENT/)
})

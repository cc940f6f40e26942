import { expect, test } from 'vitest'
import { type EditedEntry, emptyDraft, entryDraftOf, readDraft } from './entry-draft.ts'

const zone = 'Asia/Shanghai'
const now = Date.parse('2026-03-01T12:00:00Z')
const said = {
  content: 'line one\nline two\n',
  confidence: 0.25,
  tags: ['gas, at night', 'fees'],
  provenance: { run: 7 },
  parents: ['shr_one', 'an id with spaces'],
  valid_from: '2026-02-01T03:04:05.678Z',
  valid_until: null,
}
const entry = {
  ...({ id: 'ent_one', agent_id: 'heron', kind: 'insight', scope: 'clade', envelope: null, entry: said } as const),
  valid_until: '2026-04-01T20:00:00.001Z',
  created_at: '2026-02-01T00:00:00Z',
  updated_at: '2026-02-01T00:00:00Z',
  revision: 1,
}
const edited: EditedEntry = { entry, said }
const first = entryDraftOf(edited, zone)
const changed = (changes: Partial<typeof first>) => readDraft({ ...first, ...changes }, edited, zone, now)

test('readDraft returns every field unchanged when nothing was edited', () => {
  expect(first).toMatchObject({ from: '2026-02-01', until: '2026-04-02', confidence: '0.25' })
  expect(changed({}).entry).toEqual({ ...said, valid_until: entry.valid_until })
})
test('readDraft changes only the edited fields', () => {
  const { entry: read } = changed({ content: ' another line ', tags: 'fees', parents: '', until: '', provenance: '' })
  expect(read).toEqual({
    ...said,
    content: 'another line',
    tags: ['fees'],
    parents: [],
    provenance: null,
    valid_until: null,
  })
  expect(changed({ until: '2026-04-03', from: '2026-02-02' }).entry).toMatchObject({
    valid_until: '2026-04-03T15:59:59.999Z',
    valid_from: '2026-02-01T16:00:00.000Z',
  })
})
test('readDraft keeps a JSON value as JSON and reports invalid JSON', () => {
  expect(changed({ provenance: '{"run": 8}' }).entry?.provenance).toEqual({ run: 8 })
  expect([...changed({ provenance: '{"run": 8' }).wrong]).toEqual(['provenance'])
})
test.each([
  ['content', { content: ' ' }],
  ['confidence', { confidence: '' }],
  ['confidence', { confidence: '2' }],
  ['tags', { tags: 'x'.repeat(65) }],
  ['parents', { parents: 'x'.repeat(201) }],
  ['parents', { parents: Array.from({ length: 101 }, (_, n) => `ent_${n}`).join(' ') }],
  ['from', { from: '1999-01-01' }],
  ['until', { until: '2026-02-28' }],
] as const)('readDraft rejects the field %s for %j', (where, changes) => {
  const { entry: read, wrong } = changed(changes)
  expect([read, [...wrong]]).toEqual([undefined, [where]])
})
test('readDraft returns the typed values of a new entry and null for empty fields', () => {
  const draft = { ...emptyDraft, content: 'Thin books punish haste.', parents: 'ent_a, ent_b ent_a' }
  expect(readDraft(draft, undefined, zone, now).entry).toEqual({
    content: 'Thin books punish haste.',
    confidence: null,
    tags: [],
    provenance: null,
    parents: ['ent_a', 'ent_b'],
    valid_from: null,
    valid_until: null,
  })
})

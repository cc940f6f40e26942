import { describe, expect, test } from 'vitest'
import { mergePatch } from '#lib/domains/knowledge/merge-patch.ts'
import { pattern, sop, trace } from '#lib/testing/units.ts'
import { correctionVersionOf, skillFields, skillPatch, sortedKeys, unitFields, unitPatch } from './corrections.ts'

const withText = pattern({
  tool_sequence: [{ step: 1, execution: 'sequential', tools: [{ name: 'search' }], condition: 'nothing was found' }],
})

describe('texts of a record', () => {
  test.each([
    [
      trace(),
      ['task.objective', 'steps.0.content', 'steps.2.output_summary', 'outcome.result_summary', 'metadata.task_domain'],
    ],
    [withText, ['name', 'description', 'tool_sequence.0.condition', 'metadata.task_domain']],
    [sop(), ['name', 'decision_tree.0.instruction', 'domain']],
  ])('unitFields returns the texts that a person reads', (unit, keys) => {
    expect(unitFields(unit).map(({ key }) => key)).toEqual(keys)
  })

  test('unitPatch for one text changes only that text', () => {
    for (const unit of [trace(), withText, sop()])
      for (const { key, value } of unitFields(unit)) {
        const text = `${value} — corrected <b>as text</b> \u05d0`
        const after = mergePatch(structuredClone({ ...unit }), unitPatch(unit, { [key]: text }))
        const path = key.split('.')
        const expected: Record<string, unknown> = structuredClone({ ...unit })
        let at: Record<string, unknown> = expected
        for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>
        at[path.at(-1) ?? ''] = text
        expect(after).toEqual(expected)
      }
  })

  test('unitPatch for several texts omits unchanged properties', () => {
    const patch = unitPatch(trace(), { 'task.objective': 'One', 'steps.0.content': 'Two' })
    expect(Object.keys(patch).sort()).toEqual(['steps', 'task'])
    expect(patch.steps).toHaveLength(3)
  })

  test('skillPatch includes all files if one changed and none otherwise', () => {
    const file = { size: 1, sha256: '' }
    const skill = {
      skill_md: 'one',
      files: [
        { ...file, path: 'a.md', content: 'a' },
        { ...file, path: 'b.d/c.md', content: 'b' },
      ],
    }
    expect(skillFields(skill).map(({ key }) => key)).toEqual(['skill_md', 'files.a.md', 'files.b.d/c.md'])
    expect(skillPatch(skill, { skill_md: 'two' })).toEqual({ skill_md: 'two' })
    expect(skillPatch(skill, { 'files.b.d/c.md': 'new' })).toEqual({
      skill_md: 'one',
      files: [
        { path: 'a.md', content: 'a' },
        { path: 'b.d/c.md', content: 'new' },
      ],
    })
  })
})

describe('typed corrections', () => {
  test('sorted separates changed texts from texts whose field no longer exists', () => {
    const fields = unitFields(sop())
    expect(
      sortedKeys(fields, { name: 'Restore a backup', domain: 'ops', 'decision_tree.7.instruction': 'Gone' }),
    ).toEqual({
      changed: { domain: 'ops' },
      homeless: [['decision_tree.7.instruction', 'Gone']],
    })
  })
  test('versionOf ignores votes', () => {
    expect(correctionVersionOf('"v3-5000"')).toBe(correctionVersionOf('"v3-7100"'))
    expect(correctionVersionOf('"v3-5000"')).not.toBe(correctionVersionOf('"v4-5000"'))
    expect(correctionVersionOf('"v3"')).toBe('v3')
  })
})

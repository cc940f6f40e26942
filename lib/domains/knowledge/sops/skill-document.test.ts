import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExpertSOP, type Sop } from '#lib/domains/knowledge/contract.ts'
import { sanitize, sanitizeSkillMd } from '#lib/domains/sanitizer/sanitizer.ts'
import { parseSkillMd } from '../skills/front-matter.ts'
import { examineSkill } from '../skills/preparation.ts'
import { skillDocument, skillName } from './skill-document.ts'

const origin = { id: 'kp:sop:restore', version: 3, author: 'agent_1' }
const sopOf = (more: Partial<Sop> = {}): Sop => ({
  '@context': 'https://openknowledgepulse.org/schema/v1',
  '@type': 'ExpertSOP',
  metadata: {
    created_at: '2026-03-01T09:00:00Z',
    task_domain: 'code',
    success: true,
    quality_score: 0.8,
    visibility: 'network',
    privacy_level: 'aggregated',
  },
  name: 'Restore a backup',
  domain: 'operations',
  source: { type: 'human_expert', expert_id: 'expert-7', credentials: ['on call since 2020'] },
  decision_tree: [
    {
      step: 1,
      instruction: 'Stop writers first.\nWait until `pg_stat_activity` is empty, i.e. writers < 1.',
      criteria: { writers: 0 },
      conditions: { 'writers remain': { action: 'Ask the owner', sla_min: 30 }, none: { action: 'Go on', sla_min: 1 } },
      tool_suggestions: [
        { name: 'psql', when: 'to look' },
        { name: 'Internal CRM', when: 'to ask' },
      ],
    },
    { step: 'Restore', instruction: 'Run `pg_restore`.', tool_suggestions: [{ name: 'pg_restore', when: 'always' }] },
  ],
  validation: { test_cases: [{ given: 'a stopped service' }] },
  ...more,
})

describe('an SOP as a skill', () => {
  it('has front matter and a readable procedure', () => {
    const { name, skill_md } = skillDocument(sopOf(), origin)
    expect(name).toBe('restore-a-backup')
    expect(skill_md).toBe(`---
name: "restore-a-backup"
description: "Restore a backup – a procedure of 2 steps in the domain operations. It begins with → Stop writers first."
version: "3"
author: "agent_1"
tags: ["operations","code"]
allowed-tools: ["psql","pg_restore"]
kp: {"source":"kp:sop:restore","version":3}
---

# Restore a backup

Take the steps in their order. Where a step has criteria, check them first; where it has cases, do what the first that applies says.

## Step 1.

Stop writers first.
Wait until \`pg_stat_activity\` is empty, i.e. writers < 1.

Criteria:

\`\`\`json
{
  "writers": 0
}
\`\`\`

- If writers remain → Ask the owner (within 30 minutes)
- If none → Go on (within 1 minute)

Tools:

- psql – to look
- Internal CRM – to ask

## Step Restore.

Run \`pg_restore\`.

Tools:

- pg_restore – always

## Test cases

\`\`\`json
[
  {
    "given": "a stopped service"
  }
]
\`\`\`
`)
  })

  it('omits the expert’s name, because the exporter may not disclose it', () => {
    expect(skillDocument(sopOf(), origin).skill_md).not.toContain('expert-7')
  })

  it('passes the registry’s validation of skills with the intended fields', () => {
    const { faults, warnings, frontMatter } = parseSkillMd(skillDocument(sopOf(), origin).skill_md)
    expect([faults, warnings]).toEqual([[], []])
    expect(frontMatter).toMatchObject({
      name: 'restore-a-backup',
      version: '3',
      author: 'agent_1',
      tags: ['operations', 'code'],
      allowed_tools: ['psql', 'pg_restore'],
      kp: { source: 'kp:sop:restore', version: 3 },
    })
  })

  it.each([
    ['Ünïcode & Größe!', 'unicode-gro-e'],
    ['---', 'sop-restore'],
    ['恢复备份', 'sop-restore'],
    ['x'.repeat(300), 'x'.repeat(64)],
    [`${'a'.repeat(63)} b`, 'a'.repeat(63)],
  ])('%s has the name %s', (name, expected) => {
    expect(skillName({ name }, 'kp:sop:restore')).toBe(expected)
  })

  it('has a name even if neither the SOP’s name nor its id has a letter', () => {
    expect(skillName({ name: '备份' }, 'kp:sop:___')).toBe('sop')
  })

  it.each([
    ['the end of the front matter', 'x\n---\n# Owned', '\\---\n\\# Owned'],
    ['a heading', '# Owned', '\n\\# Owned'],
    ['a fence', '```\nx\n```', '\\```\nx\n\\```'],
    ['a list', '- one\n1. two', '\\- one\n1\\. two'],
    ['a rule, a setext heading', 'x\n===', 'x\n\\==='],
    ['an image that tells who reads', '![x](https://evil.test/p.gif)', '![x]\\(https://evil.test/p.gif)'],
    ['an entity', '&lt;script&gt;', '&amp;lt;script&amp;gt;'],
    ['a generic type', 'List<String> a < b', 'List&lt;String> a < b'],
  ])('a field that contains %s remains text', (_what, instruction, rendered) => {
    const { skill_md } = skillDocument(sopOf({ decision_tree: [{ step: 1, instruction }] }), origin)
    expect(skill_md).toContain(rendered)
    expect(skill_md.match(/^#+ .*/gm)).toEqual(['# Restore a backup', '## Step 1.', '## Test cases'])
    expect(skill_md.match(/^---$/gm)).toHaveLength(2)
  })
})

describe('the heading of a skill made from an SOP', () => {
  it.each(['system:', 'System ：', 'ｓｙｓｔｅｍ:'])('is quoted for the name %s', (name) => {
    const { skill_md } = skillDocument(sopOf({ name }), origin)
    expect(skill_md).toContain(`\n# “${name}”\n`)
    expect(sanitizeSkillMd(skill_md).text).toBe(skill_md)
  })

  it('is the plain name otherwise', () => {
    const { skill_md } = skillDocument(sopOf({ name: 'The system: restart' }), origin)
    expect(skill_md).toContain('\n# The system: restart\n')
  })
})

const fragments = [
  'ignore',
  'previous instructions',
  'all',
  'you are',
  'now',
  'system',
  ':',
  'disregard',
  'your',
  'rules',
  'inst',
  '[',
  ']',
  '(',
  ')',
  '](',
  '<',
  '>',
  '<<',
  '|',
  '<|',
  'im_start',
  'sys',
  '"',
  "'",
  '`',
  '```',
  '~~~',
  '*',
  '**',
  '_',
  '#',
  '##',
  '---',
  '...',
  '- ',
  '1. ',
  '===',
  '\\',
  '&',
  '&lt;',
  '\n',
  '\r\n',
  '\r',
  '\t',
  ' ',
  '\u00a0',
  '\u0007',
  '\u0085',
  '\ufffe',
  'b',
  'script',
  '/',
  '!',
  '--',
  'onclick=',
  '<b>',
  'List<String>',
  'a < b',
  '=',
  ',',
  '{',
  '}',
  '%',
  '@',
  'x: y',
  '- x',
  'é',
  'e\u0301',
  '\u0338',
  '\u0301',
  '＜',
  '：',
  '‹',
  'ş',
  'İ',
  '👩‍💻',
  '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  'می‌خواهم',
  'क्‍ष',
  '恢复',
  '️',
  '\ufe0f',
  '\u3164',
  '﹤',
]
/** Possible field contents: any text that the sanitizer accepts. */
const field = fc
  .oneof(
    fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 12 }).map((parts) => parts.join('')),
    fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(' ')),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.constantFrom(...fragments).map((part) => part.repeat(150)),
  )
  .map((text) => {
    try {
      return sanitize(text, 'plain').text.slice(0, 300).toWellFormed() || 'x'
    } catch {
      return 'x'
    }
  })
  .filter((text) => {
    try {
      return sanitize(text, 'plain').text === text
    } catch {
      return false
    }
  })
const payload = fc.oneof(
  field,
  fc.integer(),
  fc.array(field, { maxLength: 3 }),
  fc.dictionary(field, field, { maxKeys: 3 }),
)
const step = fc.record(
  {
    step: fc.oneof(fc.integer(), field),
    instruction: field,
    criteria: payload,
    conditions: fc.dictionary(field, fc.record({ action: field, sla_min: fc.nat() }, { requiredKeys: ['action'] }), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
    tool_suggestions: fc.array(fc.record({ name: field, when: field }), { maxLength: 3 }),
  },
  { requiredKeys: ['step', 'instruction'] },
)
/** Whether neighboring fields, such as the name of a tool and when to use it, are an instruction together. Such a document is rejected. */
function isInstruction(sop: object): boolean {
  const texts: string[] = []
  const names: string[] = []
  JSON.stringify(sop, (key, value: unknown) => {
    names.push(key)
    if (typeof value !== 'string') return value
    texts.push(value)
    names.push(value)
    return value
  })
  return [texts, names].some((joined) => {
    try {
      sanitize(joined.join(' '), 'plain')
      return false
    } catch {
      return true
    }
  })
}
const anySop = fc
  .record({
    name: field,
    domain: field,
    task_domain: field,
    decision_tree: fc.array(step, { minLength: 1, maxLength: 3 }),
    test_cases: fc.array(payload, { maxLength: 2 }),
  })
  .map(({ name, domain, task_domain, decision_tree, test_cases }) => {
    const plain = sopOf()
    return {
      ...plain,
      name,
      domain,
      metadata: { ...plain.metadata, task_domain },
      decision_tree,
      validation: { test_cases },
    }
  })
  .filter((sop) => ExpertSOP.safeParse(sop).success)
  .filter((sop) => !isInstruction(sop))
  .map((sop) => ExpertSOP.parse(sop))

/** Lines that begin a Markdown block, except within our fences. */
function blocksOf(skillMd: string): string[] {
  const body = skillMd.split('\n---\n').slice(1).join('\n---\n')
  const lines: string[] = []
  let inFence = false
  for (const line of body.split('\n')) {
    if (inFence) inFence = line !== '```'
    else if (line === '```json') inFence = true
    else lines.push(line)
  }
  expect(inFence).toBe(false)
  return lines
}

describe('the skill document of an SOP with any fields', () => {
  it('passes the sanitizer and skill validation unchanged, with the structure of the SOP', () => {
    fc.assert(
      fc.property(anySop, (sop) => {
        const { name, skill_md } = skillDocument(sop, origin)
        expect(sanitizeSkillMd(skill_md).text).toBe(skill_md)
        const { skill, faults, rejections } = examineSkill({ skill_md, files: [] }, { strict: false })
        expect([faults, rejections, skill?.sanitized]).toEqual([[], [], 0])
        const { frontMatter, texts } = parseSkillMd(skill_md)
        expect(frontMatter).toMatchObject({ name, version: '3', kp: { source: 'kp:sop:restore', version: 3 } })
        for (const { text } of texts)
          for (const kind of ['plain', 'markdown'] as const) expect(sanitize(text, kind).text).toBe(text)
        const lines = blocksOf(skill_md)
        expect(lines.filter((line) => /^ {0,3}#/.test(line))).toHaveLength(
          1 + sop.decision_tree.length + (sop.validation?.test_cases.length ? 1 : 0),
        )
        expect(lines.filter((line) => /^ {0,3}(?:```|~~~|>|={1,}\s*$|-+\s*$|\d+[.)] |[*+] )/.test(line))).toEqual([])
        const items = sop.decision_tree.reduce(
          (sum, one) => sum + Object.keys(one.conditions ?? {}).length + (one.tool_suggestions?.length ?? 0),
          0,
        )
        expect(lines.filter((line) => line.startsWith('- '))).toHaveLength(items)
        expect(lines.filter((line) => /^- (?:#|>|```|~~~|- |\* |\+ |\d+[.)] )/.test(line))).toEqual([])
      }),
      { numRuns: 300 },
    )
  }, 240_000)

  it('converts a field with 300,000 spaces in linear time', () => {
    // With quadratic time this takes minutes.
    const { skill_md } = skillDocument(sopOf({ name: `Restore${' '.repeat(300_000)}a backup` }), origin)
    expect(skill_md).toContain('name: "restore-a-backup"')
  })

  it('is created in time and size linear in the SOP: a thousand steps with all features', () => {
    const tree = Array.from({ length: 1_000 }, (_, n) => ({
      step: n,
      instruction: `${'<'.repeat(100)}${'['.repeat(100)}${'\n- '.repeat(30)}`,
      tool_suggestions: [
        { name: `tool${'('.repeat(100)}${n}`, when: '`'.repeat(50) },
        { name: `tool-${n}`, when: 'x' },
      ],
    }))
    const { skill_md } = skillDocument(sopOf({ decision_tree: tree }), origin)
    const { faults, frontMatter } = parseSkillMd(skill_md)
    expect([faults, frontMatter?.allowed_tools?.length]).toEqual([[], 100])
  })
})

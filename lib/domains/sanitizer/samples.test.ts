import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sampleFolder } from '#bin/demo/sample-folder.ts'
import { sanitizeFields, sanitizeSkillMd } from './sanitizer.ts'

const isThere = existsSync(join(sampleFolder, 'traces.jsonl')) && existsSync(join(sampleFolder, 'skills'))
const origin = isThere
  ? `samples in ${sampleFolder}`
  : 'a small set of its own (KP_SAMPLE_DATA names no folder with samples)'

const OWN_UNITS: unknown[] = [
  {
    task: { objective: 'Fix `missing_colon.py`: SyntaxError in <module>, line 4. Run `python <script_name>.py`.' },
    steps: [
      {
        type: 'observation',
        content: 'basic_string<char,std::char_traits<char>>::operator<<(a) -> b\n0/51 [00:00<?, ?it/s]',
      },
      { type: 'observation', content: '<ul>\n<li><a href="/cgi-bin/file.pl">Files</a></li>\n</ul>\n<br />' },
      { type: 'tool_call', input: { command: "sed -n '1,5p' a.c; if (i<n && p->next) x" } },
    ],
  },
]
const OWN_SKILLS = [
  '---\nname: pages\ndescription: Write pages\n---\n# Pages\n\n```html\n<!-- kept -->\n<div onclick="x()">\n```\n\nUse `<b>` — a loading system:\n1. `List<String>` ✅ ⚠️\n',
]

function readUnits(): unknown[] {
  if (!isThere) return OWN_UNITS
  const lines = readFileSync(join(sampleFolder, 'traces.jsonl'), 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line): unknown => JSON.parse(line))
}

function readSkills(): string[] {
  if (!isThere) return OWN_SKILLS
  const files = readdirSync(join(sampleFolder, 'skills'), { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.md'))
    .map((file) => readFileSync(join(sampleFolder, 'skills', file), 'utf8'))
}

/** Removes the tags that occur in the samples, by a list of their names. */
const withoutTags = (text: string) =>
  text.replace(/<(?:!doctype|\/?(?:html|head|title|meta|body|h1|ul|li|p|a|form|input|br|hr))\b[^>]*>/gi, '')

const withoutSpaces = (text: string) => text.replace(/\s+/g, '')

describe(`real input: ${origin}`, () => {
  it('accepts every unit and removes only comments and tags', () => {
    const units = readUnits()
    expect(units.length).toBeGreaterThan(0)
    for (const unit of units) {
      const { value, changes } = sanitizeFields(unit)
      for (const change of changes) {
        expect(change.comments + change.tags).toBeGreaterThan(0)
        // Removed tags leave spaces and line breaks where a reader would see them.
        expect(withoutSpaces(textAt(value, change.path))).toBe(withoutSpaces(withoutTags(textAt(unit, change.path))))
      }
      expect(sanitizeFields(value)).toMatchObject({ value, changes: [] })
    }
  })

  it('keeps every skill unchanged whose markup is in code', () => {
    const skills = readSkills()
    expect(skills.length).toBeGreaterThan(0)
    for (const skill of skills) expect(sanitizeSkillMd(skill).text).toBe(skill)
  })
})

function textAt(value: unknown, path: readonly (string | number)[]): string {
  let node: unknown = value
  for (const step of path) node = typeof node === 'object' && node !== null ? Reflect.get(node, step) : undefined
  return typeof node === 'string' ? node : ''
}

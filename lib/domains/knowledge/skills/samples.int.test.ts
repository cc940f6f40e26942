import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sampleFolder } from '#bin/demo/sample-folder.ts'
import { sanitizeSkillMd } from '#lib/domains/sanitizer/sanitizer.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent } from '#lib/testing/people.ts'

const folder = join(sampleFolder, 'skills')
const isThere = existsSync(folder)
const origin = isThere ? `skills in ${folder}` : 'a small set of its own (KP_SAMPLE_DATA names no folder with skills)'

const own = [
  '---\nname: pages\ndescription: "Write pages: drafts, reviews."\nlicense: MIT\n---\n# Pages\n\n```html\n<!-- kept -->\n<div onclick="x()">\n```\n\nAnswer in the reader’s language. A loading system:\n1. `List<String>` ✅ ⚠️\n2. Publish on Thursdays.\n',
  '---\nname: tables\ndescription: |-\n  Read tables of any kind: CSV, spreadsheets, and HTML with <table> in it.\n  Use it before you count.\nallowed-tools: Read, Bash(csvtool:*)\n---\n\nOpen the table, look at its header and its widest row,\nthen count. Numbers with commas are thousands in some countries and decimals in others.\n',
]
const skills: string[] = isThere
  ? readdirSync(folder).map((name) => readFileSync(join(folder, name, 'SKILL.md'), 'utf8'))
  : own

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

/** Eight consecutive words from the middle of a text. */
function middleOf(text: string): string {
  const words = text.slice(text.length / 2).match(/[\p{L}]{4,}/gu) ?? []
  return words.slice(0, 8).join(' ')
}

describe(`real input: ${origin}`, () => {
  it('every skill is accepted, differs only by sanitizer stages 1, 2 and 4, and is found by words from its middle', async () => {
    const { token } = await issuedAgent(test, ['read', 'write'], { tier: 'pro' })
    expect(skills.length).toBeGreaterThan(1)
    const stored = new Map<string, { sent: string; name: string }>()
    for (const sent of skills) {
      const { status, json, text } = await test.fetch('POST', '/v1/skills', { token, body: { skill_md: sent } })
      expect([status, status === 201 ? '' : text]).toEqual([201, ''])
      stored.set(json.data.id, { sent, name: json.data.name })
    }
    const said: string[] = []
    for (const [id, { sent, name }] of stored) {
      const { json } = await test.fetch('GET', `/v1/skills/${id}`, { token })
      const { text, removed, normalized } = sanitizeSkillMd(sent)
      const changes = removed.comments + removed.tags + (normalized ? 1 : 0)
      expect([name, json.data.skill_md === text, json.data.skill_md === sent]).toEqual([name, true, changes === 0])
      said.push(`${name}: ${changes === 0 ? 'as it was sent' : JSON.stringify({ ...removed, normalized })}`)

      const q = middleOf(sent)
      const found = await test.fetch('GET', `/v1/skills?q=${encodeURIComponent(q)}`, { token })
      const first = found.json.data.slice(0, 3).map((skill: { name: string }) => skill.name)
      expect(first, `${name} by "${q}"`).toContain(name)
    }
    console.log(`Stored, ${origin}:\n${said.join('\n')}`)
  })
})

import { describe, expect, it } from 'vitest'
import { indexCollector, indexLimits, indexPage } from './readable-index.ts'

const head = { exported_at: '2026-01-31T12:00:00.000Z', agents: [{ agent_id: '<b>scout</b>', folder: 'scout' }] }
const pageOf = (parts: Record<string, object[]>, locale: 'en' | 'zh' = 'en'): string => {
  const collector = indexCollector()
  for (const [name, records] of Object.entries(parts)) {
    collector.begin(name)
    if (records.length > 0) collector.add(records.map((one) => JSON.stringify(one)).join('\n'), records.length)
  }
  return [...indexPage(locale, head, collector.parts)].join('')
}
const rowsOf = (page: string): number => page.match(/<tr><td/g)?.length ?? 0

describe('indexPage', () => {
  it('lists each part with its count and links to its files', () => {
    const page = pageOf({ account: [{ name: 'Kim' }], 'scout/votes': [{ id: 1 }, { id: 2 }], tokens: [] })
    expect(page).toContain(
      '<td class="n">2</td><td><a href="scout/votes.json">JSON</a> · <a href="scout/votes.csv">CSV</a>',
    )
    expect(page).toContain('<details><summary>Categories without entries: 1.</summary>')
    expect(page).toContain('<td dir="auto">Kim</td>')
    expect(page).not.toContain('tokens.json')
  })

  it.each([
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '</td></table><iframe src="https://example.org">',
    '&lt;script&gt;',
  ])('shows %j as text', (text) => {
    const page = pageOf({ account: [{ [text]: text, nested: { text } }], [text]: [{ id: text }] })
    const markup = page.match(/<[^>]*>/g) ?? []
    const known =
      /^<(?:!doctype|\/?(?:html|head|meta|title|style|body|h[123]|p|time|nav|table|thead|tbody|tr|th|td|a|div|section|details|summary))\b/
    expect(markup.filter((tag) => !known.test(tag) || /\son\w+=/.test(tag))).toEqual([])
    expect(page).not.toContain(text)
  })

  it('escapes the ids of agents, and sends links to no other address', () => {
    const page = pageOf({ 'scout/votes': [{ id: 'https://example.org' }], 'javascript:alert(1)': [{ id: 1 }] })
    expect(page).toContain('&lt;b&gt;scout&lt;/b&gt;')
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)
    expect(links.filter((href) => !/^(#part-\d+|[\w%./()-]+\.(json|csv))$/.test(href ?? ''))).toEqual([])
  })

  it('names each category without entries once, folded', () => {
    const page = pageOf({ 'scout/votes': [], votes: [], '<i>x</i>': [], account: [{ id: 1 }] })
    const folded = /<details>.*<\/details>/.exec(page)?.[0] ?? ''
    expect(folded).toContain('Categories without entries: 3.')
    expect(folded.match(/votes/gi)).toHaveLength(1)
    expect(folded).not.toContain('<i>')
  })

  it('shows the first 200 rows of a large part, and cuts long cells', () => {
    const page = pageOf({ account: Array.from({ length: 250 }, () => ({ text: 'x'.repeat(10_000) })) })
    expect(rowsOf(page)).toBe(indexLimits.rows)
    expect(page).toContain('Showing 200 of 250.')
    expect(page.length).toBeLessThan(100_000)
  })

  it('stays within its total size, and keeps every part in the contents', () => {
    const wide = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`c${index}`, 'y'.repeat(400)]))
    const parts = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`part_${index}`, Array.from({ length: 200 }, () => wide)]),
    )
    const page = pageOf(parts)
    expect(page.length).toBeLessThan(indexLimits.total * 1.5)
    for (const name of Object.keys(parts)) expect(page).toContain(`${name}.json`)
  })

  it('is in the given language, without scripts and without addresses elsewhere', () => {
    const page = pageOf({ votes: [{ id: 1 }] }, 'zh')
    expect(page).toContain('<html lang="zh-CN">')
    expect(page).toContain('投票')
    expect(page).toContain("default-src 'none'")
    expect(page).not.toMatch(/<script|https?:/)
  })
})

import { describe, expect, it } from 'vitest'
import { filledReply, gapIn, replyLanguages, replyTemplates } from './reply-texts.ts'

const facts = { name: 'Kim Example', dueAt: '2026-01-31T23:00:00Z', receipt: undefined, corrected: [] }

describe('filledReply', () => {
  it('addresses the person, names what was corrected and leaves no gap', () => {
    const [template] = replyTemplates.rectification
    const text = filledReply(template?.en.text ?? '', 'en', { ...facts, corrected: ['A slow build'] })
    expect(text).toBe('Dear Kim Example,\n\nWe corrected “A slow build” as you asked.')
    expect(gapIn(text)).toBeUndefined()
  })

  it('leaves the gap when nothing was corrected, and no greeting without a name', () => {
    const [template] = replyTemplates.rectification
    expect(gapIn(filledReply(template?.zh.text ?? '', 'zh', { ...facts, name: null }))).toBe('[内容]')
  })

  it('adds the receipt, and keeps text of titles that looks like a placeholder of a replacement', () => {
    const text = filledReply('We corrected [what].', 'en', {
      ...facts,
      receipt: 'https://x.example/receipts/1',
      corrected: ['$& {deadline}'],
    })
    expect(text).toContain('“$& {deadline}”')
    expect(text).toMatch(/Deletion receipt: https:\/\/x\.example\/receipts\/1$/)
  })

  it('fills every template in both languages without a remaining token', () => {
    for (const template of Object.values(replyTemplates).flat())
      for (const language of replyLanguages)
        expect(filledReply(template[language].text, language, facts)).not.toMatch(/\{\w+\}/)
  })
})

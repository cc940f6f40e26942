import { createTranslator } from 'next-intl'
import { describe, expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'

const english = createTranslator({ locale: 'en', messages: en, namespace: 'receipt' })
const chinese = createTranslator({ locale: 'zh', messages: zh, namespace: 'receipt' })
const counts = { stores: 2, deleted: 235, pseudonymized: 12, left: 0, held: 3 }

describe('the lead of a receipt', () => {
  it('limits the second search to the listed stores', () => {
    for (const status of ['verified', 'held'] as const) {
      expect(english(`lead.${status}`, { ...counts, own: 'false' })).toContain('search of the stores below found')
      expect(chinese(`lead.${status}`, { ...counts, own: 'false' })).toContain('再次搜索以下数据存储')
    }
  })

  it('mentions the records of the request after the counts of erased records, and before the legal hold', () => {
    expect(english('lead.held', { ...counts, own: 'true' })).toMatch(
      /Pseudonymized: 12\. Includes records of the deletion request\. On legal hold: 3;/,
    )
    expect(chinese('lead.held', { ...counts, own: 'true' })).toContain(
      '去标识化 12 条。其中包括本次删除请求的记录。另有 3 条',
    )
  })

  it('promises no email, because not every requester gets one', () => {
    for (const { save } of [en.receipt, zh.receipt]) expect(save).not.toMatch(/email|邮件/)
    expect(Object.keys(en.receipt)).not.toContain('saveEmailed')
  })
})

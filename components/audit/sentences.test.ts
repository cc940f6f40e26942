import { NextIntlClientProvider } from 'next-intl'
import { type ComponentProps, createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import type { AuditEntry } from './audit-pages.ts'
import { useSentences } from './sentences.ts'

const messages = { en, zh }
const Sentence = ({ entry }: { entry: AuditEntry }) => useSentences().sentenceOf({ entry, count: 1 })
/** The sentence about an operation with these details, as a page shows it. */
function sentenceOf(
  locale: 'en' | 'zh',
  resourceType: string,
  details: Record<string, unknown>,
  other: Partial<AuditEntry> = {},
): string {
  const entry: AuditEntry = {
    id: 'e1',
    timestamp: '2026-11-30T10:00:00.000Z',
    action: 'update',
    agentId: 'user:acc_1',
    actorName: 'Ada',
    resourceType,
    resourceId: 'x_1',
    resourceName: 'Sorter',
    ip: '',
    details,
    ...other,
  }
  const props: ComponentProps<typeof NextIntlClientProvider> = {
    locale,
    messages: messages[locale],
    timeZone: 'UTC',
    children: createElement(Sentence, { entry }),
  }
  return renderToStaticMarkup(createElement(NextIntlClientProvider, props))
}

const decisions: [operation: string, resourceType: string, detail: string, values: unknown[]][] = [
  ['decideProposal', 'approval', 'decision', ['approve', 'reject', 'withdraw', 'outdated']],
  ['reviewQuarantined', 'knowledge', 'decision', ['release', 'keep']],
  ['decideReferences', 'erasure', 'decision', ['rename', 'restore']],
  ['decideRemainingPlace', 'erasure', 'decision', ['erase', 'keep']],
  ['validateUnit', 'knowledge', 'valid', [true, false]],
  ['changeApprovalSetting', 'settings', 'to', [true, false]],
  ['setRestriction', 'agent', 'on', [true, false]],
  ['setCladeSharing', 'agent', 'on', [true, false]],
  ['setTelemetry', 'account', 'on', [true, false]],
]
it.each(decisions)('a sentence about %s states what was decided', (operation, resourceType, detail, values) => {
  for (const locale of ['en', 'zh'] as const) {
    const undecided = sentenceOf(locale, resourceType, { operation })
    const sentences = values.map((value) => sentenceOf(locale, resourceType, { operation, [detail]: value }))
    expect(new Set([undecided, ...sentences]).size).toBe(values.length + 1)
    for (const sentence of sentences) expect(sentence).toMatch(/^Ada /)
  }
})

it('names the decision in words', () => {
  const rejected = { operation: 'decideProposal', decision: 'reject' }
  expect(sentenceOf('en', 'approval', rejected)).toBe('Ada rejected the proposal Sorter')
  expect(sentenceOf('zh', 'approval', rejected)).toBe('Ada 拒绝了操作申请 Sorter')
  expect(sentenceOf('en', 'agent', { operation: 'setRestriction', on: false })).toBe(
    'Ada lifted the restriction of the agent Sorter',
  )
})

/** What jobs delete by age or state, with the word that stands for the ids. */
const purges = [
  ['agent', 'unused'],
  ['agent_document', 'ended'],
  ['clade_share', 'ended'],
  ['export', 'expired'],
  ['grimoire_entry', 'ended'],
  ['heartbeat', 'of-the-dead'],
  ['hold', 'ended'],
  ['llm_exchange', 'ended'],
  ['snapshot', 'replaced'],
  ['token', 'ended'],
] as const
it.each(purges)(
  'a sentence about a job that deletes %ss states which ones, and how many',
  (resourceType, resourceId) => {
    for (const locale of ['en', 'zh'] as const) {
      const job = {
        action: 'delete',
        agentId: 'system:some.job',
        actorName: null,
        resourceId,
        resourceName: null,
      } as const
      const sentence = sentenceOf(locale, resourceType, { count: 1 }, job)
      expect(sentence).toMatch(locale === 'en' ? /^The system [^{}]+ \(1\)$/ : /^系统[^{}]+（1 .）$/)
      expect(sentence).not.toMatch(new RegExp(`(agent|export|hold|snapshot) ${resourceId}`))
    }
  },
)
it('puts no space between a Chinese actor and a Chinese verb', () => {
  const signedIn = { operation: 'changePassword' }
  expect(sentenceOf('zh', 'account', signedIn, { actorName: '文档助手' })).toBe('文档助手更改了自己的密码')
  expect(sentenceOf('zh', 'account', signedIn)).toBe('Ada 更改了自己的密码')
})

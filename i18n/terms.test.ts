import { describe, expect, test } from 'vitest'
import { requestKinds, states } from '#lib/domains/privacy-requests/rules.ts'
import en from '../messages/en.ts'
import zh from '../messages/zh.ts'

const flat = (tree: object, above = ''): [string, string][] =>
  Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? flat(value, `${above}${key}.`) : [[`${above}${key}`, String(value)]],
  )

describe('Chinese terms', () => {
  test.each([
    ['法律保留', '法律保全', 'a legal hold'],
    ['等级', '层级', 'a tier'],
    ['主管', '组织负责人', 'a manager'],
    ['经理', '组织负责人', 'a manager'],
    ['数据携带', '数据可携带', 'portability'],
    ['可携副本', '数据可携带', 'portability'],
    ['访问权', '查阅权', 'access'],
    ['等待期', '宽限期', 'the grace period'],
  ])('messages do not use %s, and use %s for %s', (other) =>
    expect(flat(zh).filter(([, text]) => text.includes(other))).toEqual([]),
  )

  test('messages use 代理 only for a representative or a proxy, and 智能体 for an agent', () =>
    expect(flat(zh).flatMap(([key, text]) => (text.includes('代理') ? [key] : []))).toEqual([
      'privacy.ccpa.rights',
      'problems.unknown.do',
    ]))

  test('messages call only the IDs of requests and receipts 编号, and all others ID', () => {
    const others = flat(zh).filter(([, text]) => text.replaceAll(/请求编号|回执编号/g, '').includes('编号'))
    expect(others.map(([key]) => key)).toEqual(['verify.result.notFound', 'verify.result.heldText']) // receipts
  })

  test('messages name articles of the GDPR like 第 12 条第 3 款, and end unfinished text with one ellipsis', () =>
    expect(flat(zh).filter(([, text]) => /第 ?\d+ ?[(（、]|……|\.\.\./.test(text))).toEqual([]))

  test('messages format every number that the English message formats', () => {
    const english = new Map(flat(en))
    const formatted = (text: string): string[] => [...text.matchAll(/\{(\w+), number\}/g)].map(([, name = '']) => name)
    const plain = flat(zh).flatMap(([key, text]) =>
      formatted(english.get(key) ?? '').flatMap((name) => (text.includes(`{${name}}`) ? [`${key}: ${name}`] : [])),
    )
    expect(plain).toEqual([])
  })

  test('every kind and state of a request has a name', () => {
    expect(Object.keys(zh.requestNames.kinds).sort()).toEqual([...requestKinds].sort())
    expect(Object.keys(zh.requestNames.states).sort()).toEqual([...states].sort())
  })

  test('all pages use the same name for a manager', () => {
    const { manager } = zh.roles.names
    expect([zh.queue.channels.manager, zh.adminRequest.timeline.by.manager]).toEqual([manager, manager])
  })
})

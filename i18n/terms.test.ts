import { describe, expect, test } from 'vitest'
import { requestKinds } from '#lib/domains/privacy-requests/rules.ts'
import zh from '../messages/zh.ts'

const flat = (tree: object, above = ''): [string, string][] =>
  Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? flat(value, `${above}${key}.`) : [[`${above}${key}`, String(value)]],
  )

describe('one thing has one name in Chinese', () => {
  test.each([
    ['法律保留', '法律保全', 'a legal hold'],
    ['等级', '层级', 'a tier'],
    ['主管', '经理', 'a manager'],
    ['数据携带', '可携副本', 'portability'],
    ['数据可携', '可携副本', 'portability'],
    ['访问权', '查阅权', 'access'],
    ['等待期', '宽限期', 'the grace'],
  ])('never %s, but %s (%s)', (other) => expect(flat(zh).filter(([, text]) => text.includes(other))).toEqual([]))

  test('an agent is 智能体; 代理 is who acts for somebody, or a proxy', () =>
    expect(flat(zh).flatMap(([key, text]) => (text.includes('代理') ? [key] : []))).toEqual([
      'privacy.ccpa.rights',
      'problems.unknown.do',
    ]))

  test('a kind of request', () => {
    const pages = [zh.myPrivacy, zh.queue].map(({ kinds: named }) => named)
    expect(pages).toEqual(pages.map(() => zh.requests.kinds))
    expect(Object.keys(zh.requests.kinds).sort()).toEqual([...requestKinds].sort())
  })

  test('a request that was called off, or is done', () => {
    const pages = [zh.myPrivacy, zh.queue].map(({ states: { cancelled, completed } }) => [cancelled, completed])
    const { cancelled, completed } = zh.requests.states
    expect(pages).toEqual(pages.map(() => [cancelled, completed]))
  })

  test('a role', () => {
    const { roles } = zh.users
    expect(zh.members.roles).toEqual(roles)
    expect(Object.fromEntries(Object.entries(zh.account.roles).map(([role, { name }]) => [role, name]))).toEqual(roles)
    expect([zh.queue.channels.manager, zh.adminRequest.timeline.by.manager]).toEqual([roles.manager, roles.manager])
  })
})

import { afterAll, describe, expect, it } from 'vitest'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { groups, isStore, lineKeyOf, noticeLines } from './notice-lines.ts'

// The production application; no test here queries its database.
const app = createApp({ env: readEnv({}) })
afterAll(() => app.close())
const named = [...app.dataSources, ...app.retainedRecords]
const keys = named.map(({ name }) => lineKeyOf(name))

describe.each([
  ['English', en],
  ['Chinese', zh],
])('the privacy notice in %s', (_, { dataNames, privacy }) => {
  it('names and describes every data source and retained record and nothing else', () => {
    expect(Object.keys(privacy.held.lines).sort()).toEqual([...keys].sort())
    expect(Object.keys(dataNames.records)).toEqual(Object.keys(privacy.held.lines))
    expect(Object.keys(dataNames.records)).toEqual(expect.arrayContaining(Object.keys(dataNames.notes)))
    for (const line of Object.values(privacy.held.lines)) expect(Object.keys(line)).toEqual(['text', 'term'])
  })

  it('gives the location of every store and of no other', () => {
    const stores = [...new Set(named.map(({ store }) => store))].sort()
    expect(Object.keys(privacy.where.stores).sort()).toEqual(stores)
    expect(stores.every(isStore)).toBe(true)
  })
})

it('noticeLines returns each data source once and at least one per group', () => {
  const shown = noticeLines(app.dataSources, app.retainedRecords)
  expect(
    groups
      .flatMap((group) => shown[group])
      .map(({ name }) => name)
      .sort(),
  ).toEqual(named.map(({ name }) => name).sort())
  for (const group of groups) expect(shown[group].length).toBeGreaterThan(0)
})

it('lineKeyOf returns undefined for an unknown name', () => {
  for (const name of ['knowledge', 'knowledge.unit', 'toString', '']) expect(lineKeyOf(name)).toBeUndefined()
})

import { afterAll, expect, it } from 'vitest'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { groundsIn } from './inventory-rules.ts'
import { meaningOf } from './meanings.ts'
import { lineKeyOf } from './notice-lines.ts'
import { purposes } from './purposes.ts'

// Opens no connection before the first request.
const app = createApp({ env: readEnv({}) })
afterAll(() => app.close())
const named = [...app.dataSources, ...app.retainedRecords]

it('the inventory has a purpose for every data source and for nothing else', () => {
  expect([...purposes.keys()].sort()).toEqual(named.map(({ name }) => lineKeyOf(name)).sort())
})

it('the map of a person’s data has a meaning for every data source', () => {
  expect([...meaningOf.keys()].sort()).toEqual(named.map(({ name }) => lineKeyOf(name)).sort())
})

it('every lawful basis of a data source names a ground that has a translation', () => {
  for (const { name, basis } of named) if (basis !== undefined) expect([name, groundsIn(basis)]).not.toEqual([name, []])
})

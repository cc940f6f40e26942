import { readFileSync } from 'node:fs'
import { expect, test } from '@playwright/test'
import { z } from 'zod'
import { openArchive } from '#lib/testing/archives.ts'
import { control, sessionOf } from './control.ts'
import { alive, complaintsOf } from './journey.ts'
import { requestContext } from './requests.ts'

const person = 'mara@example.org'

test('an export that the console prepares is complete and contains the planted records', async ({ browser }) => {
  const session = await sessionOf(person)
  const api = await requestContext(session)
  const Made = z.object({ data: z.object({ api_key: z.string() }) })
  const token = Made.parse(
    await (
      await api.post('/v1/auth/tokens', { data: { agent_id: 'warehouse-scout', scopes: ['read', 'write'] } })
    ).json(),
  ).data.api_key
  const planted = '=1+1 planted: a word that nobody else wrote, quagmarine'
  const unit = {
    '@context': 'https://openknowledgepulse.org/schema/v1',
    '@type': 'ReasoningTrace',
    metadata: {
      created_at: '2026-01-31T12:00:00Z',
      task_domain: 'code',
      success: true,
      quality_score: 0.5,
      visibility: 'private',
      privacy_level: 'private',
    },
    task: { objective: planted },
    steps: [{ step_id: 1, type: 'thought', content: 'مرحبا بالعالم' }],
    outcome: { result_summary: 'Done', confidence: 0.9 },
  }
  const stored = await api.post('/v1/knowledge', { data: unit, headers: { Authorization: `Bearer ${token}` } })

  expect(stored.status()).toBe(201)

  const context = await browser.newContext({ storageState: session, acceptDownloads: true })
  const page = await context.newPage()
  const complaints = complaintsOf(page)
  await page.goto('/settings/privacy?tab=download')
  await alive(page)
  await page.getByRole('button', { name: 'Prepare all data' }).dblclick()
  const list = page.getByRole('list', { name: 'Your exports' })
  await expect(list.getByRole('listitem')).toHaveCount(1)
  // The server prepares it, so a returning person finds it.
  await page.reload()
  await control.work()
  const link = list.getByRole('link', { name: /^Download: All data/ })
  await expect(link).toBeVisible()
  const download = page.waitForEvent('download')
  await link.click()
  const { manifest, files } = await openArchive(readFileSync(await (await download).path()))
  const texts = Object.values(files)
  expect(texts.some((text) => text.includes(person))).toBe(true)
  expect(Object.keys(manifest.files).length).toBeGreaterThan(5)
  expect(texts.some((text) => text.includes('warehouse-scout'))).toBe(true)
  const json = Object.entries(files).find(([name, text]) => name.endsWith('.json') && text.includes('quagmarine'))
  expect(json?.[1]).toContain(planted)
  expect(json?.[1]).toContain('مرحبا بالعالم')
  const csv = Object.entries(files).find(([name, text]) => name.endsWith('.csv') && text.includes('quagmarine'))
  expect(csv?.[1]).not.toMatch(/(^|,)"?=1\+1/m)
  expect(complaints).toEqual([])
  await api.dispose()
  await context.close()
})

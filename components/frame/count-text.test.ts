import { createTranslator } from 'next-intl'
import { expect, it } from 'vitest'
import en from '#messages/en.ts'
import zh from '#messages/zh.ts'
import { countText } from './count-text.ts'

const english = createTranslator({ locale: 'en', messages: en, namespace: 'common' })
const chinese = createTranslator({ locale: 'zh', messages: zh, namespace: 'common' })

it.each([
  [countText(english, 0), '0'],
  [countText(english, 1_000), '1,000'],
  [countText(english, 1_001), 'more than 1,000'],
  [countText(english, 2_002), 'more than 1,000'],
  [countText(english, 1_001, { isFirst: true }), 'More than 1,000'],
  [countText(english, 10_000, { limit: 10_001 }), '10,000'],
  [countText(english, 10_001, { limit: 10_001 }), 'more than 10,000'],
  [countText(chinese, 1_001), '1,000+'],
])('counted returns the number below the limit and "more than" at the limit: %s', (said, meant) => {
  expect(said).toBe(meant)
})

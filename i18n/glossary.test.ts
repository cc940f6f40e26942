import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import en from '../messages/en.ts'
import glossary from '../messages/glossary.json' with { type: 'json' }
import zh from '../messages/zh.ts'

const flat = (tree: object, above = ''): [string, string][] =>
  Object.entries(tree).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? flat(value, `${above}${key}.`) : [[`${above}${key}`, String(value)]],
  )

const languages: [language: 'en' | 'zh', messages: Record<string, object>][] = [
  ['en', en],
  ['zh', zh],
]
const avoided = (language: 'en' | 'zh'): { term: string; words: string[] }[] =>
  glossary.flatMap((entry) => {
    const avoid: { en?: string[]; zh?: string[] } = entry.avoid
    return avoid[language] ? [{ term: entry[language], words: avoid[language] }] : []
  })

test.each(languages)('messages in %s use the terms of the glossary', (language, messages) => {
  const found = Object.entries(messages)
    .flatMap(([namespace, texts]) => flat(texts, `${namespace}.`))
    .flatMap(([key, text]) =>
      avoided(language).flatMap(({ term, words }) =>
        words
          .filter((word) => text.toLowerCase().includes(word))
          .map((word) => `${key}: "${word}" instead of "${term}"`),
      ),
    )
  expect(found).toEqual([])
})

test('guides in Chinese use the terms of the glossary', () => {
  const root = join(import.meta.dirname, '..')
  const guides = globSync('docs/zh/*.md', { cwd: root })
  const found = guides.flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return avoided('zh').flatMap(({ term, words }) =>
      words.filter((word) => text.includes(word)).map((word) => `${file}: "${word}" instead of "${term}"`),
    )
  })
  expect(guides).not.toEqual([])
  expect(found).toEqual([])
})

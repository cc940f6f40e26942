import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Fingerprints } from './fingerprints.ts'
import { runNeedles } from './run-needles.ts'

const word = fc.constantFrom(
  'the',
  'a',
  'is',
  'illness',
  'Doctor',
  'told',
  'grüß',
  '42',
  'room77',
  "don't",
  '你好',
  '—',
  'I',
)
const sentence = fc.array(word, { minLength: 1, maxLength: 30 }).map((words) => words.join(' '))

test('runNeedles returns words such that every run contains one of them', () => {
  fc.assert(
    fc.property(sentence, sentence, (erased, other) => {
      const needles = runNeedles([erased])
      if (needles === undefined) return
      const erasedWords = new Fingerprints()
      erasedWords.add(erased)
      const text = `${other} ${erased.toUpperCase()} ${other}`
      for (const { start, end } of erasedWords.runsIn(text))
        expect(needles.some((one) => text.slice(start, end).toLowerCase().includes(one))).toBe(true)
    }),
  )
})

test.each([
  ['in scripts without spaces', '艾丽卡昨天告诉我们她的儿子从复活节开始就一直生病住在医院七十七号房间里没有人知道'],
  ['with words that a database may fold differently', 'grüß größe äpfel öl übung müde'],
])('runNeedles returns undefined for a text %s', (_, text) => expect(runNeedles([text])).toBeUndefined())
